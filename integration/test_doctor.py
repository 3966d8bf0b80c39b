"""doctor: every planted fault is found, and its mend named.

The plants are real: files with the wrong mode, file systems that are full,
devices that are not there. Those that would harm this machine are made in a
mount namespace that ends with the command.
"""
import json
import os
import socket
import threading

from harness import shell
from harness.claims import claim, contains, equal
from harness.world import World

NAMES = {"api.example.com": "10.201.0.10"}
CEILING = "[policy]\nversion = 1\n\n[allow api]\nhost = **.example.com\n"
CREDENTIAL = """
[credential api]
kind = static
value = file:{}
host = api.example.com
apply = bearer
grant = *
"""
HELPER = """
[credential helper]
kind = exec
command = {}
host = api.example.com
apply = bearer
grant = *
"""
_world = {}


def world():
    if "w" not in _world:
        w = _world["w"] = World(NAMES, ceiling=CEILING, group="users")
        with open(w.config, encoding="utf-8") as f:
            _world["text"] = f.read()
    return _world["w"]


def other(name, old="", new="", more=""):
    """The world's configuration with something else in it."""
    text = _world["text"]
    assert old in text, old
    return world().file(name, text.replace(old, new, 1) + more)


def doctor(config=None, at=None, plant="true", users=False):
    """Rows and status of doctor, after the shell commands of plant, in a mount
    namespace of its own, as the daemon's host sees it."""
    w = world()
    code = (f"{plant}; exec {w.tree}/bin/tapward --socket {at or w.socket} "
            f"doctor --config {config or w.config} --json")
    own = ["-U", "-r"] if users else []
    got = shell.run(shell.in_net(w.host.name, [
        "unshare", *own, "-m", "sh", "-ec", code]))
    return json.loads(got.out or repr(got)), got.code


def finds(row, level, mend, **how):
    """It says so of the plant, and not without it."""
    is_it = lambda r: (r["row"] == row and r["level"] == level
                       and mend in (r["mend"] or ""))
    rows, code = doctor(**how)
    if not any(map(is_it, rows)):
        raise AssertionError(f"no row {row} {level} with {mend!r} among "
                             + json.dumps(rows, indent=1))
    equal(code, 1 if any(r["level"] == "FAIL" for r in rows) else 0)
    if "well" not in _world:
        _world["well"] = doctor()[0]
    equal([r for r in _world["well"] if is_it(r)], [], "of a host without it")


class Daemon:
    """Says of itself what it is told to."""

    def __init__(self, path, **said):
        self.status = json.dumps({
            "version": "0.1.0", "started": "2026-01-01T00:00:00.000Z",
            "pid": 1, "pool_ready": 1, "pool_size": 1, "audit_can_write": True,
            "credential_fault": None, "processes": [], **said}).encode()
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            with peer:
                while b"\r\n\r\n" not in peer.recv(65536):
                    pass
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json"
                             b"\r\nContent-Length: %d\r\n\r\n%s"
                             % (len(self.status), self.status))

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()
        os.unlink(self.path)


def over(path, text):
    """A shell command that puts text in the place of the file at path."""
    source = world().file("over-" + os.path.basename(path), text)
    return f"mount --bind {source} {path}"


@claim("doctor: a host that works has nothing to mend, as JSON and as text")
def _():
    w = world()
    rows, code = doctor()
    equal([r for r in rows if r["level"] == "FAIL"], [])
    equal(code, 0)
    _world["well"] = rows
    got = shell.run(shell.in_net(w.host.name, [
        f"{w.tree}/bin/tapward", "--socket", w.socket, "doctor", "--config",
        w.config]))
    contains(got.ok().out, "kernel")
    contains(got.out, "0 to mend")
    return f"{len(rows)} rows"


@claim("doctor: faults of the configuration are found, each with its mend")
def _():
    w = world()
    finds("configuration", "FAIL", "install -D -m 644", config=f"{w.folder}/no.ini")
    finds("configuration", "FAIL", "tapward check",
          config=other("broken.ini", "[network]", "[nonsense]"))
    writable = other("writable.ini")
    os.chmod(writable, 0o666)
    finds("configuration", "FAIL", f"chmod 0644 {writable}", config=writable)
    foreign = other("foreign.ini")
    os.chown(foreign, 12345, 0)
    finds("configuration", "FAIL", f"chown root {foreign}", config=foreign)
    finds("group", "FAIL", "groupadd --system nobodies",
          config=other("group.ini", "group = users", "group = nobodies"))
    finds("uid-range", "FAIL", "uid-range = FIRST-LAST", plant=over(
        "/etc/passwd", "root:x:0:0::/:/bin/sh\n"
        f"eve:x:{w.uid_first + 9}:0::/:/bin/sh\n"))
    finds("uid-range", "FAIL", "/etc/subuid", plant=over(
        "/etc/subuid", f"eve:{w.uid_first - 10}:11\n"))
    finds("metrics", "warn", "metrics-listen = 127.0.0.1", config=other(
        "metrics.ini", "[network]", "metrics-listen = 0.0.0.0:9464\n[network]"))


