"""A gate that was taken over reaches what its policy names, and no more.

hostile_gate.c stands in for tapward-gate in a copy of the installed tree. The
sandboxes named hostile-* have a gate that does what their guest says; the
others have the gate as it is, and must not notice.
"""
import json
import os
import re
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import time

from harness import memory, shell
from harness.claims import claim, contains, equal, lacks, until
from harness.origins import Nginx, RawOrigin
from harness.steady import Steady
from harness.taken import (Died, Taken, audit_body, dial_body, lease_body,
                           packet, str16)
from harness.world import BUILD, TREE, World

NAMES = {
    "open.example.com": "10.201.0.10",
    "plain.example.com": "10.201.0.10",
    "other.example.com": "10.201.0.11",
    "third.example.com": "10.201.0.10",
    "loop.example.com": "127.0.0.1",
    "short.example.com": "10.201.0.12",
    "evil.example.com": "10.201.0.66",
}

POLICY = """\
[policy]
version = 1

[allow open]
host       = open.example.com
method     = GET, HEAD
path       = /v1/**
credential = shared

[allow third]
host       = third.example.com
credential = foreign

[allow plain]
host   = plain.example.com, short.example.com
port   = 80
scheme = http

[allow loop]
host = loop.example.com
"""

NARROW = """\
[policy]
version = 1

[allow third]
host = third.example.com
"""

VICTIM = """\
[policy]
version = 1

[allow other]
host       = other.example.com
credential = vault
"""

CREDENTIALS = """
[credential shared]
kind   = static
value  = file:{folder}/shared
host   = open.example.com
apply  = bearer
method = GET, HEAD
path   = /v1/**
grant  = hostile-* user:root

[credential spare]
kind   = static
value  = file:{folder}/spare
host   = open.example.com
apply  = header:x-spare
grant  = hostile-* user:root

[credential foreign]
kind   = static
value  = file:{folder}/foreign
host   = third.example.com
apply  = bearer
grant  = ci-* user:root

[credential vault]
kind   = static
value  = file:{folder}/vault
host   = other.example.com
apply  = header:x-token
grant  = victim-* user:root
"""

SHARED = "shared-" + secrets.token_hex(16)
# What no byte of may come to the hostile gate.
KEPT = {name: f"{name}-" + secrets.token_hex(16)
        for name in ("spare", "foreign", "vault")}
SERVICES = ("dialler", "broker", "recorder", "api")

_world = {}


def tree_with_hostile_gate(folder):
    """A copy of the installation, with the stand-in where its gate was."""
    tree = f"{folder}/tree"
    shutil.copytree(TREE, tree, symlinks=True)
    gate = f"{tree}/libexec/tapward/tapward-gate"
    os.unlink(gate)
    shutil.copy2(f"{BUILD}/integration/hostile_gate", gate)
    return tree


class Wire:
    """What leaves the host: everything that its uplink carries."""

    KNOWN = {"10.201.0.10", "10.201.0.11", "10.201.0.12", "10.201.0.53", "10.201.0.1"}

    def __init__(self, w):
        self.path = f"{w.folder}/uplink.pcap"
        self.process = subprocess.Popen(
            w.host.plain(["tcpdump", "-U", "--immediate-mode", "-i", "uplink", "-w",
                          self.path]), stderr=subprocess.DEVNULL)
        until(lambda: os.path.exists(self.path)
              and os.path.getsize(self.path) > 0, 10, "tcpdump captures")

    def targets(self):
        """(addresses asked for or sent to, TCP ports dialled)."""
        text = shell.run(["tcpdump", "-nn", "-r", self.path,
                          "arp or src host 10.201.0.1"]).out
        addresses = set(re.findall(r"who-has ([\d.]+)", text))
        to = re.findall(r"IP [\d.]+ > (\d+\.\d+\.\d+\.\d+)(?:\.(\d+))?: (.*)",
                        text)
        addresses |= {row[0] for row in to}
        return addresses, {(row[0], int(row[1])) for row in to
                           if row[2].startswith("Flags [S]")}

    def close(self):
        shell.stop(self.process)


