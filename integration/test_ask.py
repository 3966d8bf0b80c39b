"""Requests that [ask] rules hold go when somebody says yes, and not before."""
import json
import os
import signal
import subprocess

from harness import shell
from harness.claims import claim, contains, equal, lacks, until
from harness.origins import Nginx
from harness.world import World

NAMES = {"api.example.com": "10.201.0.10", "only.example.com": "10.201.0.10",
         "key.example.com": "10.201.0.10"}

POLICY = """\
[policy]
version = 1

[allow read]
host   = api.example.com
method = GET

[ask write]
host   = api.example.com
method = POST, PUT

[ask only]
host = only.example.com

[ask key]
host       = key.example.com
credential = key
"""

CEILING = """\
[policy]
version = 1

[allow most]
host   = api.example.com, only.example.com, key.example.com
method = GET, POST

[ask put]
host   = api.example.com
method = PUT
"""

CREDENTIAL = """
[limits]
asks = 3
[credential key]
kind  = static
value = file:{folder}/key
host  = key.example.com
apply = header:x-token
grant = * user:root
"""

ORIGIN = """
  log_format seen '$request_method $host$request_uri $request_length';
  server {{ listen 10.201.0.10:443 ssl http2; ssl_certificate {cert};
    ssl_certificate_key {key}; access_log {folder}/seen.log seen;
    location / {{ return 200 "origin [$http_x_token]\\n"; }}
    location /body {{ proxy_pass http://10.201.0.10:8080/; }} }}
  server {{ listen 10.201.0.10:8080; access_log off;
    location / {{ return 200 "length $content_length\\n"; }} }}"""

_world = {}


class Held:
    """A curl that runs until its request is answered."""

    def __init__(self, s, *argv):
        self.process = subprocess.Popen(
            s.guest.plain(["curl", "-sS", "-i", "--max-time", "30",
                           "--cacert", s.ca, *argv]),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=s.env,
            stdin=subprocess.DEVNULL, start_new_session=True)

    def end(self):
        return self.process.communicate(timeout=30)[0].decode("utf-8", "replace")

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


def make(more, policy=POLICY, name=None):
    w = World(NAMES, ceiling=CEILING, start=False)
    w.file("key", "canary-of-the-question\n", 0o600)
    with open(w.config, "a", encoding="ascii") as f:
        f.write(more.format(folder=w.folder))
    w.start()
    cert, key = w.authority.issue(*NAMES)
    w.own(Nginx(w.net, f"{w.folder}/nginx",
                ORIGIN.format(cert=cert, key=key, folder=w.folder)))
    return w, w.sandbox(policy, name)


def world():
    if not _world:
        _world["w"], _world["s"] = make(CREDENTIAL)
    return _world["w"], _world["s"]


def asks(w, *argv):
    return json.loads(w.cli("ask", "list", *argv, "--json").ok().out)


def waiting(w):
    return [a for a in asks(w) if a["state"] == "waiting"]


def one(w, count=1):
    """The question that waits, or as many of them."""
    got = until(lambda: len(found := waiting(w)) == count and found, 10,
                f"{count} questions wait")
    return got[0] if count == 1 else got


def seen(w):
    path = f"{w.folder}/seen.log"
    if not os.path.exists(path):
        return ""
    with open(path, encoding="ascii") as f:
        return f.read()


