"""Origins that speak HTTP/2 frame by frame, and not as they should.

Whatever one does, the guest gets an answer that is in order: the origin's if it
was whole, else ours. Both kinds of guest are asked.
"""
import json
import re

from harness import h2frames as h2
from harness import memory
from harness.claims import claim, contains, equal, lacks, until
from harness.h2frames import (BOTH, END_HEADERS, END_STREAM, PADDED, block,
                              continuation, data, frame, headers)
from harness.h2origin import Origin, answer, ok
from harness.raw import REFUSAL, read, tls
from harness.world import World

HOST = "two.example.com"
NAMES = {HOST: "10.201.0.11"}

POLICY = """\
[policy]
version = 1

[allow two]
host   = two.example.com
method = GET, HEAD, POST
path   = /**
"""

POISON = b"poison"
STATUS = (":status", "200")

_world = {}


def world():
    if not _world:
        w = World(NAMES)
        origin = Origin(w, NAMES[HOST], [HOST])
        _world.update(w=w, s=w.sandbox(POLICY), origin=origin)
    _world["origin"].reset()
    return _world["w"], _world["s"], _world["origin"]


# --- what is said instead of an answer ---

def _head(*fields, flags=BOTH):
    return lambda i: headers(i, list(fields), flags)


def _more(*fields):
    """A head in order, then these fields."""
    return _head(STATUS, *fields)


def _then(*parts):
    """An answer of 200 that goes on; parts are given the stream."""
    return lambda i: headers(i, [STATUS], END_HEADERS) + b"".join(
        part(i) for part in parts)


# A fault of one answer: {what: what is sent on stream i}.
ANSWERS = {
    "CRLF in a value": _more(("x-a", b"b\r\nset-cookie: poison")),
    "LF in a value": _more(("x-a", b"b\npoison")),
    "NUL in a value": _more(("x-a", b"b\0poison")),
    "CRLF in a name": _more((b"x-a\r\nset-cookie", "poison")),
    "a colon in a name": _more(("x-a:", "poison")),
    "an empty name": _more(("", "poison")),
    "a name in upper case": _more(("Set-Cookie", "poison")),
    "a blank before a value": _more(("x-a", " poison")),
    "connection": _more(("connection", "close")),
    "keep-alive": _more(("keep-alive", "timeout=5")),
    "proxy-connection": _more(("proxy-connection", "close")),
    "transfer-encoding": _more(("transfer-encoding", "chunked")),
    "upgrade": _more(("upgrade", "h2c")),
    "two :status": _head(STATUS, (":status", "204")),
    "no :status": _head(("x-a", "poison")),
    ":status behind a field": _head(("x-a", "poison"), STATUS),
    ":status 099": _head((":status", "099")),
    ":status 600": _head((":status", "600")),
    ":status 2000": _head((":status", "2000")),
    ":status 20": _head((":status", "20")),
    ":status +20": _head((":status", "+20")),
    ":status of letters": _head((":status", "abc")),
    ":status with a blank": _head((":status", "200 ")),
    ":status empty": _head((":status", "")),
    "101": _head((":status", "101"), flags=END_HEADERS),
    "a pseudo-field of requests": _head(STATUS, (":path", "/poison")),
    "an unknown pseudo-field": _head(STATUS, (":poison", "x")),
    "100 that ends the stream": _head((":status", "100")),
    "two lengths": _more(("content-length", "0"), ("content-length", "0")),
    "a length with a sign": _more(("content-length", "+0")),
    "a length, and no body": _more(("content-length", "6")),
    "DATA before a head": lambda i: data(i, POISON),
    "204 with a length": _head((":status", "204"), ("content-length", "6"),
                               flags=END_HEADERS),
    "a head of 80 KB": lambda i: _large(i, [("x-a", "a" * 4000)] * 20),
    "300 fields": lambda i: _large(i, [("x-a", "poison")] * 300),
    "9 interim answers": lambda i: headers(
        i, [(":status", "103")], END_HEADERS) * 9 + ok(i),
    "a reset": lambda i: h2.reset(i, h2.INTERNAL_ERROR),
    "a reset without an error": lambda i: h2.reset(i, h2.NO_ERROR),
}

