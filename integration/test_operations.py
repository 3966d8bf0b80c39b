"""What an operator is told: status, metrics, the dashboard."""
import glob
import hashlib
import json
import os
import re
import time

from harness import shell
from harness.claims import claim, contains, equal, lacks, until
from harness.world import World

NAMES = {"api.example.com": "10.201.0.10"}
POLICY = "[policy]\nversion = 1\n\n[allow api]\nhost = api.example.com\n"
_world = {}


def world():
    if "w" not in _world:
        port = World(NAMES, start=False)
        with open(port.config, encoding="utf-8") as f:
            text = f.read()
        # In a namespace of its own, so that the port is nobody else's.
        port.file("tapward.ini", text.replace(
            "[network]", "metrics-listen = 127.0.0.1:9464\n[network]", 1))
        port.start()
        _world["w"] = port
        _world["s"] = port.sandbox(POLICY)
    return _world["w"]


def metrics(*argv):
    w = world()
    return shell.run(shell.in_net(w.host.name, [
        "curl", "-sS", "--fail", "-m", "10", *argv])).ok().out


@claim("status: version, uptime, sandboxes by state and policy, pool, recorder, resolver, processes")
def _():
    w = world()
    got = json.loads(w.cli("status", "--json").ok().out)
    equal(got["states"]["running"], got["sandboxes"])
    shown = json.loads(w.cli("show", _world["s"].name, "--json").ok().out)
    equal([p["sandboxes"] for p in got["policies"]
           if p["digest"] == shown["policy_digest"]], [1])
    equal(got["recorder"]["head"] != "", True)
    equal(got["recorder"]["seq"] > 0, True)
    equal(got["recorder"]["lost"], 0)
    equal(len(got["resolvers"]), 1)
    equal(sorted(p["role"] for p in got["processes"]),
          ["api", "broker", "ca", "dialler", "recorder"])
    text = w.cli("status").ok().out
    for part in ("up ", "1 running", "recorder   ", got["resolvers"][0],
                 got["policies"][0]["digest"][:12], "credential 0, usable"):
        contains(text, part)


@claim("status: a recorder that is stopped is said to be, within a second; warnings are root's to read")
def _():
    w = world()
    pids = {p["role"]: p["pid"]
            for p in json.loads(w.cli("status", "--json").ok().out)["processes"]}
    shell.run(["kill", "-STOP", str(pids["recorder"])]).ok()
    try:
        contains(w.cli("status", timeout=3).ok().out, "DOES NOT ANSWER")
    finally:
        shell.run(["kill", "-CONT", str(pids["recorder"])]).ok()
    # A file with an error is said to be one, and to root alone.
    bad = w.file("tapward.ini.bad", "[nonsense]\n")
    with open(w.config, encoding="utf-8") as f:
        good = f.read()
    w.file("tapward.ini", "[nonsense]\n")
    try:
        equal(w.cli("reload", "--host").code != 0, True, bad)
    finally:
        w.file("tapward.ini", good)
    contains(w.cli("status").ok().out, "nonsense")
    w.cli("reload", "--host").ok()


@claim("metrics: names in the output, the manual and the dashboard are the same, and no label is a guest's")
def _():
    w = world()
    s = _world["s"]
    _ = s.guest.run(["curl", "-sS", "-m", "5", "http://never-heard.example.com/"])
    text = metrics("http://127.0.0.1:9464/metrics")
    equal(metrics("--unix-socket", w.socket, "http://tapward/metrics").count("# TYPE"),
          text.count("# TYPE"))
    names = set(re.findall(r"^# TYPE (\S+)", text, re.M))
    samples = {re.sub(r"_(bucket|sum|count)$", "", n) if "request_seconds" in n
               else n for n in re.findall(r"^(tapward_\w+)", text, re.M)}
    equal(samples, names)
    with open(f"{w.tree}/share/man/man8/tapwardd.8", encoding="utf-8") as f:
        manual = set(re.findall(r"tapward_\w+", f.read()))
    equal(manual, names, "in tapwardd(8)")
    with open(f"{w.tree}/share/tapward/grafana/tapward.json", encoding="utf-8") as f:
        board = json.load(f)
    used = {re.sub(r"_(bucket|sum|count)$", "", n) if "request_seconds" in n
            else n for p in board["panels"] for t in p["targets"]
            for n in re.findall(r"tapward_\w+", t["expr"])}
    equal(used, names, "in the dashboard")
    with open(f"{w.tree}/share/tapward/prometheus/tapward.rules.yml",
              encoding="utf-8") as f:
        asked = set(re.findall(r"\btapward_\w+", f.read()))
    equal((asked - names, len(asked) > 5), (set(), True), "in the alerts")
    # Labels are of tables: no guest, sandbox, host or policy can make one.
    labels = set(re.findall(r'(\w+)="', text))
    equal(labels, {"version", "state", "role", "event", "verdict", "reason", "le"})
    lacks(text, "never-heard")
    lacks(text, s.name)
    contains(text, 'tapward_process_up{role="dialler"} 1')
    return f"{len(names)} metrics, {text.count(chr(10))} lines"


