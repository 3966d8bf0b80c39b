"""tapward top on a terminal, and what it may tell to whom."""
import concurrent.futures
import json
import os
import signal

from harness import shell
from harness.claims import claim, contains, equal, lacks, until
from harness.origins import Nginx
from harness.screen import Screen
from harness.world import World

NAMES = {"api.example.com": "10.201.0.10"}
POLICY = "[policy]\nversion = 1\n\n[allow api]\nhost = api.example.com\n"
GROUP = "users"
MEMBER = 12345
_world = {}


def world():
    if not _world:
        w = World(NAMES, group=GROUP)
        _world["w"] = w
        cert, key = w.authority.issue(*NAMES)
        os.makedirs(f"{w.folder}/www")
        with open(f"{w.folder}/www/slow", "wb") as f:
            f.write(b"x" * (1 << 20))
        w.own(Nginx(w.net, f"{w.folder}/nginx", f"""
          server {{ listen 10.201.0.10:443 ssl;
            ssl_certificate {cert}; ssl_certificate_key {key};
            root {w.folder}/www;
            location / {{ return 200 "ok\\n"; }}
            location /slow {{ try_files $uri =404; limit_rate 50k; }} }}"""))
        _world["a"] = w.sandbox(POLICY, "aaa-busy")
        _world["b"] = w.sandbox(POLICY, "bbb-quiet")
        # A path that would clear the screen of whoever reads it.
        _ = _world["a"].run(["curl", "-sS", "-m", "5", "--request-target",
                             "/\x1b[2Jx", "http://evil.example.net/"])
        _ = _world["a"].run(["curl", "-sS", "-m", "5",
                             "http://denied.example.net/secret-path"])
        _world["a"].curl("https://api.example.com/").ok()
    return _world["w"]


def top(*argv, columns=100, rows=30, **env):
    w = world()
    return Screen([f"{w.tree}/bin/tapward", "--socket", w.socket, "top", *argv],
                  columns, rows, env)


def at_once(*calls):
    """What each command prints; every one looks twice, a second apart."""
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        return [r.ok().out for r in pool.map(lambda c: world().cli(*c), calls)]


def as_member(*argv):
    w = world()
    return shell.run(["setpriv", "--reuid", str(MEMBER), "--regid", GROUP,
                      "--clear-groups", f"{w.tree}/bin/tapward", "--socket",
                      w.socket, *argv])


@claim("top --json: counts, rates, refusals and hosts, of gates as they count")
def _():
    world()
    got, detail = map(json.loads, at_once(("top", "--json"),
                                          ("top", "aaa-busy", "--json")))
    one = got["sandboxes"][0]
    equal([s["name"] for s in got["sandboxes"]], ["aaa-busy", "bbb-quiet"])
    equal(one["requests"] >= 2 and one["refused"] >= 2, True, one)
    equal(one["down"] > 0, True, one)
    equal((one["request_rate"], got["sandboxes"][1]["requests"]), (0.0, 0))
    # Beside its name, which was looked up and refused, too.
    last = next(r for r in got["refusals"] if r["event"] == "request"
                and r["host"] == "denied.example.net")
    equal((last["sandbox"], last["reason"], last["path"]),
          ("aaa-busy", "no-rule", "/secret-path"))
    equal(got["status"]["recorder"]["lost"], 0)
    hosts = {h["host"]: h for h in detail["hosts"]}
    equal(hosts["denied.example.net"]["refused"], 1)
    equal(hosts["api.example.com"]["allowed"] >= 1, True, hosts)


@claim("top: bytes and connections are counted as they come, not when they end")
def _():
    w = world()
    s = _world["b"]
    slow = shell.start(shell.in_net(s.guest.name, [
        "curl", "-sS", "-m", "30", "-o", "/dev/null", "--cacert", s.ca,
        "https://api.example.com/slow"]), f"{w.folder}/slow.log", env=s.env)
    try:
        def moving():
            b = json.loads(w.cli("top", "bbb-quiet", "--json").ok().out)["sandboxes"][0]
            return b if (b["down_rate"] or 0) > 0 else None
        got = until(moving, 10, "bytes that come")
        equal((got["connections"], got["requests"]), (1, 0))
    finally:
        shell.stop(slow)