def world():
    if not _world:
        w = World(NAMES, start=False)
        w.tree = tree_with_hostile_gate(w.folder)
        for name, value in {"shared": SHARED, **KEPT}.items():
            w.file(name, value + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(CREDENTIALS.format(folder=w.folder))
        # So that a packet to anywhere would be seen, and not fail for want
        # of a route.
        shell.run(["ip", "-n", w.host.name, "route", "add", "default", "dev",
                   "uplink"]).ok()
        cert, key = w.authority.issue(*NAMES)
        w.own(Nginx(w.net, f"{w.folder}/nginx", f"""
          server {{ listen 10.201.0.10:443 ssl; listen 10.201.0.11:443 ssl;
            listen 10.201.0.10:80; listen 10.201.0.10:8443 ssl;
            ssl_certificate {cert}; ssl_certificate_key {key};
            location / {{ return 200 "origin $uri\\n"; }} }}"""))
        evil = [w.own(RawOrigin(w.net, "10.201.0.66", port,
                                lambda peer, record: None))
                for port in (22, 53, 80, 443)]
        w.own(RawOrigin(w.net, "10.201.0.12", 80, reset))
        wire = w.own(Wire(w))
        w.start()
        _world.update(w=w, evil=evil, wire=wire,
                      victim=w.sandbox(VICTIM, f"victim-{w.id}"))
        hostile = w.sandbox(POLICY, f"hostile-{w.id}")
        _world["taken"] = w.own(Taken(w, hostile))
    return _world["w"], _world["taken"], _world["victim"]


def reset(peer, _):
    """Ends it without a word."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack("=ii", 1, 0))


def status(w):
    return json.loads(w.cli("status", "--json").ok().out)


def service_pids(w):
    pids = {p["role"]: p["pid"] for p in status(w)["processes"]}
    return {role: pids[role] for role in SERVICES}


def gate_pid(w, s):
    return json.loads(w.cli("show", s.name, "--json").ok().out)["gate_pid"]


class Hostile:
    """Sandboxes with a gate to spend, each there from with to its end."""

    count = 0

    def __enter__(self):
        Hostile.count += 1
        w, _, _ = world()
        self.taken = Taken(w, w.sandbox(POLICY, f"hostile-{w.id}-{Hostile.count}"))
        return self.taken

    def __exit__(self, kind, value, trace):
        _world["taken"].received += self.taken.received
        self.taken.close()
        self.taken.s.rm().ok()
        self.taken.s.guest.close()


def victim_works(victim):
    got = victim.curl("https://other.example.com/x")
    equal(got.out, "origin /x\n", repr(got))


def nothing_reached():
    """Of all that it tried: nothing was looked up, dialled or learned."""
    w, taken, _ = world()
    asked = set(w.resolver.queries())
    allowed = set(NAMES) - {"evil.example.com"}
    assert asked <= allowed, f"names that were looked up: {asked - allowed}"
    for origin in _world["evil"]:
        equal(len(origin.seen), 0, "connections to the origin nobody allowed")
    addresses, dialled = _world["wire"].targets()
    assert addresses <= Wire.KNOWN, f"addresses on the wire: {addresses}"
    allowed = {("10.201.0.10", 443), ("10.201.0.10", 80),
               ("10.201.0.11", 443), ("10.201.0.12", 80)}
    assert dialled <= allowed, f"connections: {dialled - allowed}"
    for name, value in KEPT.items():
        lacks(bytes(taken.received), value.encode(), f"secret {name}")


@claim("a taken gate is confined as the gate is, and what its policy allows works in it")
def _():
    w, taken, victim = world()
    pid = taken.pid()
    equal(pid, gate_pid(w, taken.s), "the process that answers")
    reason, fd = taken.dial("plain.example.com", 80, "http")
    equal(reason, "")
    request = b"GET /v1/x HTTP/1.0\r\nHost: plain.example.com\r\n\r\n"
    taken.call("write", fd, request, len(request))
    def answer():
        rc, data = taken.call("read", fd, "b:512", 512)
        return data.rstrip(b"\0") if rc.isdigit() else None
    contains(until(answer, 5, "the origin's answer"), b"origin /v1/x")
    reason, body = taken.lease("shared", "open.example.com", path="/v1/x")
    equal(reason, "")
    contains(body, SHARED.encode(), "the lease that it was granted")
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        said = f.read()
    for line in ("NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000",
                 "CapBnd:\t0000000000000000", "Groups:\t \n"):
        contains(said, line)
    contains(os.readlink(f"/proc/{pid}/root"), f"{w.folder}/run")
    victim_works(victim)


# host, port, scheme; the first are shaped as an honest gate would
REFUSED_DIALS = [
    ("evil.example.com", 443, "https"),
    ("other.example.com", 443, "https"),  # the other sandbox's
    ("www.open.example.com", 443, "https"),
    ("example.com", 443, "https"),
    ("open.example.com.evil.example.com", 443, "https"),
    ("open.example.com", 80, "http"),
    ("open.example.com", 443, "tcp"),     # to speak past TLS
    ("open.example.com", 443, "http"),
    ("open.example.com", 8443, "https"),
    ("open.example.com", 22, "tcp"),
    ("plain.example.com", 80, "tcp"),
    ("plain.example.com", 80, "https"),
    ("plain.example.com", 443, "https"),
    ("loop.example.com", 443, "https"),   # allowed, and not its to have
    ("localhost", 443, "https"),
    ("foo.localhost", 443, "https"),
    ("metadata", 80, "http"),
]

ODD_DIALS = [
    (b"open.example.com\0.evil.example.com", 443, 0),
    (b"evil.example.com\0", 443, 0),
    (b"open.example.com.", 443, 0),
    (b"OPEN.example.com", 443, 0),
    (b"open.example.com:443", 443, 0),
    (b"open.example.com@evil.example.com", 443, 0),
    (b"evil.example.com/open.example.com", 443, 0),
    (b"open..example.com", 443, 0),
    (b"-open.example.com", 443, 0),
    (b"op\xe9n.example.com", 443, 0),
    (b"open.example.com\r\nx", 443, 0),
    (b"", 443, 0),
    (b"a" * 64 + b".example.com", 443, 0),
    (b"a." * 127 + b"example.com", 443, 0),
    (b"10.201.0.66", 443, 0),
    (b"10.201.0.10", 443, 0),
    (b"2130706433", 443, 0),
    (b"0x7f.1", 443, 0),
    (b"127.1", 443, 0),
    (b"169.254.169.254", 80, 1),
    (b"[::1]", 443, 0),
    (b"::1", 443, 0),
    (b"open.example.com", 0, 0),
    (b"open.example.com", 443, 3),
    (b"open.example.com", 443, 255),
]


@claim("dials that its policy does not name: refused, nothing asked, nothing sent")
def _():
    w, taken, victim = world()
    for host, port, scheme in REFUSED_DIALS:
        got = taken.dial(host, port, scheme)
        assert got is not None, f"{host}:{port} {scheme} cost it the channel"
        assert got[0] and got[1] is None, f"{host}:{port} {scheme}: {got}"
    # Its own say is not needed: whom it asked for is in the log.
    w.audited(taken.s.name, event="connect", host="evil.example.com",
              verdict="deny", reason="no-rule")
    w.audited(taken.s.name, event="connect", host="loop.example.com",
              verdict="deny", reason="private-address")
    nothing_reached()
    victim_works(victim)
    return f"{len(REFUSED_DIALS)} dials"


@claim("dials that no honest gate writes cost it the channel, and reach nothing")
def _():
    w, _, victim = world()
    before = service_pids(w)
    lost = 0
    for host, port, scheme in ODD_DIALS:
        with Hostile() as other:
            got = other.dial(host, port, scheme)
            assert got is None or (got[0] and got[1] is None), \
                f"{host}:{port} {scheme}: {got}"
            if got is None:
                lost += 1
                pid = other.pid()
                os.kill(pid, signal.SIGKILL)
                other.renewed(pid)
                equal(other.dial("plain.example.com", 80, "http")[0], "")
    nothing_reached()
    equal(service_pids(w), before, "the services")
    victim_works(victim)
    return f"{len(ODD_DIALS)} dials, {lost} of them lost it the channel"


# credential, host, and what else is wrong
REFUSED_LEASES = [
    ("spare", "open.example.com", {"path": "/v1/x"}),    # not named
    ("foreign", "third.example.com", {}),                # not granted
    ("vault", "other.example.com", {}),                  # another's
    ("vault", "open.example.com", {"path": "/v1/x"}),
    ("nobody", "open.example.com", {"path": "/v1/x"}),
    ("shared", "other.example.com", {"path": "/v1/x"}),
    ("shared", "evil.example.com", {"path": "/v1/x"}),
    ("shared", "third.example.com", {"path": "/v1/x"}),
    ("shared", "open.example.com", {"port": 8443, "path": "/v1/x"}),
    ("shared", "open.example.com", {"port": 80, "scheme": 1, "path": "/v1/x"}),
    ("shared", "open.example.com", {"scheme": 1, "path": "/v1/x"}),
    ("shared", "open.example.com", {"scheme": 2, "path": "/v1/x"}),
    ("shared", "open.example.com", {"method": "POST", "path": "/v1/x"}),
    ("shared", "open.example.com", {"method": "get", "path": "/v1/x"}),
    ("shared", "open.example.com", {"method": "TRACE", "path": "/v1/x"}),
    ("shared", "open.example.com", {"path": "/v2/x"}),
    ("shared", "open.example.com", {"path": "/"}),
    ("shared", "open.example.com", {"path": "/v1/../v2/x"}),
    ("shared", "open.example.com", {"path": "/v1/%2e%2e/v2/x"}),
    ("shared", "open.example.com", {"path": "//v1/x"}),
    ("shared", "open.example.com", {"path": b"/v1/\0x"}),
    ("shared", "open.example.com", {"path": ""}),
    ("shared", "open.example.com", {"path": "/v2", "query": "/v1/x"}),
]

ODD_LEASES = [
    ("", "open.example.com", {}),
    (b"shared\0", "open.example.com", {}),
    ("shared", "OPEN.example.com", {"path": "/v1/x"}),
    ("shared", b"open.example.com\0.evil.example.com", {"path": "/v1/x"}),
    ("shared", "10.201.0.10", {"path": "/v1/x"}),
    ("shared", "open.example.com", {"port": 0, "path": "/v1/x"}),
    ("shared", "open.example.com", {"scheme": 7, "path": "/v1/x"}),
    ("shared", "open.example.com", {"method": "", "path": "/v1/x"}),
    ("shared", "open.example.com", {"method": "G" * 64, "path": "/v1/x"}),
    ("shared", "open.example.com", {"path": "/v1/" + "x" * 8190}),
    ("shared", "open.example.com", {"path": "/v1/x", "query": "q" * 4097}),
    ("s" * 64, "open.example.com", {"path": "/v1/x"}),
]


@claim("leases that it was not granted, or for other than they are for: refused")
def _():
    w, taken, victim = world()
    for credential, host, more in REFUSED_LEASES:
        got = taken.lease(credential, host, **more)
        assert got is not None, f"{credential} {host} {more}: channel lost"
        assert got[0] and len(got[1]) == 1, f"{credential} {host} {more}: {got}"
    for credential, host, more in ODD_LEASES:
        with Hostile() as other:
            got = other.lease(credential, host, **more)
            assert got is None or (got[0] and len(got[1]) == 1), \
                f"{credential} {host} {more}: {got}"
    w.audited(taken.s.name, event="lease", verdict="deny", credential="vault",
              reason="credential-misuse")
    nothing_reached()
    victim_works(victim)
    return f"{len(REFUSED_LEASES) + len(ODD_LEASES)} requests"


def about(w, s):
    """Whom a message of the supervisor's is about."""
    shown = json.loads(w.cli("show", s.name, "--json").ok().out)
    return str16(s.name) + struct.pack(">Q", shown["generation"])


def bad_packets(which, victim):
    """Of which none is one that a gate may send there."""
    good = {"dialler": ("MSG_DIAL", dial_body("open.example.com", 443, 0)),
            "broker": ("MSG_LEASE_REQUEST",
                       lease_body("shared", "open.example.com", path="/v1/x")),
            "recorder": ("MSG_AUDIT", audit_body("connect")),
            "supervisor": ("MSG_GATE_POLICY_ACK", str16("0" * 64))}[which]
    kind, body = good
    rows = [
        (b"", 0), (b"\1", 0), (b"\1\0\0\x10\0\0\0", 0),
        (packet(kind, 7, body, version=2), 0),
        (packet(kind, 7, body + b"x"), 0),
        (packet(kind, 7, body[:-1]), 0),
        (packet(kind, 7, body, fds=1), 0),
        (packet(kind, 7, body), 1),
        (packet(kind, 7, body, fds=1), 1),
        (packet(kind, 7, body, fds=16), 16),
        (packet(kind, 7, body, fds=60), 60),
        (packet(kind, 7, body + b"x" * 20000), 0),
        (packet(kind, 7, b"\xff" * 200000), 0),
        (packet(0, 7), 0), (packet(65535, 7), 0), (packet(kind, 7), 0),
    ]
    if which != "recorder":
        rows.append((packet(kind, 7, b"\xff" * len(body)), 0))
    others = {"MSG_DIAL", "MSG_DIAL_CANCEL", "MSG_LEASE_REQUEST", "MSG_AUDIT",
              "MSG_GATE_POLICY_ACK", "MSG_GATE_STATUS_ANSWER",
              "MSG_HELLO", "MSG_GATE_READY"}
    mine = {"dialler": {"MSG_DIAL", "MSG_DIAL_CANCEL"},
            "broker": {"MSG_LEASE_REQUEST"}, "recorder": {"MSG_AUDIT"},
            "supervisor": {"MSG_HELLO", "MSG_GATE_READY",
                           "MSG_GATE_POLICY_ACK", "MSG_GATE_STATUS_ANSWER"}}
    # Words of the supervisor, of other services, of the api.
    for kind in sorted(others - mine[which]):
        rows.append((packet(kind, 7), 0))
    for kind, fds in (("MSG_DIALLER_CONFIG", 0), ("MSG_DIALLER_ATTACH", 3),
                      ("MSG_DIALLER_DETACH", 0), ("MSG_BROKER_ATTACH", 3),
                      ("MSG_BROKER_CREDENTIAL", 1), ("MSG_BROKER_DETACH", 0),
                      ("MSG_RECORDER_LOG", 1), ("MSG_RECORDER_DETACH", 0),
                      ("MSG_RECORDER_READ", 1), ("MSG_RECORDER_ATTACH", 1),
                      ("MSG_API_REQUEST", 0), ("MSG_GATE_START", 6),
                      ("MSG_GATE_SOCKETS", 5), ("MSG_CA_MADE", 2)):
        rows.append((packet(kind, 7, victim + b"\0", fds=fds), fds))
    return rows


def costs_the_channel(which, data, fds=0):
    """A gate that sends it is cut off by which, or ended by the supervisor."""
    with Hostile() as taken:
        before = taken.pid()
        try:
            word = taken.send(which, data, fds)
            assert word in ("0", "EPIPE", "ECONNRESET"), f"{which}: {word}"
        except Died:
            equal(which, "supervisor", "who ends the gate itself")
        if which == "supervisor":
            taken.renewed(before, 10)
        else:
            until(lambda: not taken.drain(which), 10,
                  f"the channel to the {which} ends after "
                  f"{data[:40].hex()} with {fds} descriptors")
            equal(taken.pid(), before, "the gate")


@claim("packets that are not its to send cost it the channel, and nobody else anything")
def _():
    w, taken, victim = world()
    pids = service_pids(w)
    open_before = {role: memory.fds(pid) for role, pid in pids.items()}
    open_before["tapwardd"] = memory.fds(w.daemon.pid)
    restarts = gate_pid(w, victim)
    count = 0
    for which in ("dialler", "broker", "recorder", "supervisor"):
        for data, fds in bad_packets(which, about(w, victim)):
            costs_the_channel(which, data, fds)
            count += 1
        victim_works(victim)
    equal(service_pids(w), pids, "the services")
    equal(gate_pid(w, victim), restarts, "the other sandbox's gate")
    pids["tapwardd"] = w.daemon.pid
    for role, pid in pids.items():
        until(lambda: memory.fds(pid) <= open_before[role] + 2, 10,
              f"descriptors of {role}: {memory.fds(pid)}, before "
              f"{open_before[role]}")
    nothing_reached()
    return f"{count} packets"


@claim("what it writes down stands under its own name; what it may not say ends its channel")
def _():
    w, taken, victim = world()
    forged = (f'","sandbox":"{victim.name}","event":"lifecycle","x":"\n'
              '{"seq":1}\x1b[')
    for host in (forged, victim.name, 'a"b\\c'):
        equal(taken.send("recorder", packet("MSG_AUDIT", 0, audit_body(
            "request", verdict=2, reason="", host=host, detail=forged,
            path=forged.encode() + b"\xff\0", method="GET"))), "0")
    record = until(lambda: w.audit(taken.s.name, event="request"), 5,
                   "its record is in the log")[0]
    equal(record["generation"], json.loads(
        w.cli("show", taken.s.name, "--json").ok().out)["generation"])
    for name in ("event", "sandbox"):
        equal([r for r in w.audit(victim.name, event="request")
               if "seq" in str(r.get("host"))], [], name)
    with open(f"{w.folder}/log/audit.jsonl", "rb") as f:
        text = f.read()
    assert all(c == 10 or 32 <= c <= 126 for c in text), "printable ASCII"
    count = len(w.audit(victim.name))
    # Life cycles are the supervisor's; so is who a record is about.
    other = about(w, victim) + str16("")
    for kind, body in (
            ("MSG_AUDIT", audit_body("lifecycle", detail="forged", reason="")),
            ("MSG_RECORDER_EVENT", other + audit_body("connect")),
            ("MSG_RECORDER_POLICY", other), ("MSG_RECORDER_DETACH", other)):
        costs_the_channel("recorder", packet(kind, 0, body))
    equal(len(w.audit(victim.name)), count, "records of the other sandbox")
    said = [r["detail"] for r in w.audit(event="lifecycle")
            if r["sandbox"].startswith("hostile")]
    lacks(said, "forged")
    contains(w.cli("log", "--verify").ok().out, "unbroken")


SOCK = (socket.AF_INET, socket.SOCK_STREAM, 0)
# Each would be a step out, and ends the process.
FORBIDDEN = [
    ("socket", *SOCK), ("socketpair", 1, 1, 0, "b:8"),
    ("connect", 3, b"\2\0\1\xbb\x0a\xc9\0\x42" + b"\0" * 8, 16),
    ("bind", 3, b"\2\0\1\xbb" + b"\0" * 12, 16), ("listen", 3, 5),
    ("open", b"/etc/passwd", 0), ("openat", -100, b"/dev/urandom", 0),
    ("openat2", -100, b"/", "b:24", 24), ("creat", b"/x", 0o644),
    ("execve", b"/bin/sh", 0, 0), ("execveat", 0, b"", 0, 0, 0x1000),
    ("fork",), ("clone", 17, 0), ("clone3", "b:88", 88), ("vfork",),
    ("ptrace", 16, 1, 0, 0), ("kill", 1, 9), ("tgkill", 1, 1, 9),
    ("tkill", 1, 9), ("pidfd_open", 1, 0), ("process_vm_readv", 1, 0, 0, 0, 0, 0),
    ("setuid", 0), ("prctl", 4, 1), ("seccomp", 0, 0, 0), ("chroot", b"/"),
    ("setns", 3, 0), ("unshare", 0x10000000), ("mount", 0, b"/", 0, 0, 0),
    ("memfd_create", b"x", 0), ("bpf", 0, 0, 0), ("userfaultfd", 0),
    ("io_uring_setup", 8, "b:128"), ("perf_event_open", "b:128", 0, -1, -1, 0),
    ("keyctl", 0, 0), ("open_by_handle_at", 3, "b:16", 0),
    ("ioctl", 0, 0x5401, 0), ("fcntl", 0, 1031, 1 << 20), ("dup2", 0, 9),
    ("mmap", 0, 4096, 7, 0x22, -1, 0), ("mprotect", 4096, 4096, 4),
    ("sendto", 3, b"x", 1, 0x20000000, b"\2\0\1\xbb\x0a\xc9\0\x42", 16),
    ("sendmsg", 3, "b:56", 0x20000000),
    ("0x40000029", *SOCK),  # the same call by the x32 ABI
    ("call32", 102, 1, 0, 0),
]


@claim("system calls that the gate has no need of end it, and it is replaced")
def _():
    w, _, victim = world()
    gate = gate_pid(w, victim)
    took = []
    for name, *args in FORBIDDEN:
        with Hostile() as taken:
            before = taken.pid()
            began = time.monotonic()
            try:
                got = taken.ask(name, *args) if name == "call32" \
                    else taken.call(name, *args)
                raise AssertionError(f"{name} {args}: {got}, and it lives")
            except Died:
                taken.renewed(before)
            took.append(time.monotonic() - began)
            taken.s.audited(event="lifecycle", reason="gate-restart")
    equal(gate_pid(w, victim), gate, "the other sandbox's gate")
    victim_works(victim)
    nothing_reached()
    return (f"{len(FORBIDDEN)} calls, a gate again after "
            f"{sorted(took)[len(took) // 2] * 1000:.0f} ms")


def sockaddr(address, port):
    return struct.pack("=H", socket.AF_INET) + struct.pack(">H", port) + \
        socket.inet_aton(address) + b"\0" * 8


def sockets_of(taken, pid):
    """Its internet sockets: {descriptor}."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        if os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:"):
            rc, room = taken.call("getsockopt", fd, socket.SOL_SOCKET, 39,
                                  "b:4", struct.pack("=I", 4))
            if rc == "0" and struct.unpack("=I", room)[0] == socket.AF_INET:
                found.add(int(fd))
    return found


# A flag by which sendto() and sendmsg() connect a TCP socket.
MSG_FASTOPEN = 0x20000000
QUERY = b"\1\1\1\0\0\1\0\0\0\0\0\0\4evil\7example\3com\0\0\1\0\1"


@claim("calls that the gate needs do not turn its sockets elsewhere")
def _():
    w, taken, victim = world()
    pid = taken.pid()
    reason, dialled = taken.dial("plain.example.com", 80, "http")
    equal(reason, "")
    own = sockets_of(taken, pid)
    assert dialled in own and len(own) >= 6, own
    for fd in sorted(own):
        for to in (sockaddr("10.201.0.66", 443), sockaddr("10.201.0.53", 53),
                   b"\0" * 16, sockaddr("10.201.0.66", 443)):
            taken.call("sendto", fd, QUERY, len(QUERY), socket.MSG_DONTWAIT,
                       to, 16)
        for level, option in ((socket.SOL_SOCKET, 36),   # SO_MARK
                              (socket.SOL_SOCKET, 33),   # SO_RCVBUFFORCE
                              (socket.SOL_TCP, 19)):     # TCP_REPAIR
            got, _ = taken.call("setsockopt", fd, level, option,
                                struct.pack("=I", 1), 4)
            assert got in ("EPERM", "EOPNOTSUPP", "ENOPROTOOPT"), \
                f"setsockopt {level} {option} on {fd}: {got}"
    equal(taken.call("mmap", 0, 4 << 30, 3, 0x22, -1, 0)[0], "ENOMEM")
    nothing_reached()
    victim_works(victim)


@claim("a dialled connection that has ended is not a socket to dial with")
def _():
    """A socket that was connected without waiting is, to the kernel, still
    connecting; once closed, MSG_FASTOPEN would connect it anew, from the
    network of the host."""
    with Hostile() as taken:
        _, fd = taken.dial("short.example.com", 80, "http")
        until(lambda: taken.call("read", fd, "b:512", 512)[0] == "ECONNRESET",
              10, "the origin has reset it")
        try:
            for _ in range(3):
                taken.call("sendto", fd, b"x", 1, MSG_FASTOPEN | 0x40,
                           sockaddr("10.201.0.66", 443), 16)
        except Died:
            pass
        nothing_reached()


FLOOD_MS = 2500


@claim("floods of each channel: others are served, memory and log stay bounded")
def _():
    w, _, victim = world()
    pids = dict(service_pids(w), tapwardd=w.daemon.pid)
    before = {role: (memory.fds(pid), memory.resident(pid))
              for role, pid in pids.items()}
    log = f"{w.folder}/log/audit.jsonl"
    size = os.path.getsize(log)
    said = []
    steady = Steady(w, victim, "other.example.com", "/x")
    floods = [
        ("dialler", packet("MSG_DIAL", 7, dial_body("evil.example.com", 443, 0)), 0),
        ("dialler", packet("MSG_DIAL_CANCEL", 7), 0),
        ("broker", packet("MSG_LEASE_REQUEST", 7, lease_body(
            "vault", "other.example.com", path="/" + "x" * 8000)), 0),
        ("broker", packet("MSG_LEASE_REQUEST", 7, lease_body(
            "shared", "open.example.com", path="/v1/x")), 0),
        ("recorder", packet("MSG_AUDIT", 0, audit_body(
            "request", host="x" * 255, path="y" * 1024, detail="z" * 256)), 0),
        ("recorder", packet("MSG_AUDIT", 0, audit_body("dns"), fds=1), 16),
        ("supervisor", packet("MSG_GATE_POLICY_ACK", 7, str16("0" * 64)), 0),
    ]
    try:
        for which, data, fds in floods:
            with Hostile() as taken:
                sent, _, error = taken.ask("flood", which, FLOOD_MS, fds,
                                           data.hex())
                began = time.monotonic()
                status(w)
                answered = time.monotonic() - began
                assert answered < 5, f"status took {answered:.1f} s"
                said.append(f"{which} {sent} ({error})")
                steady.more(1)
        steady.more()
    finally:
        steady.close()
    said.append(steady.stop(limit=5))
    for role, pid in pids.items():
        until(lambda: memory.fds(pid) <= before[role][0] + 4, 10,
              f"descriptors of {role} are back")
        grown = memory.resident(pid) - before[role][1]
        assert grown < 64 << 20, f"{role} grew by {grown >> 20} MiB"
    equal(dict(service_pids(w), tapwardd=w.daemon.pid), pids)
    # A burst of 20,000 and 2,000 a second of the longest records there are.
    grown = os.path.getsize(log) - size
    assert grown < 40000 * 2500 + 10000 * 600, f"the log grew by {grown >> 20} MiB"
    until(lambda: [r for r in w.audit(event="lifecycle")
                   if r.get("detail", "").startswith("overflow")], 10,
          "the remainder is counted in a record")
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    nothing_reached()
    return "; ".join(said) + f"; log {grown >> 20} MiB"


@claim("allowed dials without end: the dialler holds a bounded number, and drops them with the gate")
def _():
    w, _, victim = world()
    dialler = service_pids(w)["dialler"]
    before = memory.fds(dialler)
    steady = Steady(w, victim, "other.example.com", "/x")
    most = 0
    try:
        with Hostile() as taken:
            body = dial_body("plain.example.com", 80, 1)
            for number in range(1, 4001):
                word = taken.ask("send", "dialler", 0,
                                 packet("MSG_DIAL", number, body).hex())[0]
                if word == "EPIPE":
                    break
                if number % 100 == 0:
                    most = max(most, memory.fds(dialler))
            steady.more()
            most = max(most, memory.fds(dialler))
    finally:
        steady.close()
    assert most < before + 1400, f"descriptors of the dialler: {before}, {most}"
    until(lambda: memory.fds(dialler) <= before + 4, 20,
          "descriptors of the dialler are back")
    return f"descriptors {before}, at most {most}; {steady.stop(limit=5)}"


@claim("a narrower policy that it says yes to, refuses or hangs at holds all the same")
def _():
    w, _, victim = world()
    took = []
    for word in ("lie", "refuse", "hang"):
        with Hostile() as taken:
            equal(taken.dial("plain.example.com", 80, "http")[0], "")
            equal(taken.lease("shared", "open.example.com", path="/v1/x")[0], "")
            taken.ask("policy", word)
            before = taken.pid()
            began = time.monotonic()
            taken.s.reload(NARROW).ok()
            took.append(f"{word} {time.monotonic() - began:.1f} s")
            # One that does not take it is replaced, by a hostile one again.
            if word != "lie":
                taken.renewed(before)
            equal(taken.dial("plain.example.com", 80, "http")[0], "no-rule", word)
            equal(taken.lease("shared", "open.example.com", path="/v1/x")[0],
                  "credential-misuse", word)
    victim_works(victim)
    nothing_reached()
    return ", ".join(took)


@claim("it sees no other sandbox: not its network, not its memory, not its names")
def _():
    w, taken, victim = world()
    pid, other = taken.pid(), gate_pid(w, victim)
    assert os.readlink(f"/proc/{pid}/ns/net") != \
        os.readlink(f"/proc/{other}/ns/net")
    equal(os.stat(f"/proc/{pid}/environ").st_uid, 0, "it is not dumpable")
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        mine = re.search(r"Uid:\t(\d+)", f.read()).group(1)
    with open(f"/proc/{other}/status", encoding="ascii") as f:
        assert mine != re.search(r"Uid:\t(\d+)", f.read()).group(1)
    with Hostile() as fresh:
        found, looked = memory.holds(
            fresh.pid(), b"other.example.com", b"allow other",
            *(v.encode() for v in KEPT.values()))
        equal(found, [], "of the other sandbox in its memory")
        assert looked > 1 << 20, looked
    for fd in os.listdir(f"/proc/{pid}/fd"):
        to = os.readlink(f"/proc/{pid}/fd/{fd}")
        assert to.startswith(("socket:", "anon_inode:", "/memfd:", "/dev/null",
                              "pipe:", w.log)), f"descriptor {fd} is {to}"


@claim("the hostile sandbox is removed under fire, and nothing of it stays")
def _():
    w, taken, victim = world()
    pid = taken.pid()
    taken.s.rm().ok()
    until(lambda: not os.path.exists(f"/proc/{pid}"), 10, "its gate is gone")
    lacks(shell.run(["ip", "netns", "list"]).out, f"tapward-{taken.s.name}")
    victim_works(victim)
    nothing_reached()
    w.close()
    _world.clear()