@claim("metrics: without a recorder the rest is told, with its process down")
def _():
    w = world()
    pid = next(p["pid"] for p in json.loads(
        w.cli("status", "--json").ok().out)["processes"] if p["role"] == "recorder")
    shell.run(["kill", "-STOP", str(pid)]).ok()
    try:
        # A stopped one answers nothing; what the supervisor wrote is there.
        got = shell.run(["curl", "-sS", "-m", "1", "--unix-socket", w.socket,
                         "http://tapward/metrics"])
        contains(got.out, "tapward_build_info")
    finally:
        shell.run(["kill", "-CONT", str(pid)]).ok()


@claim("rotation: the log is moved aside at its size, the chain goes on, and log and verify read across files")
def _():
    with World(NAMES, start=False) as w:
        with open(w.config, encoding="utf-8") as f:
            text = f.read()
        w.file("tapward.ini", text + "[audit]\nrotate-size = 1MB\n")
        w.start()
        s = w.sandbox(POLICY)
        log = f"{w.folder}/log"
        s.run(["curl", "-sS", "-m", "5", "http://first.example.com/"])
        s.audited(host="first.example.com")
        # A megabyte of refusals, with paths as long as records keep.
        url = "http://more.example.com/" + "x" * 900
        many = s.run(["curl", "-sS", "-m", "20", "-o", "/dev/null",
                      f"{url}[1-900]"])
        until(lambda: os.path.getsize(f"{log}/audit.jsonl") > 1000000
              or glob.glob(f"{log}/audit-*.jsonl"), 15, f"a megabyte ({many!r})")
        # It looks every 5 s, and now.
        w.cli("reload", "--host").ok()
        files = glob.glob(f"{log}/audit-*.jsonl")
        equal(len(files), 1)
        until(lambda: "rotated" in open(f"{log}/audit.jsonl").readline(), 5,
              "the first record after it")
        s.run(["curl", "-sS", "-m", "5", "http://last.example.com/"])
        s.audited(host="last.example.com")
        shown = w.cli("log", s.name, "--json").ok().out
        contains(shown, "first.example.com")
        contains(shown, "last.example.com")
        whole = w.cli("log", "--verify").ok().out
        contains(whole, "in an unbroken chain")
        both = [*files, f"{log}/audit.jsonl"]
        contains(w.cli("log", "--verify", *both).ok().out, "in an unbroken chain")
        equal(w.cli("log", "--verify", *reversed(both)).code, 1)
        # The recorder dies with a log that is empty again: the chain goes on.
        first = glob.glob(f"{log}/audit-*.jsonl")
        os.rename(f"{log}/audit.jsonl", f"{log}/audit-3.jsonl")
        pid = next(p["pid"] for p in json.loads(w.cli(
            "status", "--json").ok().out)["processes"] if p["role"] == "recorder")
        os.kill(pid, 9)
        until(lambda: os.path.exists(f"{log}/audit.jsonl")
              and os.path.getsize(f"{log}/audit.jsonl"), 10, "a new file")
        all_files = [*first, f"{log}/audit-3.jsonl", f"{log}/audit.jsonl"]
        w.cli("log", "--verify", *all_files).ok()
        # More than go along at once; some were compressed since.
        for i in range(13):
            os.rename(f"{log}/audit.jsonl", f"{log}/audit-4-{i:02}.jsonl")
            w.cli("reload", "--host").ok()
        for name in (first[0], f"{log}/audit-4-02.jsonl"):
            shell.run(["gzip", name]).ok()
        whole = w.cli("log", "--verify").ok().out.strip()
        all_files = [*sorted(glob.glob(f"{log}/audit-*")), f"{log}/audit.jsonl"]
        equal(len(all_files), 16)
        told = lambda text: int(text.split()[0])
        assert 0 <= told(w.cli("log", "--verify", *all_files).ok().out) \
            - told(whole) < 10, whole
        contains(w.cli("log", s.name, "--json").ok().out, "first.example.com")
        contains(w.cli("report", s.name, "-o", "-", "--file",
                       f"{first[0]}.gz").ok().out, "first.example.com")
        # One that is damaged, or away, is a hole, and is said to be one.
        os.rename(f"{log}/audit-4-02.jsonl.gz", f"{w.folder}/away")
        contains(w.cli("log", "--verify").err, "not whole")
        contains(w.cli("log").err, "are not there: a file of the log is missing")
        os.unlink(f"{first[0]}.gz")
        contains(w.cli("log").err, "tapward: the log begins with record ")
        return whole


