"""Framing of requests: section C of the known escapes, row by row.

What is written is in payloads/rows_c.txt, with what the guest is to read for
it. Each is written whole, byte by byte, line by line, and behind a good
request on the same connection, by every route.
"""
import contextlib
import json

from harness import memory, payloads, smuggle, strict
from harness.claims import claim, equal
from harness.raw import deliver, read

POLICY = """\
[policy]
version = 1

[allow tls]
host   = one.example.com, two.example.com
method = GET, HEAD, POST, PUT, OPTIONS, DELETE
path   = /open/**

[allow plain]
host   = plain.example.com
port   = 80
scheme = http
method = GET, HEAD, POST, PUT, OPTIONS, DELETE
path   = /open/**
"""

ROWS = payloads.rows("rows_c")
CHUNKED = b"POST {u}/open/p HTTP/1.1\r\nHost: {h}\r\n" \
          b"Transfer-Encoding: chunked\r\n\r\n"
_world = {}


def field():
    if not _world:
        _world["field"] = smuggle.Field(POLICY)
    return _world["field"]


def row(number, routes=("tls", "tls to h2", "http", "proxy")):
    return smuggle.run(field(), ROWS[number], routes)


H = b"Host: h\r\n"
# What no judge may take: each is wrong in one thing.
NOT_CANONICAL = (
    b"GET / HTTP/1.0\r\n" + H + b"\r\n", b"GET / http/1.1\r\n" + H + b"\r\n",
    b"GET  / HTTP/1.1\r\n" + H + b"\r\n", b"GET /#x HTTP/1.1\r\n" + H + b"\r\n",
    b"G@T / HTTP/1.1\r\n" + H + b"\r\n", b"GET * HTTP/1.1\r\n" + H + b"\r\n",
    b"GET http://h/ HTTP/1.1\r\n" + H + b"\r\n", b"\r\nGET / HTTP/1.1\r\n" + H,
    b"GET /\xff HTTP/1.1\r\n" + H + b"\r\n", b"GET /\r\n\r\n",
    *(b"GET / HTTP/1.1\r\n" + fields + b"\r\n" for fields in (
        b"", H + H, b"Host: x\r\n", b"Host:h\r\n", b"Host:  h\r\n",
        H + b"A : b\r\n", H + b": b\r\n", H + b"A: b \r\n", H + b"A: \0\r\n",
        H + b"A: b\r c\r\n", H + b"A: b\nC: d\r\n", H + b" A: b\r\n",
        H + b"A\r\n", H + b"A\x85: b\r\n", H + b"Connection: close\r\n",
        H + b"Upgrade: h2c\r\n", H + b"TE: trailers\r\n", H + b"Expect: x\r\n",
        H + b"Proxy-Authorization: x\r\n", H + b"X-Original-URL: /\r\n",
        H + b"Content_Length: 0\r\n", H + b"Forwarded: host=x\r\n",
        H + b"Content-Length: 00\r\n", H + b"Content-Length: +0\r\n",
        H + b"Content-Length: 0\r\nContent-Length: 0\r\n",
        H + b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
        H + b"Transfer-Encoding: gzip, chunked\r\n")),
    *(b"POST / HTTP/1.1\r\n" + H + b"Transfer-Encoding: chunked\r\n\r\n" + body
      for body in (b"05\r\nABCDE\r\n0\r\n\r\n", b"A\r\n0123456789\r\n0\r\n\r\n",
                   b"5;a\r\nABCDE\r\n0\r\n\r\n", b"5\nABCDE\r\n0\r\n\r\n",
                   b"5\r\nABCDEXX0\r\n\r\n", b"0\r\nX: y\r\n\r\n",
                   b"00\r\n\r\n", b"0x5\r\nABCDE\r\n0\r\n\r\n")),
)


@claim("the judge of what an origin got takes one spelling and no other")
def _():
    good = (b"POST /x?y HTTP/1.1\r\nHost: h\r\nA: b\r\nTransfer-Encoding: chunked"
            b"\r\n\r\n5\r\nABCDE\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")
    found, rest = strict.requests(good, b"h")
    equal([(r.target, r.body, rest) for r in found],
          [(b"/x?y", b"ABCDE", b""), (b"/", b"", b"")])
    for text in NOT_CANONICAL:
        try:
            taken = strict.requests(text, b"h")
        except strict.Bad:
            continue
        raise AssertionError(f"{text!r} is taken: {taken}")
    for at in range(1, good.index(b"GET")):
        equal(strict.requests(good[:at], b"h"), ([], good[:at]))
    return f"{len(NOT_CANONICAL)} that are not"


@claim("row 36: Content-Length beside Transfer-Encoding is refused")
def _():
    return row(36)


@claim("row 37: two lengths are refused, equal or not, as fields or as a list")
def _():
    return row(37)


@claim("row 38: a length is decimal, without sign, zeros or blanks, up to 2^53")
def _():
    return row(38)