@claim("ask: a request waits, is shown, and goes whole when it is allowed, once")
def _():
    w, s = world()
    for version in ("--http1.1", "--http2"):
        before, asked = seen(w), len(w.resolver.queries())
        held = Held(s, version, "--data-binary", "x" * 5000,
                    "https://only.example.com/body?a=1")
        a = one(w)
        equal((a["method"], a["url"], a["rule"], a["sandbox"], a["body_bytes"]),
              ("POST", "https://only.example.com/body?a=1", "only", s.name, 5000))
        contains(a["at"], f"{s.name}.ini:")
        shown = w.cli("ask", "list", s.name).ok().out
        contains(shown, "POST https://only.example.com/body?a=1")
        contains(shown, "with a body of 5000 bytes")
        # Nothing was looked up, dialled or sent for it.
        equal(w.resolver.queries()[asked:], [], "asked upstream")
        equal(seen(w), before, "what the origin saw")
        w.cli("ask", "allow", a["id"]).ok()
        got = held.end()
        contains(got, "length 5000", got)
        until(lambda: waiting(w) == [], 5, "no question is left")
        record = w.audited(s.name, event="request", host="only.example.com",
                           verdict="allow")
        contains(record["detail"], "allowed by uid 0")
        # The same request asks anew.
        again = Held(s, version, "https://only.example.com/body?a=1")
        b = one(w)
        w.cli("ask", "deny", b["id"]).ok()
        contains(again.end(), "403", "the second")
        told = {row["id"]: row for row in json.loads(
            w.cli("report", s.name, "--json").ok().out)["asks"]}
        contains(told[a["id"]]["answer"], "allowed by uid 0", "in the report")
        contains(told[b["id"]]["answer"], "denied by uid 0", "in the report")
        equal(told[a["id"]]["path"], "/body?a=1")
    for verdict, reason in (("ask", ""), ("allow", ""), ("deny", "ask-denied")):
        w.audited(s.name, event="ask", verdict=verdict, reason=reason)
    contains(w.cli("ask", "allow", b["id"]).both, "no such question")


@claim("ask: a no is a 403 that says so, and other requests go on beside it")
def _():
    w, s = world()
    held = Held(s, "--http2", "-X", "POST", "https://api.example.com/v1")
    a = one(w)
    got = s.curl("--http2", "https://api.example.com/read")
    contains(got.ok().out, "origin", "what no rule asks about")
    w.cli("ask", "deny", a["id"]).ok()
    got = held.end()
    contains(got, "403")
    contains(got, "ask-denied")
    lacks(got, "uid 0", "who it was is not for the guest")
    lacks(seen(w), "POST api.example.com/v1")


@claim("ask: an answer for an hour is for that very request, until it is taken back")
def _():
    w, s = world()
    held = Held(s, "-d", "x", "https://api.example.com/v1/hour?q=1")
    a = one(w)
    got = w.cli("ask", "allow", a["id"], "--for", "1h", "--remember").ok().out
    contains(got, "\nhost    = api.example.com\n", got)
    contains(got, "path    = /v1/hour ; 1\n", got)
    contains(held.end(), "origin")
    contains(s.curl("-d", "x", "https://api.example.com/v1/hour?q=1").ok().out,
             "origin", "the same")
    for other in (["-d", "x", "https://api.example.com/v1/hour?q=2"],
                  ["-d", "x", "https://api.example.com/v1/hour"],
                  ["-X", "PUT", "https://api.example.com/v1/hour?q=1"]):
        held = Held(s, *other)
        b = one(w)
        w.cli("ask", "deny", b["id"]).ok()
        contains(held.end(), "403", other)
    standing = [x for x in asks(w) if x["state"] == "allowed"]
    equal([x["by"] for x in standing], ["uid 0"])
    w.cli("ask", "deny", standing[0]["id"]).ok()
    held = Held(s, "-d", "x", "https://api.example.com/v1/hour?q=1")
    c = one(w)
    w.cli("ask", "deny", c["id"], "--for", "1h").ok()
    contains(held.end(), "403", "after it was taken back")
    contains(s.curl("-i", "-d", "x", "https://api.example.com/v1/hour?q=1").out,
             "ask-denied", "a no stands, too")
    for x in asks(w):
        w.cli("ask", "deny", x["id"]).ok()
    equal(asks(w), [])


@claim("ask: what the ceiling does not let through cannot be allowed")
def _():
    w, s = world()
    got = s.curl("-i", "-X", "DELETE", "https://only.example.com/x")
    contains(got.out, "ceiling-method")
    held = Held(s, "-X", "PUT", "https://api.example.com/host")
    a = one(w)
    equal((a["ceiling"], a["rule"]), (True, "put"), "the ceiling asks")
    as_other = ["setpriv", "--reuid=65534", "--regid=0", "--clear-groups"]
    tool = [f"{w.tree}/bin/tapward", "--socket", w.socket, "ask"]
    equal(json.loads(shell.run([*as_other, *tool, "list", "--json"]).ok().out), [],
          "another user sees")
    got = shell.run([*as_other, *tool, "allow", a["id"]])
    contains(got.both, "no such question")
    w.cli("ask", "allow", a["id"]).ok()
    contains(held.end(), "origin")


