"""tapward verify: every row holds, and each of the planted faults fails the
rows that are about it, and no other.

The supervisor mends rulesets as soon as anybody touches them, and while it is
stopped it tells nobody what was dropped. So the faults are such that it does
not look for: devices, routes and sockets beside its own, frames that are taken
away before its ruleset sees them (tc), the guest's own files, a policy that its
owner widened.
"""
import contextlib
import json
import os
import signal
import subprocess
import sys

from harness import shell
from harness.claims import claim, contains, equal, until
from harness.net import ip
from harness.vm import BOOT_S, VmWorld, store

GROUP = "nogroup"
MEMBER = 65533
HERE = os.path.dirname(os.path.abspath(__file__))
NS = "tapward-verified"
_world = {}


def world():
    if not _world:
        _world["w"] = VmWorld(group=GROUP)
    return _world["w"]


def machine():
    """A guest that goes on; most faults are planted in it."""
    w = world()
    if "machine" not in _world:
        w.cli("create", "verified", "--policy", w.policy, "--image", "default",
              timeout=BOOT_S).ok()
        _world["machine"] = True
        about(w)
    return w


def about(w):
    return json.loads(w.cli("show", "verified", "--json").ok().out)


def verify(w, *argv, before=()):
    """Runs it on the agent's host; {what was tried: row}."""
    got = shell.run(w.host.plain([*before, f"{w.tree}/bin/tapward", "--socket",
                                  w.socket, "verify", "--json", *argv]),
                    timeout=2 * BOOT_S, env=w.env)
    try:
        rows = {r["tried"]: r for r in json.loads(got.out)}
    except ValueError:
        raise AssertionError(repr(got)) from None
    failed = [t for t, r in rows.items() if r["pass"] is False]
    equal(got.code, 1 if failed else 0, repr(got))
    return rows


def failing(rows):
    return {t: r["found"] for t, r in rows.items() if r["pass"] is False}


def fails(what, found=""):
    """verify of the shared guest fails this row, and no other."""
    got = failing(verify(machine(), "verified"))
    equal(list(got), [what], repr(got))
    contains(got[what], found)
    return got[what]


@claim("every row holds in a fresh guest, which is gone then")
def _():
    w = world()
    rows = verify(w)
    equal(failing(rows), {})
    equal([t for t, r in rows.items() if r["pass"] is None], [])
    equal(w.cli("list").ok().out.count("verify-"), 0)
    w.gone()
    return f"{len(rows)} rows"


@claim("every row holds for an ordinary member of the group")
def _():
    w = world()
    os.chmod(store(), 0o755)
    rows = verify(w, before=["setpriv", f"--reuid={MEMBER}",
                             f"--regid={GROUP}", "--clear-groups"])
    equal(failing(rows), {})
    equal([t for t, r in rows.items() if r["pass"] is None],
          ["a log that goes with its sandbox"])
    w.gone()


@claim("a sandbox that is there is tried as it is: nothing that harms it")
def _():
    rows = verify(machine(), "verified")
    equal(failing(rows), {})
    skipped = {t for t, r in rows.items() if r["pass"] is None}
    assert "more memory than it has" in skipped, skipped
    assert "a write to the allowed host" in skipped, skipped
    assert all("not tried: " in rows[t]["found"] for t in skipped)
    equal(about(machine())["vm"]["state"], "ready")


@claim("without its machine, its owner or its name: told, and nothing tried")
def _():
    w = world()
    w.cli("create", "bare", "--policy", w.policy).ok()
    for name in ("bare", "nobody"):
        got = w.cli("verify", name)
        assert got.code == 1 and got.out == "", repr(got)
        assert got.err.startswith("tapward: "), repr(got)
    w.cli("rm", "bare").ok()
    equal(w.cli("list").ok().out.count("neighbour"), 0)


@claim("planted: a file of the host's secrets in the guest")
def _():
    w = machine()
    w.cli("exec", "verified", "--", "mkdir", "/etc/tapward").ok()
    try:
        return fails("secrets of this host", "there")
    finally:
        w.cli("exec", "verified", "--", "rmdir", "/etc/tapward").ok()


