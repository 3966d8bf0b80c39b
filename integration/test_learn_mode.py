"""A sandbox that learns: the ceiling decides what its policy does not, it is
written down as that, and the policy that comes of it denies nothing of it."""
import json
import os
import signal

from harness import git
from harness.claims import claim, contains, equal, lacks, until
from harness.origins import Nginx, RawOrigin
from harness.world import World

ADDRESS = "10.201.0.10"
HOSTS = ("web", "api", "git", "pinned", "plain", "db", "alone", "admin")
NAMES = {f"{host}.example.com": ADDRESS for host in HOSTS}
CANARY = "canary-of-what-is-learned"

EMPTY = "[policy]\nversion = 1\n"
# Of somebody who knows what must be, and what must not.
KNOWN = EMPTY + """
[allow known]
host = api.example.com
method = GET
path = /known
credential = token

[deny never]
host = api.example.com
path = /never/**
"""
CEILING = """\
[policy]
version = 1

[allow most]
host = web.example.com, api.example.com, git.example.com, admin.example.com

[allow pinned]
host = pinned.example.com
tls = passthrough

[allow plain]
host = plain.example.com
scheme = http
port = 8080

[allow db]
host = db.example.com
scheme = tcp
port = 5432

[deny admin]
host = admin.example.com
method = DELETE
"""
CREDENTIAL = """
[credential token]
kind  = static
value = file:{file}
host  = api.example.com
apply = header:x-token
grant = * user:root
"""
MAY = "learn = learn-* user:root\n"
CLIENTS = """
import socket, sys, urllib.request
print(urllib.request.urlopen("https://api.example.com/v1/items?page=2",
                             timeout=10).status)
k = socket.create_connection(("db.example.com", 5432), 10)
k.sendall(b"hello")
print(k.recv(64).decode())
"""

_world = {}


