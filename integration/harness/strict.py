"""HTTP as it must be when it leaves the gate: one spelling, nothing left out.

What a sink got is judged byte by byte by the grammar of RFC 9112 narrowed to
what the gate writes. A parser that lets anything else pass is no judge.
"""
import re
from collections import namedtuple

TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
REQUEST = re.compile(rb"(" + TOKEN + rb") (/[!-\"$-~]*|\*) HTTP/1\.1\r\n")
ANSWER = re.compile(rb"HTTP/1\.1 ([1-5][0-9]{2}) [\t -~\x80-\xff]*\r\n")
TEXT = rb"[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?"
FIELD = re.compile(rb"(" + TOKEN + rb"): ((?:" + TEXT + rb")?)\r\n")
LENGTH = re.compile(rb"0|[1-9][0-9]{0,15}")
SIZE = re.compile(rb"([1-9a-f][0-9a-f]{0,14})\r\n")
NAME2 = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+")

HOP = {b"connection", b"keep-alive", b"te", b"trailer", b"upgrade",
       b"http2-settings", b"proxy-authenticate", b"proxy-authorization",
       b"proxy-authentication-info", b"proxy-connection", b"expect"}
# Which part of a server reads another host, path or method from.
TARGETS = {b"forwarded", b"x-forwarded-host", b"x-forwarded-server",
           b"x-forwarded-path", b"x-forwarded-prefix", b"x-forwarded-uri",
           b"x-host", b"x-http-host-override", b"x-original-host",
           b"x-original-uri", b"x-original-url", b"x-rewrite-url",
           b"x-upstream-https-proxy"}
FRAMING = {b"content-length", b"transfer-encoding", b"host"}

Request = namedtuple("Request", "method target fields body")
Answer = namedtuple("Answer", "status fields body")


class Bad(AssertionError):
    """Not canonical; the text says what and where."""


class Cut(Exception):
    """The stream ends inside a message."""


class Reader:
    def __init__(self, data):
        self.data, self.at = bytes(data), 0

    def is_done(self):
        return self.at == len(self.data)

    def line(self, pattern, what):
        match = pattern.match(self.data, self.at)
        if match:
            self.at = match.end()
            return match
        if b"\r\n" not in self.data[self.at:]:
            raise Cut()
        raise Bad(f"{what}: {self.data[self.at:self.at + 200]!r}")

    def take(self, size):
        if len(self.data) - self.at < size:
            raise Cut()
        self.at += size
        return self.data[self.at - size:self.at]

    def literal(self, text):
        got = self.data[self.at:self.at + len(text)]
        if got == text:
            self.at += len(text)
            return
        if text.startswith(got):
            raise Cut()
        raise Bad(f"{text!r} is wanted: {self.data[self.at:self.at + 80]!r}")

    def fields(self):
        found = []
        while not self.data.startswith(b"\r\n", self.at):
            match = self.line(FIELD, "a field")
            found.append((match[1].lower(), match[2]))
        self.at += 2
        return found

    def chunks(self):
        body = b""
        while not self.data.startswith(b"0\r\n", self.at):
            size = self.line(SIZE, "a chunk's size")
            body += self.take(int(size[1], 16))
            self.literal(b"\r\n")
        self.literal(b"0\r\n\r\n")
        return body


def one(fields, name):
    """The value of the only field of that name, or None."""
    values = [v for n, v in fields if n == name]
    if len(values) > 1:
        raise Bad(f"{len(values)} fields {name!r}")
    return values[0] if values else None


def framing(fields):
    """(length or None, is chunked)."""
    length = one(fields, b"content-length")
    coding = one(fields, b"transfer-encoding")
    if length is not None and coding is not None:
        raise Bad("Content-Length and Transfer-Encoding")
    if length is not None and not LENGTH.fullmatch(length):
        raise Bad(f"Content-Length: {length!r}")
    if coding not in (None, b"chunked"):
        raise Bad(f"Transfer-Encoding: {coding!r}")
    return None if length is None else int(length), coding is not None