@claim("top --once: text, without an order to a terminal in it; without a terminal the same")
def _():
    w = world()
    once, bare = at_once(("top", "-b", "--sort", "requests"), ("top",))
    lines = once.splitlines()
    equal([l.split()[0] for l in lines if l[:4] in ("aaa-", "bbb-")],
          ["aaa-busy", "bbb-quiet"])
    contains(once, "no-rule")
    contains(bare, "LAST REFUSALS")
    equal(once.isascii() and once.replace("\n", "").isprintable(), True)
    equal(w.cli("top", "--sort", "cpu").code, 64)
    equal(w.cli("top", "--interval", "0").code, 64)
    equal(w.cli("top", "no-such-sandbox").code, 1)


@claim("top: a user sees no number, host or refusal of another's sandbox, and cannot open it")
def _():
    world()
    out = as_member("top", "--json").ok().out
    got = json.loads(out)
    equal({s["name"] for s in got["sandboxes"]}, {"aaa-busy", "bbb-quiet"})
    equal({s[k] for s in got["sandboxes"] for k in (
        "requests", "refused", "dropped", "up", "down", "connections", "asks",
        "request_rate")}, {None})
    equal((got["refusals"], got["hosts"]), ([], []))
    lacks(out, "example.net")
    refused = as_member("top", "aaa-busy", "--once")
    equal(refused.code, 1)
    contains(refused.err, "another user's")


@claim("top on a terminal: sizes, keys, one sandbox and back, pause and help; q restores it")
def _():
    world()
    with top() as t:
        lines = t.shows("q quit")
        equal(len(lines), 30)
        contains("\n".join(lines), "aaa-busy")
        contains("\n".join(lines), "denied.example.net")
        for columns, rows in ((40, 10), (20, 5), (200, 60), (1, 1), (80, 24)):
            t.size(columns, rows)
            until(lambda c=columns, r=rows: t.fits(c, r), 5, f"{columns} by {rows}")
        t.type("\x1b[B\r")
        contains("\n".join(t.shows("HOST")), "bbb-quiet")
        t.type("\x1b")
        until(lambda: not any("HOST " in line for line in t.screen()), 5, "the list")
        t.type("\x1b[Aj\x1b[A\x1b[C")
        contains("\n".join(t.shows("HOST")), "api.example.com")
        t.type("\x1b[Dp")
        t.shows("PAUSED")
        t.type("ph")
        t.shows("any key leaves it")
        t.type(" s")
        t.shows("*REQUESTS")
        lacks(t.read(), "\x1b[2Jx")
        t.type("q")
        equal(t.ended(), 0)
        equal(t.is_restored(), True)


@claim("top on a terminal: INT, TERM and HUP end it, TSTP stops it, CONT goes on; each restores it")
def _():
    world()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with top(NO_COLOR="1") as t:
            t.shows("q quit")
            t.kill(number)
            equal(t.ended(), -number)
            equal(t.is_restored(), True, number)
            lacks(t.read(), "\x1b[1;31m")
    with top() as t:
        t.shows("q quit")
        t.type("\x1a")
        until(t.is_stopped, 5, "it is stopped")
        equal(t.is_restored(), True)
        t.kill(signal.SIGCONT)
        until(lambda: not t.is_restored(), 5, "it has the terminal again")
        t.shows("q quit")
        t.type("\x03")
        equal(t.ended(), -signal.SIGINT)
        equal(t.is_restored(), True)


@claim("top: a recorder or gate that stands still costs half a second, and is said to; a daemon that is gone, too")
def _():
    w = world()
    status = json.loads(w.cli("status", "--json").ok().out)
    pids = [next(p["pid"] for p in status["processes"] if p["role"] == "recorder"),
            json.loads(w.cli("show", "bbb-quiet", "--json").ok().out)["gate_pid"]]
    with top() as t:
        t.shows("q quit")
        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            t.shows("DOES NOT ANSWER")
            # Keys are taken all the same.
            t.type("h")
            t.shows("any key leaves it", 2)
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
        t.type("h")
        t.shows("bbb-quiet")
        w.stop()
        t.shows("what is below is old")
        t.type("q")
        equal(t.ended(), 0)
    equal(w.cli("top", "--once").code, 69)