@claim("ask: no credential is lent before the answer, and its own with it")
def _():
    w, s = world()
    held = Held(s, "https://key.example.com/")
    a = one(w)
    equal(a["credential"], "key")
    equal(w.audit(s.name, event="lease", credential="key"), [], "before the answer")
    w.cli("ask", "allow", a["id"]).ok()
    got = held.end()
    # It came back in the answer, and was masked there.
    contains(got, "origin [***", got)
    w.audited(s.name, event="lease", credential="key", verdict="allow")


@claim("ask: more than may wait are refused at once, and a guest that left is asked about no more")
def _():
    w, s = world()
    held = [Held(s, "-d", "x", f"https://api.example.com/many/{i}") for i in range(3)]
    one(w, 3)
    got = s.curl("-i", "-d", "x", "https://api.example.com/many/4")
    contains(got.out, "ask-timeout")
    contains(got.out, "as many requests as may wait")
    for h in held:
        h.kill()
    until(lambda: waiting(w) == [], 5, "those of a guest that left")
    lacks(seen(w), "/many/")
    for more in (["--http1.1", "-d", "x"], ["--http2", "-d", "x"],
                 ["--http1.1", "-X", "POST"], ["--http2", "-X", "POST"]):
        h = Held(s, *more, "https://api.example.com/left")
        one(w)
        h.kill()
        until(lambda: waiting(w) == [], 5, more)


@claim("ask: what can be shown only in another way is not asked about")
def _():
    w, s = world()
    for more in (["-H", "X-HTTP-Method-Override: DELETE", "-d", "x",
                  "https://api.example.com/x"],
                 ["-d", "x", "https://api.example.com/" + "y" * 2100]):
        got = s.curl("-i", *more)
        contains(got.out, "403", more)
    equal(waiting(w), [])
    held = Held(s, "-d", "x", "--path-as-is",
                "https://api.example.com/%1b%5b31m?%0a\"'$(reboot)`x`")
    a = one(w)
    shown = w.cli("ask", "list").ok().out
    assert all(" " <= c <= "~" or c == "\n" for c in shown), ascii(shown)
    contains(shown, "/%1b%5b31m?%0a", shown)
    w.cli("ask", "deny", a["id"]).ok()
    held.end()


@claim("ask: a reload while it waits lets go, refuses, or leaves it waiting")
def _():
    w, s = world()
    w.sandbox(POLICY)
    for policy, want, answers in (
            (POLICY.replace("[ask write]", "[allow write]"), "origin", False),
            (POLICY.replace("[ask write]", "[deny write]"), "policy-reloaded", False),
            (POLICY + "\n[allow more]\nhost = more.example.com\n", "origin", True)):
        s.reload(POLICY).ok()
        held = Held(s, "-d", "x", "https://api.example.com/reload")
        a = one(w)
        s.reload(policy).ok()
        if answers:
            equal(one(w)["id"], a["id"])
            w.cli("ask", "allow", a["id"]).ok()
        contains(held.end(), want, policy)
        until(lambda: waiting(w) == [], 5, "no question is left")
    s.reload(POLICY).ok()


@claim("ask: a supervisor that is killed takes its questions with it: they are refused")
def _():
    w, s = world()
    held = Held(s, "-d", "x", "https://api.example.com/killed")
    a = one(w)
    os.kill(w.daemon.pid, signal.SIGKILL)
    w.daemon.wait()
    got = held.end()
    contains(got, "403")
    contains(got, "ask-timeout")
    got = s.curl("-i", "-d", "x", "https://api.example.com/nobody")
    contains(got.out, "ask-timeout", "without a supervisor")
    contains(s.curl("https://api.example.com/read").ok().out, "origin")
    w.start()
    equal(asks(w), [], "after it")
    contains(w.cli("ask", "allow", a["id"]).both, "no such question")
    held = Held(s, "-d", "x", "https://api.example.com/anew")
    w.cli("ask", "allow", one(w)["id"]).ok()
    contains(held.end(), "origin")
    lacks(seen(w), "/killed")
    lacks(seen(w), "/nobody")