@claim("row 39: a coding is chunked, once, and nothing around it")
def _():
    return row(39)


@claim("row 40: HTTP/1.0 has no codings")
def _():
    return row(40)


@claim("row 41: a chunk's size is 1 to 15 hexadecimal digits")
def _():
    return row(41)


@claim("row 42: chunk extensions are dropped, and refused if they are none")
def _():
    return row(42)


@claim("row 43: a chunk is as long as it says, and CRLF is behind it")
def _():
    return row(43)


@claim("row 44: trailers are dropped, and refused if they are none")
def _():
    return row(44)


@claim("row 45: a line ends in CRLF, and neither is anywhere else")
def _():
    return row(45)


@claim("row 46: a folded line is refused")
def _():
    return row(46)


@claim("row 47: a field's name is a token with a colon behind it")
def _():
    return row(47)


@claim("row 48: no control byte is in a value; others go on")
def _():
    return row(48)


@claim("row 49: a name that something hangs on has no underscore")
def _():
    return row(49)


@claim("row 50: a request line has three parts and a version of ours")
def _():
    return row(50)


@claim("row 51: a body goes with its length, whatever the method")
def _():
    return row(51)


@claim("row 52: Expect ends here: 100 is ours, 417 for what is unknown")
def _():
    return row(52)


@claim("row 54: Connection removes what is hop by hop, and nothing else that counts")
def _():
    return row(54)


@claim("row 55: what goes on declares its length anew")
def _():
    return row(55)


@claim("row 56: each of a pipeline is judged for itself, or the connection ends")
def _():
    return row(56)


CUT = {  # what is written, and what the guest reads
    b"POST {u}/open/p HTTP/1.1\r\nHost: {h}\r\nX: y\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nABCDE\r\n0\r\nX: y\r\n\r\n": [200],
    b"POST {u}/open/p HTTP/1.1\r\nHost: {h}\r\nContent-Length: 5\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n": [400],
    b"GET {u}/open/x HTTP/1.1\r\nHost: evil.example.com\r\n"
    b"Host: {h}\r\n\r\n": [400],
    b"GET {u}/closed HTTP/1.1\r\nHost: {h}\r\n\r\n": [403],
}


@claim("row 57: a request that is cut in two anywhere gets the same verdict")
def _():
    said, count = row(57), 0
    for name in ("tls", "http", "proxy"):
        route = field().routes[name]
        for text, want in CUT.items():
            data = text.replace(b"{u}", route.prefix.encode()).replace(
                b"{h}", route.host.encode())
            for at in range(1, len(data)):
                with route.open() as k:
                    k.sendall(data[:at])
                    k.sendall(data[at:])
                    smuggle.end(k)
                    got = read(k, None, 10).removesuffix(b"<end>")
                found, rest = strict.answers(got)
                equal(([a.status for a in found], rest), (want, b""), data)
                requests, is_more = route.take()
                equal((len(requests), is_more), (want.count(200), False), data)
                count += 1
    return f"{said}; {count} cuts"


@claim("row 58: heads, fields, targets and lengths have their bounds")
def _():
    return row(58)


GROWTH_MAX_KIB = 4096
LARGE = {
    "a head of 1 MiB": b"GET {u}/open/x HTTP/1.1\r\nHost: {h}\r\nX: "
                       + b"a" * (1 << 20),
    "16,384 fields": b"GET {u}/open/x HTTP/1.1\r\nHost: {h}\r\n"
                     + b"X: a\r\n" * 16384,
    "a target of 1 MiB": b"GET {u}/open/" + b"a" * (1 << 20),
    "a chunk extension of 1 MiB": CHUNKED + b"5;" + b"a" * (1 << 20),
    "trailers of 1 MiB": CHUNKED + b"0\r\n" + b"X: y\r\n" * 174763,
    "a body that is not taken": CHUNKED + b"100000\r\n" + b"a" * (1 << 20),
}


@claim("row 58: what is too large costs the gate no memory to speak of")
def _():
    f = field()
    pid = json.loads(f.w.cli("show", f.s.name, "--json").ok().out)["gate_pid"]
    before = most = memory.resident(pid)
    for what, text in LARGE.items():
        for route in f.routes.values():
            data = text.replace(b"{u}", route.prefix.encode()).replace(
                b"{h}", route.host.encode())
            with contextlib.ExitStack() as stack:
                open_ = [stack.enter_context(route.open()) for _ in range(8)]
                for k in open_:
                    deliver(k, data, "whole")
                    most = max(most, memory.resident(pid))
    grown = (most - before) >> 10
    assert grown <= GROWTH_MAX_KIB, f"{grown} KiB"
    for sink in f.sinks.values():
        sink.forget()
    return f"{len(LARGE) * len(f.routes) * 8} connections, {grown} KiB"


@claim("the world of the framing of requests ends and leaves nothing")
def _():
    field().close()
    _world.clear()