@claim("doctor: ceilings and secrets that are missing, broken or open are found")
def _():
    w = world()
    ceiling = f"policy = {w.folder}/ceiling.ini"
    finds("ceiling", "warn", "[ceiling] policy =",
          config=other("none.ini", ceiling, "policy = none"))
    finds("ceiling", "FAIL", "tapward check", config=other(
        "ceiling-broken.ini", ceiling, "policy = " + w.file(
            "broken-ceiling.ini", "[allow x]\nhots = a.example.com\n")))
    secret = w.file("secret", "s3cr3t\n")
    finds("credentials", "FAIL", f"chmod 0600 {secret}",
          config=other("open.ini", more=CREDENTIAL.format(secret)))
    finds("credentials", "FAIL", f"install -m 600 /dev/stdin {w.folder}/nothing",
          config=other("gone.ini", more=CREDENTIAL.format(f"{w.folder}/nothing")))
    finds("credentials", "FAIL", "command = /PROGRAM",
          config=other("helper.ini", more=HELPER.format("/nothing/there --now")))


@claim("doctor: open folders and logs, a rotation that cuts, a full disk, no CA store")
def _():
    w = world()
    state, log = f"{w.folder}/state", f"{w.folder}/log"
    finds("folders", "FAIL", f"chmod 0700 {state}", plant=(
        f"mount -t tmpfs -o mode=755 none {state}"))
    finds("audit log", "FAIL", f"chmod 0640 {log}/audit.jsonl", plant=(
        f"mount -t tmpfs -o mode=750 none {log}; touch {log}/audit.jsonl; "
        f"chmod 644 {log}/audit.jsonl"))
    finds("log rotation", "FAIL", "no copytruncate", plant=(
        "mount -t tmpfs none /etc/logrotate.d; "
        f"echo '{log}/*.jsonl {{ copytruncate }}' >/etc/logrotate.d/mine"))
    finds("disk space", "FAIL", f"make room on the file system of {log}", plant=(
        f"mount -t tmpfs -o mode=750,size=1m none {log}"))
    finds("CA store", "FAIL", "apt-get install ca-certificates", config=other(
        "ca.ini", w.authority.ca, w.file("empty.pem", "")))
    ahead = other("ahead.ini")
    os.utime(ahead, (os.stat(ahead).st_mtime + 172800,) * 2)
    finds("clock", "FAIL", "timedatectl set-ntp true", config=ahead)


@claim("doctor: a kernel without tun, namespaces, cgroups or KVM is found")
def _():
    w = world()
    finds("tun", "FAIL", "modprobe tun", plant="mount -t tmpfs none /dev/net")
    finds("kernel", "FAIL", "see row tun", plant="mount -t tmpfs none /dev/net")
    finds("kernel", "FAIL", "sysctl -w user.max_net_namespaces", users=True,
          plant="echo 0 >/proc/sys/user/max_net_namespaces")
    finds("cgroups", "warn", "mount -t cgroup2",
          plant="umount -R -l /sys/fs/cgroup")
    if os.path.exists("/dev/kvm"):  # else it is found without a plant
        finds("kvm", "warn", "accelerator = tcg",
              plant="mount --bind /dev/null /dev/kvm")
    finds("programs", "FAIL", "apt-get install --reinstall tapward",
          plant=over(f"{w.tree}/libexec/tapward/tapward-gate", ""))


@claim("doctor: a resolver that is silent or missing, and a firewall that lets nothing out")
def _():
    w = world()
    finds("resolver", "FAIL", "[upstream] resolver = ADDRESS", config=other(
        "resolver.ini", "resolver = ", "resolver = 127.0.0.1:5399\n;"))
    finds("resolver", "FAIL", "[upstream] resolver = ADDRESS", config=other(
        "unsaid.ini", "resolver = ", ";"), plant=over("/etc/resolv.conf", "\n"))
    nft = lambda *words: shell.run(shell.in_net(w.host.name, ["nft", *words])).ok()
    nft("add table inet wall")
    try:
        nft("add chain inet wall out { type filter hook output priority 0; "
            "policy drop; }")
        mend = (f"nft insert rule inet wall out meta skuid {w.uid_first + 1}-"
                f"{w.uid_first + 2} accept")
        finds("firewall", "warn", mend)
        finds("resolver", "FAIL", "see row firewall")
        # and what it says mends it
        nft(*mend.split()[1:])
        rows, _ = doctor()
        equal([r["level"] for r in rows if r["row"] == "resolver"], ["ok"])
    finally:
        nft("delete table inet wall")


@claim("doctor: a daemon that is down, old, or in trouble, and a socket that is open to all")
def _():
    w = world()
    at = f"{w.folder}/said.sock"
    finds("service", "FAIL", "systemctl start tapward", at=at)
    for row, mend, said in (
            ("version", "systemctl restart tapward", {"version": "0.0.9"}),
            ("health", "make room", {"audit_can_write": False}),
            ("health", "tapward reload --host", {"credential_fault": "x: gone"}),
            ("processes", "journalctl -u tapward",
             {"processes": [{"role": "dialler", "pid": 0, "restarts": 1}]})):
        with Daemon(at, **said):
            finds(row, "FAIL", mend, at=at)
    os.chmod(w.socket, 0o666)
    try:
        finds("control socket", "FAIL", f"chmod 0660 {w.socket}")
    finally:
        os.chmod(w.socket, 0o660)


@claim("doctor: another user reads what root must look at, and nothing fails for that")
def _():
    w = world()
    got = shell.run(shell.in_net(w.host.name, [
        "setpriv", "--reuid", "12345", "--regid", "100", "--clear-groups",
        f"{w.tree}/bin/tapward", "--socket", w.socket, "doctor", "--config",
        w.config, "--json"]))
    rows = json.loads(got.out)
    equal([r for r in rows if r["level"] == "FAIL"], [])
    contains(json.dumps(rows), "sudo tapward doctor")