@claim("planted: the control socket in the guest")
def _():
    w = machine()
    folder = os.path.dirname(w.socket)
    w.cli("exec", "verified", "--", "sh", "-c",
          f"mkdir -p {folder} && touch {w.socket}").ok()
    try:
        return fails("the control socket", "there")
    finally:
        w.cli("exec", "verified", "--", "rm", w.socket).ok()


@claim("planted: a second interface in the sandbox's network")
def _():
    machine()
    ip("-n", NS, "link", "add", "second", "type", "veth", "peer", "name",
       "third")
    try:
        return fails("a second device in its network")
    finally:
        ip("-n", NS, "link", "del", "second")


@claim("planted: table main is given a route")
def _():
    machine()
    ip("-n", NS, "route", "add", "203.0.113.0/24", "via", "100.64.0.2")
    try:
        return fails("a route out of its network", "cb007100")
    finally:
        ip("-n", NS, "route", "del", "203.0.113.0/24")


@contextlib.contextmanager
def inside(*argv):
    """A program in the sandbox's network, once it has said "ready"."""
    process = subprocess.Popen(shell.in_net(NS, [sys.executable, *argv]),
                               stdout=subprocess.PIPE)
    try:
        equal(process.stdout.readline(), b"ready\n")
        yield
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


LISTENER = """
import socket, sys, time
s = socket.socket(type=getattr(socket, sys.argv[1]))
s.bind((sys.argv[2], 8080))
if s.type == socket.SOCK_STREAM:
    s.listen()
print("ready", flush=True)
time.sleep(600)
"""


@claim("planted: a service of the host is bound to the gateway's address")
def _():
    machine()
    with inside("-c", LISTENER, "SOCK_STREAM", "100.64.0.1"):
        return fails("a service in its network beside its gate", "port 8080")


@claim("planted: a socket of UDP waits in the sandbox's network")
def _():
    machine()
    with inside("-c", LISTENER, "SOCK_DGRAM", "0.0.0.0"):
        return fails("a service in its network beside its gate", "udp")


@contextlib.contextmanager
def taken_away(*match):
    """Frames that match go back to the guest before the ruleset sees them."""
    def tc(*argv):
        shell.run(["tc", "-n", NS, *argv]).ok()

    tc("qdisc", "add", "dev", "tap0", "clsact")
    try:
        tc("filter", "add", "dev", "tap0", "ingress", *match, "action",
           "mirred", "egress", "redirect", "dev", "tap0")
        yield
    finally:
        tc("qdisc", "del", "dev", "tap0", "clsact")


@claim("planted: what carries a VLAN tag is not dropped by the ruleset")
def _():
    machine()
    with taken_away("protocol", "802.1q", "u32", "match", "u32", "0", "0"):
        return fails("frames with a VLAN tag", "not dropped")


@claim("planted: fragments are not dropped by the ruleset")
def _():
    machine()
    with taken_away("protocol", "ip", "u32", "match", "u16", "0x2000", "0x2000",
                    "at", "6"):
        return fails("fragments", "not dropped")


@claim("planted: DNS is open, somebody else answers")
def _():
    machine()
    label = len("c2VjcmV0LWRhdGEtaW4tYS1sYWJlbA")
    with taken_away("protocol", "ip", "u32", "match", "ip", "protocol", "17",
                    "0xff", "match", "ip", "dport", "53", "0xffff", "match",
                    "u8", str(label), "0xff", "at", "40"), \
            inside(f"{HERE}/harness/rogue_dns.py", "tap0", str(label)):
        return fails("data in a DNS question", "203.0.113.7")


@claim("planted: the monitor runs as root (as the kernel would say it)")
def _():
    w = machine()
    pid = about(w)["vm"]["pid"]
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        monitor = f.read().split()[0]
    with open(f"/proc/{monitor}/status", encoding="ascii") as f:
        text = f.read()
    uid = text.split("\nUid:\t")[1].split("\n")[0]
    forged = w.file("status", text.replace(uid, "0\t0\t0\t0"))
    got = failing(verify(w, "verified", before=[
        "unshare", "-m", "sh", "-c",
        f'mount --bind {forged} /proc/{monitor}/status; exec "$@"', "sh"]))
    equal(list(got), ["a monitor with rights"], repr(got))
    contains(got["a monitor with rights"], f"process {monitor}")