# The head is in order, and with the guest before the fault.
BODIES = {
    "a body that is too long": lambda i: headers(
        i, [STATUS, ("content-length", "2")], END_HEADERS) + data(i, POISON),
    "a body that is too short": lambda i: headers(
        i, [STATUS, ("content-length", "20")], END_HEADERS) + data(i, b"part"),
    "trailers with a pseudo-field": _then(
        lambda i: data(i, b"part", 0), _head((":status", "200"))),
    "trailers in upper case": _then(
        lambda i: data(i, b"part", 0), _head(("Poison", "x"))),
    "trailers with CRLF": _then(
        lambda i: data(i, b"part", 0), _head(("x-a", b"a\r\npoison: x"))),
    "trailers that do not end it": _then(
        lambda i: data(i, b"part", 0), _head(("x-a", "b"), flags=END_HEADERS),
        lambda i: data(i, POISON)),
    "a second head": _then(_head(STATUS, flags=END_HEADERS),
                           lambda i: data(i, POISON)),
    "a reset in the middle": _then(lambda i: data(i, b"part", 0), h2.reset),
    "204 with a body": lambda i: headers(
        i, [(":status", "204")], END_HEADERS) + data(i, POISON),
    "304 with a body": lambda i: headers(
        i, [(":status", "304")], END_HEADERS) + data(i, POISON),
}

# The connection ends; what was not whole before it, fails.
CONNECTIONS = {
    "HTTP/1.1": lambda i: b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison",
    "DATA on stream 0": lambda i: data(0, POISON),
    "HEADERS on stream 0": lambda i: headers(0, [STATUS]),
    "an answer on a stream that nobody opened":
        lambda i: answer(i + 2, POISON),
    "an answer on a stream of its own": lambda i: answer(2, POISON),
    "a promise": lambda i: frame(
        h2.PUSH_PROMISE, END_HEADERS, i,
        b"\0\0\0\2" + block(*h2.request(HOST, "/poison"))),
    "CONTINUATION alone": lambda i: continuation(i, [STATUS]),
    "CONTINUATION of another": lambda i: headers(
        i, [STATUS], 0) + continuation(i + 2, [("x-a", "b")]),
    "PING within a head": lambda i: headers(i, [STATUS], 0) + h2.ping(),
    "a block that is none": lambda i: frame(h2.HEADERS, BOTH, i, b"\x40"),
    "an index beyond the table": lambda i: frame(h2.HEADERS, BOTH, i, b"\xfe"),
    "a table that is too large": lambda i: headers(i, b"\x3f\xe2\x1f\x88"),
    "a frame that is too long": lambda i: frame(h2.DATA, 0, i, bytes(16385)),
    "too much padding": lambda i: frame(h2.HEADERS, BOTH | PADDED, i, b"\x09\x88"),
    "SETTINGS of 5 bytes": lambda i: frame(h2.SETTINGS, 0, 0, bytes(5)),
    "SETTINGS on a stream": lambda i: frame(h2.SETTINGS, 0, i, bytes(6)),
    "ENABLE_PUSH": lambda i: h2.settings((h2.ENABLE_PUSH, 1)),
    "MAX_FRAME_SIZE of 1": lambda i: h2.settings((h2.MAX_FRAME_SIZE, 1)),
    "a window of 2^31": lambda i: h2.settings((h2.INITIAL_WINDOW_SIZE, 1 << 31)),
    "WINDOW_UPDATE of 0": lambda i: h2.window_update(0, 0),
    "a window that overflows": lambda i: h2.window_update(0, (1 << 31) - 1),
    "RST_STREAM of 3 bytes": lambda i: frame(h2.RST_STREAM, 0, i, bytes(3)),
    "RST_STREAM on a stream that nobody opened": lambda i: h2.reset(i + 2),
    "GOAWAY on a stream": lambda i: frame(h2.GOAWAY, 0, i, bytes(8)),
    "endless CONTINUATION": lambda i: headers(i, [STATUS], 0) + continuation(
        i, b"", 0) * 5000,
    "a head without an end": lambda i: headers(i, [STATUS], 0) + continuation(
        i, [("x-a", "a" * 4000)] * 4, 0) * 30,
    "SETTINGS by the thousand": lambda i: h2.settings() * 3000,
    "PING by the thousand": lambda i: h2.ping() * 3000,
    "PRIORITY by the thousand": lambda i: h2.priority(i, 0) * 3000,
    "empty DATA by the thousand": lambda i: headers(
        i, [STATUS], END_HEADERS) + data(i, b"", 0) * 3000,
    "RST_STREAM by the thousand": lambda i: h2.reset(i) * 3000,
}

