"""Budgets: how often, how fast, how much, how long; real clients at their edge."""
import concurrent.futures
import datetime
import json
import os
import signal
import subprocess
import time

from harness import shell
from harness.claims import claim, contains, equal, until
from harness.origins import Nginx
from harness.world import World

NAMES = {"web.example.com": "10.201.0.10", "pass.example.com": "10.201.0.13"}

POLICY = """\
[policy]
version = 1

[allow web]
host = web.example.com
{web}

[allow pinned]
host = pass.example.com
tls  = passthrough
{pinned}
"""

_world = {}


def world():
    if not _world:
        w = World(NAMES)
        cert, key = w.authority.issue(*NAMES)
        os.makedirs(f"{w.folder}/www")
        with open(f"{w.folder}/www/file", "wb") as f:
            f.write(b"x" * (4 << 20))
        w.own(Nginx(w.net, f"{w.folder}/nginx", f"""
          log_format asked "$request_uri $request_length";
          server {{ listen 10.201.0.10:443 ssl http2; listen 10.201.0.13:443 ssl;
            ssl_certificate {cert}; ssl_certificate_key {key};
            root {w.folder}/www; client_max_body_size 0;
            access_log {w.folder}/asked.log asked;
            location / {{ try_files $uri =404; }}
            location /ok {{ return 200 "ok\\n"; }}
            location /up {{ proxy_pass http://10.201.0.10:8080/; }}
            location /slow {{ alias {w.folder}/www/; limit_rate 20k; }} }}
          server {{ listen 10.201.0.10:8080; location / {{ return 200 "up\n"; }} }}"""))
        _world.update(w=w)
    return _world["w"]


def policy(web="", pinned=""):
    return POLICY.format(web=web, pinned=pinned)


def asked(w, path):
    try:
        with open(f"{w.folder}/asked.log", encoding="ascii") as f:
            return [line for line in f if line.startswith(f"{path} ")]
    except FileNotFoundError:
        return []


def show(w, s):
    return json.loads(w.cli("show", s.name, "--json").ok().out)


def budget(w, s, rule="web"):
    found = [b for b in show(w, s)["budgets"] if b["rule"] == rule]
    equal(len(found), 1, f"budgets of {rule}")
    return found[0]


def codes(s, count, *argv):
    """Statuses of `count` requests that go out at once."""
    def one(_):
        got = s.curl("-o", "/dev/null", "-w", "%{http_code}", *argv)
        return int(got.out or 0)
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return sorted(pool.map(one, range(count)))


@claim("budget: of 16 requests at once 5 pass, by HTTP/1.1 and 2, and `show` says so")
def _():
    w = world()
    for version in ("--http1.1", "--http2"):
        s = w.sandbox(policy("max-requests = 5"))
        path = f"/ok?{version}"
        got = codes(s, 16, version, f"https://web.example.com{path}")
        equal(got, [200] * 5 + [403] * 11, "statuses")
        equal(len(asked(w, path)), 5, "requests that the origin saw")
        refused = s.curl("-i", "https://web.example.com/ok")
        contains(refused.out, "limit-requests", refused.out)
        contains(refused.out, f"{os.path.basename(s.policy)}:4", refused.out)
        equal(budget(w, s)["requests"], {"max": 5, "used": 5, "left": 0}, "show")
        contains(w.cli("show", s.name).ok().out, "requests 5/5", "text of show")
        s.audited(reason="limit-requests", rule="web", event="request")
        s.rm().ok()


@claim("budget: a rate is 429 with Retry-After, and curl --retry gets through by itself")
def _():
    w = world()
    s = w.sandbox(policy("rate = 2/second"))
    got = codes(s, 8, "https://web.example.com/ok")
    equal(got.count(200) + got.count(429), 8, got)
    assert 2 <= got.count(200) <= 6, got
    began = time.monotonic()
    for _ in range(5):
        one = s.curl("--retry", "5", "-w", "%{http_code}",
                     "https://web.example.com/ok")
        contains(one.out, "200", one.out)
    took = time.monotonic() - began
    assert took >= 1.0, f"five at two a second took {took}"
    s.rm().ok()
    return f"five requests at 2/second: {took:.1f} s"


@claim("budget: an upload stops at its byte, with a length, without one, by h2")
def _():
    w = world()
    body = w.file("body", "u" * 300000)
    for argv in (["--http1.1", "-H", "Transfer-Encoding: chunked"],
                 ["--http2", "-H", "Content-Length:"], ["--http1.1"],
                 ["--http2"]):
        s = w.sandbox(policy("max-upload = 200KB"))
        got = s.curl("-i", *argv, "-T", body, "https://web.example.com/up")
        contains(got.out + got.err, "limit-upload", f"{argv}: {got}")
        used = budget(w, s)["upload"]
        assert used["used"] <= 200000, used
        for line in asked(w, "/up"):
            assert int(line.split()[1]) <= 200000, line
        s.rm().ok()


