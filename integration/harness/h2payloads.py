"""What a hostile guest writes in HTTP/2, by row of the catalogue of escapes.

Each is a head that is to be refused with not a byte sent on. All of them name
/open/evil, or say "evil", so that it can be looked for where it must not be.
The inputs of row 80 to 82 follow those that were found in the wild: see its
sources, of which most were against proxies that write HTTP/1 behind HTTP/2.
"""
from .h2frames import request

EVIL = b"GET /open/evil HTTP/1.1\r\nHost: evil.example.com\r\n\r\n"
# How it ends: the stream is reset, or answered by one of these.
RESET, BAD, MISDIRECTED, FORBIDDEN = "reset", "400", "421", "403"


def _get(host, *more):
    return request(host, "/open/evil", "GET", *more)


def _with(host, name, value):
    """The request, with one pseudo-field said differently; None: not at all."""
    return [(n, value if n == name else v) for n, v in _get(host)
            if n != name or value is not None]


VALUES = (b"\n", b"a\nevil: b", b"a\r\nevil: b", b"a\r\n\r\n" + EVIL, b"a\rb",
          b"\0", b"a\0b", b"\r", b"a\x0bb", b"a\x1fb", b"a\x7fb", b" a", b"a ",
          b"\ta", b"a\t")
NAMES = (b"", b"X-Evil", b"evil\r\nx", b"evil\n", b"evil\0", b"evil ", b" evil",
         b"evil:", b"evil: a\r\nhost", b"e(vil)", b"evil\x7f", b"evil\x80",
         b"evil\t", b"ev\"il", b"ev/il", b"ev@il")
PATHS = (b"/open/evil HTTP/1.1\r\nX: y", b"/open/evil\r\n\r\n" + EVIL,
         b"/open/evil x", b"/open/evil\0", b"/open/evil\t", b"/open/evil\n",
         b"/open/evil\x7f", b" /open/evil", b"/open/evil HTTP/1.1")
METHODS = (b"GET /open/evil HTTP/1.1\r\nX: y\r\nZ:", b"GET ", b" GET", b"GET\n",
           b"G\0T", b"", b"GET\r\n\r\n" + EVIL)
TEXTS = (b"https\r\nX: y", b"https ", b"https\0", b"")


def crlf(host):
    """Row 80: {what: (fields, how it ends)}"""
    found = {}
    for v in VALUES:
        found[f"value {v!r}"] = _get(host, ("x-a", v)), RESET
        found[f"cookie {v!r}"] = _get(host, ("cookie", v)), RESET
    for n in NAMES:
        found[f"name {n!r}"] = _get(host, (n, "evil")), RESET
    for p in PATHS:
        found[f":path {p!r}"] = _with(host, ":path", p), RESET
    for m in METHODS:
        found[f":method {m!r}"] = _with(host, ":method", m), RESET
    for t in TEXTS:
        found[f":scheme {t!r}"] = _with(host, ":scheme", t), RESET
    for v in (b"\r\nX: y", b"\n", b"\0", b"\r\n\r\n" + EVIL, b" ", b"\t"):
        text = host.encode() + v
        found[f":authority {text!r}"] = _with(host, ":authority", text), RESET
    return found


def framing(host):
    """Row 81, as far as heads go."""
    fields = [("transfer-encoding", v) for v in (
        "chunked", "identity", "gzip, chunked", "xchunked", "", "CHUNKED")]
    fields += [("connection", v) for v in (
        "close", "keep-alive", "transfer-encoding", "upgrade, http2-settings")]
    fields += [("keep-alive", "timeout=5"), ("proxy-connection", "keep-alive"),
               ("upgrade", "h2c"), ("upgrade", "websocket"), ("te", "chunked"),
               ("te", "trailers, chunked"), ("te", "gzip")]
    fields += [("content-length", v) for v in (
        "3", "+0", "-0", "0x0", "00", "", " 0", "0 ", "0, 0", "1_0",
        "18446744073709551616", "9223372036854775808")]
    found = {f"{n}: {v}": (_get(host, (n, v)), RESET) for n, v in fields}
    for a, b in (("0", "0"), ("0", "5"), ("5", "0")):
        found[f"content-length {a} and {b}"] = _get(
            host, ("content-length", a), ("content-length", b)), RESET
    return found


def targets(host, other):
    """Row 82: what names another place, or two, or none."""
    found = {}
    for text, end in (
            (other, MISDIRECTED), ("evil.example.com:443", MISDIRECTED),
            (f"{host}:8443", MISDIRECTED), (f"{host}:80", MISDIRECTED),
            (f"evil@{host}", BAD), (f"{host}@evil.example.com", BAD),
            (f"{host}:", BAD), (f"{host}:0443", BAD), (f"{host}:443:443", BAD),
            (f"{host}/evil", RESET), (f"{host}#evil", RESET),
            (f"{host}?evil", RESET), ("192.0.2.1", BAD), ("[::1]", BAD),
            ("", RESET), (None, RESET)):
        found[f":authority {text}"] = _with(host, ":authority", text), end
    for text, end in ((other, BAD), (f"{host}:8443", BAD), ("", RESET),
                      (f"{host}, {other}", RESET)):
        found[f"host {text}"] = _get(host, ("host", text)), end
    found["two hosts"] = _get(host, ("host", host), ("host", host)), RESET
    found["two authorities"] = [*_get(host), (":authority", host)], RESET
    found["an authority behind fields"] = [
        *_with(host, ":authority", None), ("x-a", "b"), (":authority", host)
    ], RESET
    for text, end in ((f"https://{other}/open/evil", RESET), ("open/evil", RESET),
                      ("*", RESET), ("", RESET), (None, RESET),
                      ("/open/evil#x", BAD), ("?evil", RESET)):
        found[f":path {text}"] = _with(host, ":path", text), end
    for text, end in (("http://x/?", RESET), (f"https://{other}/?", RESET),
                      ("ftp", BAD), ("HTTPS", BAD), ("http", BAD),
                      (None, RESET)):
        found[f":scheme {text}"] = _with(host, ":scheme", text), end
    for text, end in (("GET?", RESET), ("GET:", RESET), ("get", FORBIDDEN),
                      ("TRACE", FORBIDDEN), (None, RESET)):
        found[f":method {text}"] = _with(host, ":method", text), end
    for name, end in (("content_length", BAD), ("transfer_encoding", BAD),
                      (":status", RESET), (":evil", RESET), (":", RESET)):
        found[f"field {name}"] = _get(host, (name, "3")), end
    found["expect"] = _get(host, ("expect", "evil")), BAD
    return found


def connects(host):
    """Row 86."""
    target = ":authority", f"{host}:443"
    extended = [(":method", "CONNECT"), (":protocol", "websocket"),
                (":scheme", "https"), (":path", "/open/evil"), target]
    return {
        "CONNECT": ([(":method", "CONNECT"), target], RESET),
        "CONNECT elsewhere": ([(":method", "CONNECT"),
                               (":authority", "evil.example.com:443")], RESET),
        "CONNECT with a path": ([(":method", "CONNECT"),
                                 (":path", "/open/evil"), target], RESET),
        "extended CONNECT": (extended, RESET),
        "extended CONNECT of another kind": (
            [(n, "connect-udp" if n == ":protocol" else v)
             for n, v in extended], RESET),
        ":protocol on GET": (_get(host, (":protocol", "websocket")), RESET),
    }