# Passed over: the answer behind it is whole.
IGNORED = {
    "ALTSVC": lambda i: frame(10, 0, 0, b"\0\0h3=\":443\""),
    "ALTSVC on the stream": lambda i: frame(10, 0, i, b"\0\0h3=\":443\""),
    "ORIGIN": lambda i: frame(12, 0, 0, b"\0\x18https://evil.example.com"),
    "a frame of an unknown kind": lambda i: frame(0xbb, 0xff, i, POISON),
    "an unknown setting": lambda i: h2.settings((0xf0f0, 7)),
    "a PING": lambda i: h2.ping(),
    "a PING that nobody waits for": lambda i: h2.ping(bytes(8), h2.ACK),
    "PRIORITY": lambda i: h2.priority(i, 0, 3),
    "a larger window": lambda i: h2.window_update(i, 1000),
    "a table as large as can be": lambda i: h2.settings(
        (h2.HEADER_TABLE_SIZE, (1 << 32) - 1)),
    "heads of no size": lambda i: h2.settings((h2.MAX_HEADER_LIST_SIZE, 0)),
    "8 interim answers": lambda i: headers(
        i, [(":status", "103"), ("link", "</poison>")], END_HEADERS) * 8,
}


def _large(stream, fields):
    whole = block(STATUS, *fields)
    parts = [whole[i:i + 16000] for i in range(0, len(whole), 16000)]
    last = len(parts) - 1
    return headers(stream, parts[0], END_STREAM | END_HEADERS * (last == 0)) \
        + b"".join(continuation(stream, part, END_HEADERS * (i == last))
                   for i, part in enumerate(parts[1:], 1))


def say(origin, make):
    """From here on the origin says this, and does it again for whoever asks."""
    def send(peer, stream, asked):
        if "/next" in asked.field(":path"):
            peer.send(ok(stream))
            return
        try:
            peer.send(make(stream))
        except OSError:
            pass  # it had enough
    origin.answer = send


# --- what a guest gets ---