def world():
    if not _world:
        w = World(NAMES, ceiling=CEILING, more=MAY, start=False)
        token = w.file("token", CANARY + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(CREDENTIAL.format(file=token))
        w.start()
        git.make_repository(w.folder, "tool", [("file", b"text\n")])
        git.start_backend(w)
        cert, key = w.authority.issue(*NAMES)
        w.own(Nginx(w.net, f"{w.folder}/nginx", f"""
          server {{ listen {ADDRESS}:443 ssl http2; listen {ADDRESS}:8080;
            ssl_certificate {cert}; ssl_certificate_key {key};
            {git.LOCATION.format(location="/acme", folder=w.folder,
                                 more="rewrite ^/acme(/.*)$ $1 break;")}
            location / {{ return 200 "token=$http_x_token\\n"; }} }}"""))
        w.own(RawOrigin(w.net, ADDRESS, 5432,
                        lambda peer, _: peer.sendall(b"db " + peer.recv(64))))
        _world["w"] = w
    return _world["w"]


def learning(w, name, policy):
    return w.sandbox(policy, f"learn-{name}-{w.id}", "--learn")


def use(w, s):
    """Several clients, each by its own way; what came of each."""
    clone = f"{w.folder}/clone-{s.name}"
    return [
        s.curl("https://web.example.com/a", "https://web.example.com/b",
               "-w", "%{http_code}\n").out,
        s.curl("--http1.1", "-d", "x=1", "https://web.example.com/form",
               "-w", "%{http_code}\n").out,
        s.curl("http://plain.example.com:8080/x", "-w", "%{http_code}\n").out,
        s.run(["python3", "-c", CLIENTS]).out,
        s.run(["git", "clone", "-q", "https://git.example.com/acme/tool.git",
               clone], env={**s.env, **git.ENV}).code,
    ]


WORKS = ["token=\n200\ntoken=\n200\n", "token=\n200\n", "token=\n200\n",
         "200\ndb hello\n", 0]


def denied(w, s):
    return [r for event in ("request", "connect")
            for r in w.audit(s.name, event=event, verdict="deny")]


def show(w, s):
    return json.loads(w.cli("show", s.name, "--json").ok().out)


@claim("learn: nobody's sandbox learns unless the host says whose may")
def _():
    w = world()
    got = w.sandbox(EMPTY, f"other-{w.id}", "--learn", check=False).created
    equal(got.code, 1, repr(got))
    contains(got.err, "write `learn = NAME user:YOU` into [ceiling]")
    equal(w.cli("show", f"other-{w.id}").code, 1)
    alone = World(NAMES, pool=0)
    got = alone.sandbox(EMPTY, f"learn-{alone.id}", "--learn",
                        check=False).created
    equal(got.code, 1, repr(got))
    contains(got.err, "learning needs a ceiling")
    alone.close()


@claim("learn: several clients under an empty policy, and the policy that is learned denies none of them")
def _():
    w = world()
    s = learning(w, "all", EMPTY)
    equal(use(w, s), WORKS)
    # The ceiling is the end of it, and says no in its own name.
    contains(s.curl("-i", "https://alone.example.com/").out, "ceiling-no-rule")
    contains(s.curl("-i", "-X", "DELETE", "https://admin.example.com/").out,
             "ceiling-denied-by-rule")
    equal(s.run(["curl", "-sS", "--cacert", w.authority.ca,
                 "https://pinned.example.com/"]).code, 60)
    record = s.audited(event="request", host="web.example.com", path="/a")
    equal((record["verdict"], record["rule"], record["learned"],
           record["learned_at"]), ("allow", "most", "no-rule",
                                   f"{s.policy.rsplit('/', 1)[1]}:1"))
    s.audited(event="connect", reason="guest-tls")
    s.audited(event="connect", scheme="tcp", verdict="allow")
    learned = w.cli("learn", s.name).ok().out
    for part in ("path    = /a ; 1\n", "repo    = git.example.com/acme/tool ; ",
                 "scheme  = tcp\nport    = 5432\n",
                 "scheme  = http\nport    = 8080\n",
                 "; pinned.example.com:443 asked for nothing in 1 connections",
                 "; 2 requests are not in here: the host's ceiling"):
        contains(learned, part)
    for part in ("alone.example", "admin.example", "= pinned", "= passthrough\n"):
        lacks(learned, part)
    again = w.sandbox(learned)
    equal(use(w, again), WORKS, learned)
    again.audited(event="connect", scheme="tcp")
    equal(denied(w, again), [], learned)
    equal([r for r in w.audit(again.name) if "learned" in r], [])
    contains(again.curl("-i", "https://web.example.com/c").out, "reason: path")
    w.cli("report", s.name, "-o", f"{w.folder}/report.html").ok()
    with open(f"{w.folder}/report.html", encoding="utf-8") as f:
        contains(f.read(), "by the ceiling alone")


@claim("learn: what is learned gets no credential, and a [deny] of the policy stays one")
def _():
    w = world()
    s = learning(w, "known", KNOWN)
    contains(s.curl("https://api.example.com/known").out, "***")
    equal(s.curl("https://api.example.com/other").out, "token=\n")
    equal(s.curl("-X", "POST", "https://api.example.com/known").out, "token=\n")
    contains(s.curl("-i", "https://api.example.com/never/x").out,
             "denied-by-rule")
    record = s.audited(event="request", path="/other")
    equal((record["learned"], record["learned_rule"], "credential" in record),
          ("path", "known", False))
    learned = w.cli("learn", s.name).ok().out
    contains(learned, "credential = token\n")
    contains(learned, "; 1 requests are not in here: [deny] rules")
    again = w.sandbox(learned)
    contains(again.curl("https://api.example.com/known").out, "***")
    equal(again.curl("https://api.example.com/other").out, "token=\n")
    equal(denied(w, again), [], learned)


@claim("learn: it goes on when supervisor and gate die and over a reload, and ends when the host takes it back")
def _():
    w = world()
    s = learning(w, "on", EMPTY)

    def works(path):
        return s.curl("--max-time", "3", f"https://web.example.com/{path}",
                      "-w", "%{http_code}").out.endswith("200")

    assert works("a")
    w.daemon.kill()
    w.daemon.wait()
    assert works("without")
    w.start()
    equal(show(w, s)["learning"], True)
    os.kill(show(w, s)["gate_pid"], signal.SIGKILL)
    until(lambda: works("replaced"), 10, "the next gate learns")
    contains(s.reload(KNOWN).ok().out, "goes on learning")
    assert works("reloaded")
    contains(w.cli("list").ok().out, "learning")
    equal(json.loads(w.cli("status", "--json").ok().out)["learning"],
          len([1 for e in json.loads(w.cli("list", "--json").ok().out)
               if e["learning"]]))
    equal([e["learning"] for e in json.loads(w.cli("top", "--json").ok().out)["sandboxes"]
           if e["name"] == s.name], [True])
    contains(w.cli("top", "--once").ok().out, " learning ")
    with open(w.config, encoding="ascii") as f:
        config = f.read()
    # Even when the ceiling that comes along cannot be read.
    w.file("tapward.ini", config.replace(MAY, ""))
    w.file("ceiling.ini", CEILING + "[allow")
    got = w.cli("reload", "--host")
    equal(got.code, 1, repr(got))
    contains(got.err, "ceiling.ini:24: a section heading without its ']'")
    until(lambda: "no-rule" in s.curl("-i", "https://web.example.com/b").out, 5,
          "its policy is what counts")
    equal(show(w, s)["learning"], False)
    w.file("tapward.ini", config)
    w.file("ceiling.ini", CEILING)
    w.cli("reload", "--host").ok()
    # What was taken back is not given again by itself.
    contains(s.curl("-i", "https://web.example.com/b").out, "no-rule")
    s = learning(w, "lost", EMPTY)
    assert works("a")
    # Nor kept by one whose gate is gone when the next supervisor comes.
    gate = show(w, s)["gate_pid"]
    w.daemon.kill()
    w.daemon.wait()
    os.kill(gate, signal.SIGKILL)
    w.file("tapward.ini", config.replace(MAY, "learn = other-* user:root\n"))
    w.start()
    until(lambda: "no-rule" in s.curl("-i", "https://web.example.com/b").out, 10,
          "its policy is what counts")
    equal(show(w, s)["learning"], False)
    w.close()
