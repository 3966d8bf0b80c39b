"""Answers of evil origins: section C of the known escapes, the other way.

What is answered is in payloads/answers.txt, with what the guest reads of it.
Each is written whole, byte by byte, line by line, and as the second answer of
its connection, to guests of HTTP/1.1 with and without TLS and of HTTP/2.
"""
import re
import ssl
import threading

from harness import answers, payloads, smuggle, strict
from harness.claims import claim, equal, lacks, until
from harness.origins import RawOrigin
from harness.raw import connect, deliver, read, synthetic, tls

POLICY = """\
[policy]
version = 1

[allow tls]
host   = one.example.com, two.example.com, hasty.example.com
method = GET, HEAD, POST
path   = /open/**

[allow plain]
host   = plain.example.com, hasty.example.com
port   = 80
scheme = http
method = GET, HEAD, POST
path   = /open/**
"""

HASTY = {"hasty.example.com": "10.201.0.37"}
SAID = payloads.answers()
POISON = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
_world = {}


def field():
    if not _world:
        _world["field"] = smuggle.Field(POLICY, HASTY)
    return _world["field"]


def run(row, guest):
    f = field()
    route = f.routes["http" if guest == "http" else "tls"]
    guest = answers.Guest2(f.s, route) if guest == "h2" else \
        answers.Guest1(route)
    said = answers.run(guest, route.sink.recorder, [
        a for a in SAID if a.id.startswith(f"{row}.")])
    f.s.audited(event="request", reason="bad-response")
    return said


@claim("row 59: what an origin answers wrongly is 502 or cut, and its connection ends")
def _():
    return run(59, "tls")


@claim("row 59: without TLS too")
def _():
    return run(59, "http")


@claim("row 59: to a guest of HTTP/2 too")
def _():
    return run(59, "h2")


@claim("row 74: no answer switches protocols unasked")
def _():
    return "; ".join(run(74, guest) for guest in ("tls", "http", "h2"))


@claim("row 59: an origin that ends in TLS without saying so has not ended its answer")
def _():
    f = field()
    route = f.routes["tls"]
    for head in (b"", b"Connection: close\r\n"):
        route.sink.recorder.answer = lambda nth, _, head=head: (
            lambda peer: peer.sendall(
                b"HTTP/1.1 200 OK\r\n" + head + b"\r\nnot all"))
        got = answers.Guest1(route).ask("GET", "/open/cut")
        equal((got.status, got.is_whole), (200, False), got)
        got = answers.Guest2(f.s, route).ask("GET", "/open/cut")
        equal((got.status, got.is_whole), (200, False), got)


@claim("row 59: an answer that nobody asked for ends the connection that waits")
def _():
    f = field()
    for name, kind in (("tls", answers.Guest1), ("http", answers.Guest1)):
        route, recorder = f.routes[name], f.routes[name].sink.recorder
        waits = threading.Event()

        def say_more(peer):
            peer.sendall(answers.GOOD)
            waits.wait(10)
            peer.sendall(POISON)
            return True

        recorder.answer = lambda nth, head: \
            say_more if b"/open/more" in head else answers.GOOD
        guest = kind(route)
        equal(guest.ask("GET", "/open/more").body, b"me")
        used, ended = recorder.count(), recorder.ended
        waits.set()
        until(lambda: recorder.ended > ended, 5, "the connection ends")
        for _ in range(2):
            equal(guest.ask("GET", "/open/next").body, b"me", name)
        equal(recorder.count(), used + 1, name)


class Hasty:
    """An origin that answers 413 to a head, and keeps what comes then."""

    def __init__(self, w, address, port, names=None):
        self.tls = None
        if names:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(*w.authority.issue(*names))
        self.streams, self.ended = [], 0
        self.raw = w.own(RawOrigin(w.net, address, port, self._serve))

    def _serve(self, peer, record):
        k = self.tls.wrap_socket(peer, server_side=True) if self.tls else peer
        stream = bytearray()
        self.streams.append(stream)
        try:
            while b"\r\n\r\n" not in stream and (part := k.recv(65536)):
                stream += part
            k.sendall(b"HTTP/1.1 413 Too much\r\nContent-Length: 2\r\n\r\nno")
            while part := k.recv(65536):
                stream += part
        finally:
            self.ended += 1


@claim("row 53: an answer before the body has ended ends both connections; nothing behind the body is a request")
def _():
    f = field()
    hasty = {"https": Hasty(f.w, HASTY["hasty.example.com"], 443,
                            ["hasty.example.com"]),
             "http": Hasty(f.w, HASTY["hasty.example.com"], 80)}
    evil = (b"GET {u}/open/evil HTTP/1.1\r\nHost: hasty.example.com\r\n\r\n")
    first = b"a" * 20000  # more than is looked at before the head goes on
    bodies = {"length": (b"Content-Length: 20010\r\n\r\n" + first, b"b" * 10),
              "chunks": (b"Transfer-Encoding: chunked\r\n\r\n4e20\r\n" + first
                         + b"\r\n", b"a\r\nbbbbbbbbbb\r\n0\r\n\r\n")}
    count = 0
    for scheme, origin in hasty.items():
        for what, (begun, rest) in bodies.items():
            for how in ("whole", "bytes"):
                ended = origin.ended
                with open_(f.s, scheme) as k:
                    k.sendall(b"POST /open/p HTTP/1.1\r\n"
                              b"Host: hasty.example.com\r\n" + begun)
                    data = read(k, re.compile(rb"\r\n\r\nno\Z"))
                    deliver(k, rest + evil, how)
                    data += read(k, None)
                found, more = strict.answers(data.removesuffix(b"<end>"))
                equal(([a.status for a in found], more), ([413], b""), what)
                equal(strict.one(found[0].fields, b"connection"), b"close")
                until(lambda: origin.ended > ended, 5, "the origin's ends")
                count += 1
        equal(len(origin.streams), origin.ended, scheme)
        for stream in origin.streams:
            equal(stream.count(b"HTTP/1.1\r\n"), 1, bytes(stream[-200:]))
            lacks(stream, b"evil")
    return f"{count} uploads"


def open_(s, scheme):
    if scheme == "https":
        return tls(s, "hasty.example.com")
    return connect(s, (synthetic(s, "hasty.example.com"), 80))


@claim("row 60: no connection to an origin is shared between sandboxes")
def _():
    f = field()
    route = f.routes["tls"]
    recorder = route.sink.recorder
    recorder.answer = lambda nth, head: answers.GOOD
    other = f.w.sandbox(POLICY)
    first = answers.Guest1(route)
    second = answers.Guest1(smuggle.Route(
        "other", route.host, route.sink, lambda: tls(other, route.host)))
    equal(first.ask("GET", "/open/a").body, b"me")
    used = recorder.count()
    for _ in range(3):
        equal(first.ask("GET", "/open/a").body, b"me")
        equal(second.ask("GET", "/open/b").body, b"me")
    equal(recorder.count(), used + 1, "connections of the other")
    for part in recorder.parts():
        assert b"/open/a" not in part or b"/open/b" not in part, part
    other.rm().ok()


@claim("the world of the framing of answers ends and leaves nothing")
def _():
    field().close()
    _world.clear()