def ask(s, is_h2, path="/x"):
    """(status or None if it was cut, reason of ours or None, all that came)"""
    if not is_h2:
        with tls(s, HOST) as k:
            k.sendall(f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
            got = read(k, DONE, 5)
        assert not got.endswith(b"<nothing more>"), got
        reason = re.search(rb"Tapward-Reason: ([a-z-]+)", got)
        status = re.match(rb"HTTP/1\.1 (\d{3}) ", got)
        return (status and status[1].decode(), reason and reason[1].decode(), got)
    with h2.guest(s, HOST) as p:
        p.send(h2.PREFACE)
        p.begin()
        p.send(headers(1, h2.request(HOST, path)))
        frames = []
        while not frames or not (frames[-1].ends or
                                 frames[-1].kind == h2.RST_STREAM):
            frames.append(p.until(lambda f: f.stream == 1, 5))
    head = next((f for f in frames if f.kind == h2.HEADERS), None)
    return (head and head.field(":status"),
            head and head.field("tapward-reason"),
            b"".join(repr(f.fields).encode() + f.payload for f in frames)
            + (b"" if frames[-1].ends else b"<cut>"))


# The end of an answer in HTTP/1.1, whole or not.
DONE = re.compile(REFUSAL.pattern + rb"|\r\n0\r\n\r\n\Z|\r\n\r\nok\Z"
                  rb"|HTTP/1.1 [23]04 .*\r\n\r\n\Z", re.DOTALL)


def next_is_served(s, origin, is_reused):
    """The next request is answered, on a new connection or the old one."""
    before = origin.count()
    equal(ask(s, True, "/next")[0], "200", "the next request")
    equal(origin.count() - before, 0 if is_reused else 1, "new connections")


def say_goodbye(origin):
    """The last connection is not used again, and closed."""
    peer = origin.peers[-1]
    peer.send(h2.goaway(99))
    until(lambda: peer.ended, 5, "the gate closes behind GOAWAY")


@claim("a bad head is 502 bad-response, and nothing more is asked on its connection")
def _():
    _, s, origin = world()
    for what, make in ANSWERS.items():
        say(origin, make)
        for is_h2 in (True, False):
            status, reason, got = ask(s, is_h2)
            equal((status, reason), ("502", "bad-response"), what)
            lacks(got, POISON, what)
            # A reset is no fault of the connection.
            next_is_served(s, origin, what.startswith("a reset"))
    return f"{2 * len(ANSWERS)} answers"


@claim("an answer that turns bad is cut, and nothing more is asked on its connection")
def _():
    _, s, origin = world()
    for what, make in BODIES.items():
        say(origin, make)
        for is_h2 in (True, False):
            status, reason, got = ask(s, is_h2)
            assert status == "502" and reason == "bad-response" or \
                reason is None and (status in ("204", "304") or re.search(
                    rb"<(cut|end|\w+Error)>\Z", got)), (what, is_h2, got)
            lacks(got, POISON, what)
            next_is_served(s, origin, "reset" in what)
    return f"{2 * len(BODIES)} answers"


@claim("an origin that breaks HTTP/2 is left; its guests get 502 or what was whole")
def _():
    _, s, origin = world()
    for what, make in CONNECTIONS.items():
        say(origin, make)
        for is_h2 in (True, False):
            before = origin.count()
            status, reason, got = ask(s, is_h2)
            if what.startswith("empty DATA"):
                assert status == "502" or re.search(rb"<(cut|end)>\Z", got), got
            else:
                equal((status, reason), ("502", "bad-response"), what)
            lacks(got, POISON, what)
            # Not sent again to one that breaks it.
            assert origin.count() - before <= 1, what
            next_is_served(s, origin, False)
    return f"{2 * len(CONNECTIONS)} connections"


@claim("what an origin may say, or nobody understands, is passed over")
def _():
    _, s, origin = world()
    for what, make in IGNORED.items():
        say(origin, lambda i, make=make: make(i) + ok(i) + make(i))
        for is_h2 in (True, False):
            status, _, got = ask(s, is_h2)
            equal(status, "200", what)
            lacks(got, POISON, what)
            lacks(got.lower(), b"alt-svc", what)
    return f"{2 * len(IGNORED)} answers"


@claim("frames behind the end of an answer reach nobody and end the connection")
def _():
    _, s, origin = world()
    for what, late in (("HEADERS", headers(1, [STATUS, ("x-a", "poison")])),
                       ("DATA", data(1, POISON)),
                       ("trailers", headers(1, [("x-a", "poison")])),
                       ("a whole answer", answer(1, POISON))):
        for is_h2 in (True, False):
            next_is_served(s, origin, False)
            peer = origin.peers[-1]
            peer.send(late)
            until(lambda: peer.ended, 5, f"the connection ends behind {what}")
            equal([f.code for f in peer.frames if f.kind == h2.GOAWAY],
                  [h2.STREAM_CLOSED], what)
            status, _, got = ask(s, is_h2, "/next")
            equal(status, "200")
            lacks(got, POISON, what)
            say_goodbye(origin)


@claim("GOAWAY: streams it names are answered, others are asked again elsewhere")
def _():
    _, s, origin = world()
    for last, fate in ((1, "answered"), (0, "asked again")):
        def send(peer, stream, asked, last=last):
            if peer is not first[0]:
                peer.send(ok(stream))
                return
            peer.send(headers(stream, [STATUS], END_HEADERS) * last,
                      h2.goaway(last), data(stream, b"whole") * last)

        first = []
        origin.early = lambda peer, stream, asked: first or first.append(peer)
        origin.answer = send
        before = origin.count()
        status, _, got = ask(s, True)
        equal(status, "200", fate)
        contains(got, b"whole" if last else b"ok", fate)
        equal(origin.count() - before, 2 - last, f"{fate}: connections")
        next_is_served(s, origin, not last)
        say_goodbye(origin)


@claim("a hostile origin costs the gate no memory that lasts")
def _():
    w, s, origin = world()
    pid = json.loads(w.cli("show", s.name, "--json").ok().out)["gate_pid"]
    grown = []
    for _ in range(2):
        before = memory.resident(pid)
        for make in (*ANSWERS.values(), *BODIES.values(), *CONNECTIONS.values()):
            say(origin, make)
            ask(s, True)
        grown.append((memory.resident(pid) - before) >> 10)
    assert grown[-1] <= 512, f"the gate grew by {grown} KiB"
    fds = memory.fds(pid)
    until(lambda: memory.fds(pid) <= 60, 10, f"descriptors are closed: {fds}")
    return f"{grown} KiB in two rounds"


@claim("the world of hostile origins ends and leaves nothing")
def _():
    w, s, _ = world()
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    s.rm().ok()
    w.close()
    _world.clear()
