"""The world of the takeover: a hostile gate, one that is not, and what leaves.

hostile_gate.c stands in for tapward-gate in a copy of the installed tree. The
sandboxes named hostile-* have a gate that does what their guest says; the
others have the gate as it is, and must not notice.
"""
import json
import os
import re
import secrets
import shutil
import socket
import struct
import subprocess

from . import shell
from .claims import equal, lacks, until
from .origins import Nginx, RawOrigin
from .taken import Taken, str16
from .world import BUILD, TREE, World

NAMES = {
    "open.example.com": "10.201.0.10",
    "plain.example.com": "10.201.0.10",
    "other.example.com": "10.201.0.11",
    "third.example.com": "10.201.0.10",
    "held.example.com": "10.201.0.10",
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

[ask held]
host       = held.example.com
credential = held
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

[credential held]
kind   = static
value  = file:{folder}/held
host   = held.example.com
apply  = bearer
grant  = hostile-* user:root

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
        for name in ("spare", "foreign", "held", "vault")}
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


def about(w, s):
    """Whom a message of the supervisor's is about."""
    shown = json.loads(w.cli("show", s.name, "--json").ok().out)
    return str16(s.name) + struct.pack(">Q", shown["generation"])


def end():
    _world["w"].close()
    _world.clear()