@claim("ask: a sandbox that is removed, and a gate that dies, leave no question")
def _():
    w, s = world()
    other = w.sandbox(POLICY)
    held = Held(other, "-d", "x", "https://api.example.com/removed")
    one(w)
    other.rm().ok()
    equal(waiting(w), [])
    held.kill()
    held = Held(s, "-d", "x", "https://api.example.com/died")
    one(w)
    os.kill(json.loads(w.cli("show", s.name, "--json").ok().out)["gate_pid"],
            signal.SIGKILL)
    until(lambda: waiting(w) == [], 5, "of the gate that died")
    held.end()
    lacks(seen(w), "/removed")
    lacks(seen(w), "/died")
    w.close()


HOOK = """\
#!/usr/bin/python3
import json, os, signal, sys
fds = len(os.listdir("/proc/self/fd"))
asked = json.load(sys.stdin)
with open("{folder}/hooks/" + asked["id"], "w") as f:
    json.dump({{"asked": asked, "uid": os.getuid(), "argv": sys.argv[1:],
               "pid": os.getpid(), "fds": fds,
               "env": dict(os.environ)}}, f)
word = asked["target"].split("/")[1]
if word == "slow":
    signal.pause()
if word == "fails":
    print("allow")
    sys.exit(1)
print({{"yes": "allow", "no": "deny", "hour": "allow 1h"}}.get(word, "allowed?"))
"""


@claim("ask: the host's hook answers, confined as helpers are; without an answer time does")
def _():
    w = World(NAMES, ceiling=CEILING, start=False)
    os.mkdir(f"{w.folder}/hooks")
    os.chmod(f"{w.folder}/hooks", 0o777)
    hook = w.file("hook", HOOK.format(folder=w.folder), 0o755)
    with open(w.config, "a", encoding="ascii") as f:
        f.write(f"\n[limits]\nask-timeout = 4s\n[ask]\nhook = {hook} -a $(id) |x\n"
                "timeout = 2500ms\n")
    w.start()
    cert, key = w.authority.issue(*NAMES)
    w.own(Nginx(w.net, f"{w.folder}/nginx",
                ORIGIN.format(cert=cert, key=key, folder=w.folder)))
    s = w.sandbox(POLICY.split("[ask key]")[0])
    post = lambda word: s.curl("-i", "-d", "x", f"https://api.example.com/{word}/1").out
    contains(post("yes"), "origin", w.log_text())
    contains(post("no"), "ask-denied")
    contains(post("hour"), "origin")
    # By the ceiling's leave, too: it is the host's.
    contains(s.curl("-X", "PUT", "https://api.example.com/yes").ok().out, "origin")
    ran = len(os.listdir(f"{w.folder}/hooks"))
    contains(post("hour"), "origin")
    equal(len(os.listdir(f"{w.folder}/hooks")), ran, "no hook for what stands")
    held = [Held(s, "-d", "x", f"https://api.example.com/{word}/1")
            for word in ("slow", "fails", "odd")]
    for h in held:
        contains(h.end(), "ask-timeout", w.log_text())
    said = []
    for name in os.listdir(f"{w.folder}/hooks"):
        with open(f"{w.folder}/hooks/{name}", encoding="ascii") as f:
            said.append(json.load(f))
    for one_said in said:
        equal(one_said["asked"]["sandbox"], s.name)
        assert one_said["uid"] >= w.uid_first, one_said
        equal((one_said["pid"], one_said["argv"]), (1, ["-a", "$(id)", "|x"]))
        # Three, and the one that lists them.
        equal(one_said["fds"], 4, one_said)
        equal(sorted(k for k in one_said["env"] if k != "LC_CTYPE"),
              ["HOME", "LANG", "PATH"])
    contains([x["asked"]["url"] for x in said], "https://api.example.com:443/yes/1")
    contains([x["by"] for x in asks(w)], "the hook")
    # None is left behind.
    until(lambda: shell.run(["pgrep", "-f", hook]).code == 1, 5, "hooks have ended")
    w.close()