def check_names(fields):
    for name, _ in fields:
        if name in HOP | TARGETS:
            raise Bad(f"field {name!r}")
        if b"_" in name and name.replace(b"_", b"-") in HOP | TARGETS | FRAMING:
            raise Bad(f"bent field {name!r}")


def without_te(fields):
    """The rest, when the gate says for itself that it takes trailers."""
    said = [(b"te", b"trailers"), (b"connection", b"TE")]
    rest = [f for f in fields if f not in said]
    return rest if len(rest) == len(fields) - 2 else fields


def request(r, host):
    match = r.line(REQUEST, "a request line")
    if match[2] == b"*" and match[1] != b"OPTIONS":
        raise Bad(f"{match[0]!r}")
    fields = r.fields()
    check_names(without_te(fields))
    if one(fields, b"host") != host:
        raise Bad(f"Host: {one(fields, b'host')!r}")
    length, is_chunked = framing(fields)
    body = r.chunks() if is_chunked else r.take(length or 0)
    return Request(match[1], match[2], fields, body)


def requests(stream, host):
    """([Request], what is left of one that is not whole)."""
    r, found = Reader(stream), []
    while not r.is_done():
        start = r.at
        try:
            found.append(request(r, host))
        except Cut:
            return found, r.data[start:]
    return found, b""


def answer(r, method):
    status = int(r.line(ANSWER, "a status line")[1])
    fields = r.fields()
    says = one(fields, b"connection")
    if says not in (None, b"close", b"keep-alive"):
        raise Bad(f"Connection: {says!r}")
    check_names([f for f in fields if f[0] != b"connection"])
    length, is_chunked = framing(fields)
    if status < 200 or status in (204, 304) or method == b"HEAD":
        if is_chunked or (status < 200 or status == 204) and length:
            raise Bad(f"{status} to {method!r} has a body: {fields}")
        return Answer(status, fields, b"")
    if is_chunked:
        return Answer(status, fields, r.chunks())
    if length is not None:
        return Answer(status, fields, r.take(length))
    if says != b"close":
        raise Bad(f"nothing says how long: {fields}")
    return Answer(status, fields, r.take(len(r.data) - r.at))


def answers(stream, methods=()):
    """([Answer], what is left) for requests by methods, GET where unsaid.

    Interim answers do not count.
    """
    r, found = Reader(stream), []
    while not r.is_done():
        start = r.at
        method = methods[len(found)] if len(found) < len(methods) else b"GET"
        try:
            one_more = answer(r, method)
        except Cut:
            return found, r.data[start:]
        if one_more.status >= 200:
            found.append(one_more)
    return found, b""


def check_fields2(fields):
    """Of HTTP/2: names in lower case, none of a connection of HTTP/1."""
    fields = list(fields)
    for name, value in fields:
        if not NAME2.fullmatch(name) or \
                not re.fullmatch(rb"(?:" + TEXT + rb")?", value):
            raise Bad(f"field {name!r}: {value!r}")
    check_names(fields)
    one(fields, b"content-length")
    if one(fields, b"transfer-encoding") is not None:
        raise Bad("Transfer-Encoding in HTTP/2")


def request2(headers, body, host):
    """A request of HTTP/2, its header list judged likewise."""
    pseudo = [n for n, _ in headers if n.startswith(b":")]
    if sorted(pseudo) != [b":authority", b":method", b":path", b":scheme"] or \
            [n for n, _ in headers[:4]] != pseudo:
        raise Bad(f"pseudo-fields {headers}")
    said, fields = dict(headers[:4]), headers[4:]
    line = b"%s %s HTTP/1.1\r\n" % (said[b":method"], said[b":path"])
    if not REQUEST.fullmatch(line) or said[b":scheme"] != b"https":
        raise Bad(f"{headers}")
    check_fields2(f for f in fields if f != (b"te", b"trailers"))
    if said[b":authority"] != host or one(fields, b"host") is not None:
        raise Bad(f"{headers}")
    length = one(fields, b"content-length")
    if length is not None and length != b"%d" % len(body):
        raise Bad(f"{length!r} for a body of {len(body)}")
    return Request(said[b":method"], said[b":path"], fields, body)