@claim("budget: downloads share one, and what would not fit is refused before its first byte")
def _():
    w = world()
    s = w.sandbox(policy("max-download = 6MB"))
    url = "https://web.example.com/file"
    got = s.curl("-o", "/dev/null", "-w", "%{http_code} %{size_download}", url)
    equal(got.out, f"200 {4 << 20}", "the first one")
    got = s.curl("-i", url)
    contains(got.out, "limit-download", got.out)
    contains(got.out, "403", got.out)
    left = budget(w, s)["download"]
    assert left["used"] >= 4 << 20 and left["left"] > 0, left
    s.rm().ok()


def kill_gate(w, s):
    pid = show(w, s)["gate_pid"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: show(w, s)["gate_pid"] not in (0, pid) and
          show(w, s)["state"] == "running", 20, "another gate")


@claim("budget: a gate that is killed, a supervisor too, and a reload begin nothing anew")
def _():
    w = world()
    s = w.sandbox(policy("max-requests = 3\nmax-upload = 100KB"))
    url = "https://web.example.com/ok"
    equal(s.curl(url).out, "ok\n", "the first")
    up = budget(w, s)["upload"]["used"]
    assert up > 0, up
    kill_gate(w, s)
    equal(budget(w, s)["requests"]["used"], 1, "after the gate's death")
    equal(budget(w, s)["upload"]["used"], up, "bytes after its death")
    until(lambda: s.curl("--max-time", "3", url).out == "ok\n", 10, "the second")
    gate = show(w, s)["gate_pid"]
    os.kill(w.daemon.pid, signal.SIGKILL)
    w.daemon.wait()
    os.kill(gate, signal.SIGKILL)
    w.start()
    until(lambda: show(w, s)["state"] == "running", 20, "adopted")
    equal(budget(w, s)["requests"]["used"], 2, "after both have died")
    s.reload(policy("max-requests = 3\nsay = enough")).ok()
    until(lambda: s.curl("--max-time", "3", url).out == "ok\n", 10, "the third")
    got = s.curl("-i", url)
    contains(got.out, "limit-requests", got.out)
    contains(got.out, "enough", got.out)
    s.rm().ok()


def pinned(w, *argv):
    return ["curl", "-sS", "--cacert", w.authority.ca, "--max-time", "20",
            *argv]


@claim("budget: a passthrough tunnel stops at its byte, and more than so many are refused")
def _():
    w = world()
    s = w.sandbox(policy(pinned="max-download = 1MB\nmax-requests = 2"))
    got = s.run(pinned(w, "-o", "/dev/null", "-w", "%{size_download}",
                       "https://pass.example.com/file"))
    assert got.code != 0, got
    size = int(got.out)
    assert 0 < size <= 1000000, size
    used = budget(w, s, "pinned")["download"]
    equal(used, {"max": 1000000, "used": 1000000, "left": 0}, "show")
    s.audited(event="connect", reason="limit-download", rule="pinned")
    got = s.run(pinned(w, "https://pass.example.com/ok"))
    assert got.code != 0, got
    s.rm().ok()
    return f"{size} bytes of 1000000 reached curl, before TLS's own"


@claim("budget: `until` ends what runs within a second, inspected or not, and says so")
def _():
    w = world()
    end = datetime.datetime.now(datetime.timezone.utc).replace(
        microsecond=0) + datetime.timedelta(seconds=4)
    line = f"until = {end:%Y-%m-%dT%H:%M:%SZ}"
    s = w.sandbox(policy(line, line))
    runs = [subprocess.Popen(s.guest.argv(argv), env=s.env,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for argv in (
                ["curl", "-sS", "--cacert", s.ca, "-o", "/dev/null",
                 "https://web.example.com/slow/file"],
                pinned(w, "-o", "/dev/null",
                       "https://pass.example.com/slow/file"))]
    late = []
    for run in runs:
        run.communicate(timeout=30)
        assert run.returncode != 0, "it was cut"
        late.append(time.time() - end.timestamp())
    for one in late:
        assert 0 <= one < 1, f"ended {one:.2f} s after its time"
    got = s.curl("-i", "https://web.example.com/ok")
    contains(got.out, "the rule has ended (until", got.out)
    s.audited(event="connect", reason="until", host="pass.example.com")
    explain = w.cli("explain", "--policy", s.policy, "https://web.example.com/")
    equal(explain.code, 1, "explain")
    contains(explain.out, "until", explain.out)
    s.rm().ok()
    return f"ended {max(late):.2f} s after the time"


@claim("budget: a table that a gate has spoilt is shown as nothing, and harms nobody else")
def _():
    w = world()
    s = w.sandbox(policy("max-requests = 3"))
    path = f"{w.folder}/run/sandboxes/{s.name}/counts"
    size = os.path.getsize(path)
    with open(path, "r+b") as f:
        f.seek(8)
        f.write(b"\xff" * (size - 8))
    equal(show(w, s)["budgets"], [], "what cannot be")
    equal(shell.run(["stat", "-c", "%a %u", path]).ok().out, "600 0\n", "mode")
    s.rm().ok()
    assert not os.path.exists(path), "it goes with its sandbox"