def widened(w, name, more):
    return w.file(name, """[policy]
version = 1

[allow web]
host   = plain.example.com
scheme = http

[allow more]
scheme = http
""" + more)


@claim("planted: a host that is not approved is in the policy")
def _():
    w = machine()
    w.cli("reload", "verified", "--policy",
          widened(w, "wide.ini", "host = unapproved.example\n")).ok()
    try:
        return fails("an unapproved host, by name", "502")
    finally:
        w.cli("reload", "verified", "--policy", w.policy).ok()


@claim("planted: a policy that another sandbox has")
def _():
    w = machine()
    w.cli("reload", "verified", "--policy",
          widened(w, "wide.ini", "host = neighbour.verify.example\n")).ok()
    try:
        return fails("another sandbox", "502")
    finally:
        w.cli("reload", "verified", "--policy", w.policy).ok()


CREDENTIAL = """
[credential verify-revoked]
kind  = static
value = file:{file}
host  = verify.example
apply = bearer
strip = authorization
grant = verify-* user:root
"""


@claim("planted: it is not this host's network that verify is run in")
def _():
    w = machine()
    got = failing(verify(w, "verified", before=["unshare", "-n"]))
    equal(list(got), ["a sandbox in this host's own network"], repr(got))
    return got["a sandbox in this host's own network"]


WIDE = """[policy]
version = 1

[allow verify]
host = verify.example
port = 80, 8443
scheme = http
method = GET, PUT
path = /allowed/**, /refused/**
"""


def verify_names(w):
    return [s["name"] for s in json.loads(w.cli("list", "--json").ok().out)
            if s["name"].startswith("verify-") and "neighb" not in s["name"]]


@contextlib.contextmanager
def granted(w):
    """The host grants what it does not grant."""
    with open(w.config, encoding="ascii") as f:
        before = f.read()
    token = w.file("revoked", "canary-of-verify\n", 0o600)
    w.file("tapward.ini", before + CREDENTIAL.format(file=token))
    w.daemon.send_signal(signal.SIGHUP)
    try:
        yield
    finally:
        w.file("tapward.ini", before)
        w.daemon.send_signal(signal.SIGHUP)


@claim("planted: its own policy has a method, a path and a port more, and what is revoked is granted")
def _():
    w = world()
    with granted(w):
        widened_run(w)


def widened_run(w):
    wide = w.file("verify-wide.ini", WIDE)
    process = subprocess.Popen(
        w.host.plain([f"{w.tree}/bin/tapward", "--socket", w.socket, "verify",
                      "--json"]), env=w.env, stdout=subprocess.PIPE)
    try:
        until(lambda: verify_names(w), 30, "verify makes its sandbox")
        name = verify_names(w)[0]
        until(lambda: json.loads(w.cli("show", name, "--json").ok().out)["vm"],
              30, "it starts its machine")
        # It waits for its guest; meanwhile its policy is another.
        process.send_signal(signal.SIGSTOP)
        w.cli("reload", name, "--policy", wide).ok()
        process.send_signal(signal.SIGCONT)
        out, _ = process.communicate(timeout=2 * BOOT_S)
    finally:
        process.kill()
        process.wait()
    got = failing({r["tried"]: r for r in json.loads(out)})
    equal(sorted(got), ["a revoked credential", "a write to the allowed host",
                        "another path of the allowed host",
                        "another port of the allowed host"], repr(got))
    equal(process.returncode, 1)


@claim("a ruleset that somebody flushes is mended before a row sees it")
def _():
    w = machine()
    shell.run(shell.in_net(NS, ["nft", "flush", "ruleset"])).ok()
    equal(failing(verify(w, "verified")), {})


@claim("killed while it tries, it leaves no sandbox")
def _():
    w = world()
    process = subprocess.Popen(
        w.host.plain([f"{w.tree}/bin/tapward", "--socket", w.socket, "verify"]),
        env=w.env, stdout=subprocess.PIPE)
    equal(process.stdout.readline()[:4], b"pass")
    process.kill()
    process.wait()
    process.stdout.close()
    until(lambda: "verify-" not in w.cli("list").ok().out, 5,
          "both sandboxes end")


@claim("the world of verify ends and leaves nothing")
def _():
    w = world()
    w.close()
    equal(w.left(), [])
    _world.clear()
