"""Nameservers that lie: rows 22-33 of the escapes.

Also the questions of a guest (135). The nameserver says what each claim tells
it to, byte for byte.
"""
import contextlib
import re
import socket
import struct
import threading
import time

from harness.claims import claim, contains, equal, until
from harness.nameserver import (A, AAAA, CNAME, HERE, Nameserver, name,
                                record)
from harness.raw import Recorder, connect, read, tls
from harness.world import World

GOOD = "10.201.0.10"
SERVER = "10.201.0.54"
NAMES = {"lab.example.com": GOOD, "ns.example.com": SERVER}

POLICY = """\
[policy]
version = 1

[allow lab]
host = **.lab.example.com, lab.example.com
"""

_world = {}


def world():
    if not _world:
        w = World(NAMES, start=False, resolver=SERVER)
        server = Nameserver(w, SERVER)
        w.start()
        origin = Recorder(w, GOOD, 443, ["lab.example.com",
                                         "*.lab.example.com"])
        # Each request is dialled anew.
        origin.answer = lambda nth, head: (
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        _world.update(w=w, server=server, origin=origin, s=w.sandbox(POLICY))
    _world["origin"].forget()
    return _world["w"], _world["s"], _world["server"], _world["origin"]


_serial = [0]


def ask(rule, host=None):
    """(reason or status, was the origin dialled, what was asked upstream)."""
    _, s, server, origin = world()
    _serial[0] += 1
    host = host or f"n{_serial[0]}.lab.example.com"
    server.rules[host] = rule
    del server.asked[:]
    dialled = origin.count()
    with tls(s, host) as k:
        k.sendall(b"GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n"
                  % host.encode())
        data = read(k, None, seconds=15)
    reason = re.search(rb"Tapward-Reason: (\S+)", data)
    equal(set(server.asked) - {host}, set(), "asked upstream")
    return (reason.group(1).decode() if reason else data.split()[1].decode(),
            origin.count() - dialled)


def a(*texts):
    return lambda q: q.addresses(*texts)


def aaaa(text):
    """A good A beside it: one bad address refuses all."""
    return lambda q: q.answer(record(
        HERE, AAAA, socket.inet_pton(socket.AF_INET6, text))) \
        if q.kind == AAAA else q.addresses(GOOD)


def to_name(target, *texts):
    return lambda q: q.answer(
        record(HERE, CNAME, name(target)),
        *(record(name(target), A, socket.inet_aton(t)) for t in texts)) \
        if q.kind == A else q.answer()


def chain(length):
    def rule(q):
        if q.kind != A:
            return q.answer()
        links = [record(name(q.name if i == 0 else f"c{i}.test"), CNAME,
                        name(f"c{i + 1}.test")) for i in range(length)]
        return q.answer(*links, record(name(f"c{length}.test"), A,
                                       socket.inet_aton(GOOD)))
    return rule


@claim("rows 19-28: an answer with one address that is not to be dialled is refused whole")
def _():
    equal(ask(a(GOOD)), ("200", 1), "the good one")
    rules = {t: a(t) for t in (
        "127.0.0.1", "0.0.0.0", "10.0.0.5", "169.254.169.254", "100.64.0.1",
        "100.64.0.2", "10.201.0.1", SERVER, "198.18.0.1", "198.19.0.5",
        "224.0.0.1", "255.255.255.255", "192.168.1.1", "172.16.0.1",
        "168.63.129.16", "100.100.100.200", "240.0.0.1", "192.0.0.192")}
    rules |= {t: aaaa(t) for t in (
        "::1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::1", "fe80::1", "fd00:ec2::254", "::127.0.0.1",
        "::ffff:0:127.0.0.1")}
    rules |= {"good first": a(GOOD, "169.254.169.254"),
              "good last": a("169.254.169.254", GOOD),
              "by CNAME": to_name("x.evil.test", "10.0.0.5")}
    for what, rule in rules.items():
        equal(ask(rule), ("private-address", 0), what)
    return f"{len(rules)} answers"


@claim("rows 28, 33: of an answer only what was asked for is taken, a chain has an end")
def _():
    good = record(HERE, A, socket.inet_aton(GOOD))
    fine = {
        "a CNAME": to_name("x.test", GOOD), "a chain of 8": chain(8),
        "another id first": lambda q: [
            bytes([q.id[0] ^ 1]) + q.addresses("127.0.0.1")[1:],
            q.addresses(GOOD)],
        "nothing first": lambda q: [b"", q.addresses(GOOD)],
        "capitals": lambda q: q.answer(
            good, question=name(q.name.upper()) + q.bytes[-4:])
        if q.kind == A else q.answer(),
        "cut, then by TCP": lambda q: q.addresses(GOOD) if q.is_tcp
        else q.answer(flags=0x8380),
    }
    for what, rule in fine.items():
        equal(ask(rule), ("200", 1), what)
    broken = {
        "a chain of 9": chain(9), "a CNAME to itself": lambda q: q.answer(
            record(HERE, CNAME, HERE)),
        "a CNAME to nothing": to_name("x.test"),
        "another name's": lambda q: q.answer(
            record(name("other.test"), A, socket.inet_aton(GOOD))),
        "a length beyond the end": lambda q: q.answer(
            HERE + struct.pack(">HHIH", A, 1, 0, 400) + b"abcd"),
        "16 bytes of A": lambda q: q.answer(record(HERE, A, bytes(16))),
        "class CH": lambda q: q.answer(record(HERE, A, bytes(4), 0, 3)),
        "a pointer at itself": lambda q: q.answer(
            b"\xc0" + bytes([12 + len(q.bytes)]) + good[2:]),
        "a pointer beyond": lambda q: q.answer(b"\xc0\xff" + good[2:]),
        "a count of 65535": lambda q: q.answer(good, count=65535),
        "NXDOMAIN with an address": lambda q: q.answer(good, flags=0x8183),
        "a question for an answer": lambda q: q.answer(good, flags=0x0100),
        "bytes that no name has": lambda q: q.answer(
            record(HERE, CNAME, b"\5a\0b c\4test\0"),
            b"\5a\0b c\4test\0" + good[2:]),
    }
    for what, rule in broken.items():
        equal(ask(rule), ("resolve-failed", 0), what)
    equal(ask(lambda q: q.addresses("10.0.0.1") if q.is_tcp
              else q.answer(good, flags=0x8380)), ("private-address", 0),
          "cut with a good address, another by TCP")


@claim("row 26: a name that changes its mind is dialled where it was looked at")
def _():
    _, _, server, _ = world()
    turn = [0]

    def rebinding(q):
        if q.kind != A:
            return q.answer()
        turn[0] += 1
        return q.addresses(GOOD if turn[0] == 1 else "127.0.0.1")

    host = "rebind.lab.example.com"
    equal(ask(rebinding, host), ("200", 1))
    # From the cache until its time is over, then for ever refused.
    until(lambda: ask(rebinding, host)[0] != "200", 10, "the answer expires")
    assert turn[0] > 1, "it was asked again"
    for _ in range(3):
        equal(ask(rebinding, host), ("private-address", 0))


def question(labels, kind=1, of_class=1, flags=0x0100, counts=(1, 0, 0, 0),
             more=b""):
    return struct.pack(">6H", 0x1234, flags, *counts) + labels + struct.pack(
        ">HH", kind, of_class) + more


@claim("rows 33, 135, 136: no question of a guest, however odd, is asked upstream")
def _():
    _, s, server, _ = world()
    x = name("data.lab.example.com")
    opt = b"\0" + struct.pack(">HHIH", 41, 1232, 0, 0)
    # What comes back: the rcode, or None for silence.
    odd = [
        (question(x), 0), (question(name("DaTa.Lab.Example.Com")), 0),
        *((question(x, kind), 0) for kind in (10, 16, 28, 64, 65, 252, 255)),
        (question(x, 16, 3), 5), (question(x, 1, 255), 5),
        (question(x, counts=(2, 0, 0, 0), more=x + b"\0\1\0\1"), 1),
        (question(x, counts=(0, 0, 0, 0)), 1), (question(x, flags=0x0900), 4),
        (question(x, flags=0x2800), 4), (question(x, flags=0x8100), None),
        (question(b"\xc0\x0c"), 1), (question(b"\1a\xc0\x0c"), 1),
        (question(b"\x40" + b"a" * 64 + b"\0"), 1),
        (question((b"\x3f" + b"a" * 63) * 4 + b"\0"), 1), (b"ab", None),
        (question(x)[:12], 1), (question(x)[:-3], 1),
        (question(x, more=b"junk"), 1),
        (question(x, counts=(1, 0, 0, 1), more=opt), 0),
        (question(x, counts=(1, 0, 0, 2), more=opt * 2), 1),
        (question(x, counts=(1, 1, 0, 0), more=b"\xc0\x0c" + bytes(10)), 1),
        (question(name("169.254.169.254")), 3), (question(name("0x7f.1")), 3),
        (question(name("foo.localhost")), 3), (question(b"\3a\0b\3com\0"), 3),
        (question(b"\3a.b\3com\0"), 3), (question(b"\0"), 3),
    ]
    del server.asked[:]
    for packet, want in odd:
        for to in ("100.64.0.1", "9.9.9.9"):
            with connect(s, (to, 53), 0.2 if want is None else 3,
                         socket.SOCK_DGRAM) as k:
                k.send(packet)
                try:
                    got = k.recv(4096)[3] & 15
                except TimeoutError:
                    got = None
            equal(got, want, packet)
        with connect(s, ("100.64.0.1", 53)) as k:
            k.sendall(struct.pack(">H", len(packet)) + packet)
            k.shutdown(socket.SHUT_WR)
            equal(b"<end>" != read(k, None), want is not None, packet)
    for data in (b"\0\0", b"\xff\xff" + bytes(3000), b"\0\5abcde"):
        with connect(s, ("100.64.0.1", 53)) as k:
            # The gate may have ended it at the first odd byte.
            with contextlib.suppress(OSError):
                k.sendall(data)
                k.shutdown(socket.SHUT_WR)
            assert len(read(k, None)) < 30, data
    equal(server.asked, [])


FIRST = "10.201.0.55"
# What a resolver that is asked first does with both questions for a name, and
# whether the one behind it is to be asked.
FAULTS = (
    ("says nothing", lambda q: [], True),
    ("answers something else", lambda q: q.addresses("10.201.0.99").replace(
        b"fail", b"lies"), True),
    ("answers in another's name", lambda q: b"\xff\xff"
     + q.addresses("10.201.0.99")[2:], True),
    ("fails", lambda q: q.answer(flags=0x8182), True),
    ("refuses", lambda q: q.answer(flags=0x8185), True),
    ("leads inwards", lambda q: q.addresses("127.0.0.1"), False),
    # Last: its next question waits behind this one.
    ("answers too late", lambda q: threading.Event().wait(1.3)
     or q.addresses("10.201.0.99"), True),
)


@claim("two resolvers: the first dead, silent, late, lying or failing; one that was silent is not waited for twice")
def _():
    w = World({**NAMES, "first.example.com": FIRST}, start=False,
              resolver=f"{FIRST}, {SERVER}")
    with w:
        server = Nameserver(w, SERVER)
        w.start()
        Recorder(w, GOOD, 443, ["*.example.com"])
        s = w.sandbox("[policy]\nversion = 1\n[allow all]\n"
                      "host = *.example.com\n")

        def fetch(host):
            server.rules[host] = a(GOOD)
            begin = time.monotonic()
            got = s.curl("-i", f"https://{host}/")
            found = re.search(r"(?i)tapward-reason: (\S+)", got.out)
            return (found.group(1) if found else got.out.split()[1],
                    time.monotonic() - begin)

        # Nobody is there at all.
        equal(fetch("fail0.example.com")[0], "200")
        first = Nameserver(w, FIRST)
        for i, (what, rule, goes_on) in enumerate(FAULTS):
            w.cli("reload", "--host").ok()  # the order is as configured
            host = f"fail{i + 1}.example.com"
            first.rules[host] = rule
            got, _ = fetch(host)
            equal(got, "200" if goes_on else "private-address", what)
            contains(first.asked, host, what)
            equal(host in server.asked, goes_on, what)
            if what == "says nothing":
                del first.asked[:]
                got, seconds = fetch("next.example.com")
                equal((got, first.asked), ("200", []))
                assert seconds < 1, seconds
    return f"{len(FAULTS) + 1} faults"


@claim("the world of the names ends and leaves nothing")
def _():
    w, _, _, _ = world()
    w.close()
    _world.clear()