def rewritten(path, change):
    """The lines of a log with change(line) in them and a chain that is whole."""
    lines, prev = [], None
    with open(path, encoding="ascii") as f:
        for line in f.read().splitlines():
            line = change(line)
            if prev is not None:
                line = re.sub('"prev":"[0-9a-f]{64}"', f'"prev":"{prev}"', line, count=1)
            prev = hashlib.sha256(line.encode()).hexdigest()
            lines.append(line)
    return lines


@claim("anchor: a log that was rewritten whole, or cut, passes --verify and not --verify --anchor")
def _():
    with World(NAMES, start=False) as w:
        heads = f"{w.folder}/heads"
        with open(w.config, encoding="utf-8") as f:
            text = f.read()
        w.file("tapward.ini", f"{text}[audit]\nanchor = {heads}\n")
        w.start()
        s = w.sandbox(POLICY)
        s.run(["curl", "-sS", "-m", "5", "http://denied.example.com/"])
        s.audited(host="denied.example.com")
        # Every 10 s, and when the log is opened anew.
        w.cli("reload", "--host").ok()
        until(lambda: os.path.exists(heads) and os.path.getsize(heads), 5, "a head")
        log = f"{w.folder}/log/audit.jsonl"
        contains(w.cli("log", "--verify", "--anchor", heads).ok().out, "1 of 1 anchors")
        lines = rewritten(log, lambda line: line.replace(
            "denied.example.com", "friendly.example.com"))
        forged = w.file("forged.jsonl", "\n".join(lines) + "\n")
        contains(w.cli("log", "--verify", forged).ok().out, "unbroken chain")
        bad = w.cli("log", "--verify", "--anchor", heads, forged)
        equal(bad.code, 1)
        contains(bad.err, "was rewritten")
        with open(log, encoding="ascii") as f:
            cut = w.file("cut.jsonl", "".join(f.readlines()[:2]))
        bad = w.cli("log", "--verify", "--anchor", heads, cut)
        equal(bad.code, 1)
        contains(bad.err, "was cut")
        # One that begins behind every anchor, and right behind the last.
        with open(heads, encoding="ascii") as f:
            last = int(re.findall(r"seq=(\d+)", f.read())[-1])
        for seq, why in ((last + 2, "no anchor is of this log's records"),
                         (last + 1, f"another hash for record {last}")):
            later = w.file("later.jsonl", re.sub(
                r'"seq":\d+', f'"seq":{seq}', lines[-1], count=1) + "\n")
            contains(w.cli("log", "--verify", later).ok().out, "1 records")
            bad = w.cli("log", "--verify", "--anchor", heads, later)
            equal(bad.code, 1)
            contains(bad.err, why)
        # Lines of the journal are as good; the recorder wrote them to its log.
        said = shell.run([f"{w.tree}/bin/tapward", "--socket", w.socket, "log",
                          "--verify", "--anchor", "-"], stdin=w.log_text().encode()).ok().out
        contains(said, "anchors are of these records")
        equal(w.cli("log", "--anchor", heads).code, 64)
        w.stop()
        _aged(w, text, log)


def _aged(w, text, log):
    """The same log two hours later, beside two that were moved aside long ago."""
    before = time.strftime("%Y-%m-%dT%H:%M", time.gmtime(time.time() - 7200))
    lines = rewritten(log, lambda line: re.sub(
        r'"time":"[0-9T:-]{16}', f'"time":"{before}', line, count=1))
    w.file("log/audit.jsonl", "\n".join(lines) + "\n", 0o640)
    names = ("audit-2000.jsonl", "audit-2001.jsonl", "audit-2002.jsonl")
    for days, name in zip((3, 2, 0), names):
        w.file(f"log/{name}", "")
        at = time.time() - 86400 * days
        os.utime(f"{w.folder}/log/{name}", (at, at))
    w.file("tapward.ini", f"{text}[audit]\nrotate-age = 1h\nkeep-age = 1d\n")
    w.start()
    w.cli("reload", "--host").ok()
    until(lambda: os.path.getsize(log) and "rotated" in open(log).readline(), 5,
          "the first record after it")
    kept = sorted(os.path.basename(p) for p in glob.glob(f"{w.folder}/log/audit-*"))
    equal((kept[0], len(kept)), (names[2], 2))
    said = w.cli("log", "--json").ok().out
    for name in names[:2]:
        contains(said, f"no longer kept, by [audit] keep: {name}")
    # Moved aside once: the next one is young.
    w.cli("reload", "--host").ok()
    equal(len(glob.glob(f"{w.folder}/log/audit-*")), 2)
    contains(w.cli("log", "--verify", f"{w.folder}/log/{kept[1]}", log).ok().out,
             "unbroken chain")
