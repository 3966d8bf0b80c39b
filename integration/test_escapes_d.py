"""Which host a request is for: section D of the known escapes, row by row.

What is written is in payloads/rows_d.txt and rows_d_proxy.txt, with what the
guest is to read for it; here is what takes more than bytes to say.
"""
import re
import ssl

from harness import payloads, smuggle
from harness.claims import claim, contains, equal
from harness.raw import (Recorder, connect, deliver, hello, read, synthetic,
                         tls)
from harness.smuggle import PROXY

NAMES = {
    "evil.example.com": "10.201.0.33",
    "denied.example.com": "10.201.0.34",
    "pass.example.com": "10.201.0.35",
    "tcp.example.com": "10.201.0.36",
}

POLICY = """\
[policy]
version = 1

[allow tls]
host   = one.example.com, two.example.com, evil.example.com
method = GET, HEAD, POST, PUT, OPTIONS
path   = /open/**

[allow plain]
host   = plain.example.com
port   = 80
scheme = http
method = GET, HEAD, POST, PUT, OPTIONS
path   = /open/**

[deny admin]
host = one.example.com, two.example.com, plain.example.com
path = /open/admin/**

[deny put]
host   = one.example.com, two.example.com, plain.example.com
method = PUT

[allow pass]
host = pass.example.com
tls  = passthrough

[allow tcp]
host   = tcp.example.com
port   = 5432
scheme = tcp
"""

ROWS = payloads.rows("rows_d")
AT_PROXY = payloads.rows("rows_d_proxy")
ALL = ("tls", "tls to h2", "http", "proxy")
INSIDE = ("tls", "tls to h2", "http")
TLS = ("tls", "tls to h2")
_world = {}


def field():
    if not _world:
        f = smuggle.Field(POLICY, NAMES)
        _world["field"] = f
        _world["others"] = {
            name: Recorder(f.w, NAMES[f"{name}.example.com"], 443,
                           [f"{name}.example.com"])
            for name in ("evil", "denied", "pass")}
        _world["others"]["tcp"] = Recorder(
            f.w, NAMES["tcp.example.com"], 5432)
    return _world["field"]


def row(number, routes=ALL):
    said = smuggle.run(field(), ROWS[number], routes)
    equal(reached(), set())
    return said


def reached():
    """Names of the other origins that were sent a byte since the last time."""
    found = {name for name, o in _world["others"].items() if o.seen()}
    for o in _world["others"].values():
        o.forget()
    return found


@claim("row 61: target and Host name one host, or nothing is done")
def _():
    said = row(61)
    return f"{said}; {smuggle.run(field(), AT_PROXY[61], ['proxy'])}"


@claim("row 62: two Host fields are refused, in any spelling, equal or not")
def _():
    return row(62)


@claim("row 63: no host is refused, in any version")
def _():
    return row(63)


@claim("row 64: an authority is a name and perhaps a port")
def _():
    return row(64)


@claim("row 65: a fragment is refused")
def _():
    return row(65)


@claim("rows 14, 66: no spelling of a path or method passes a rule")
def _():
    return row(66)


@claim("rows 3-18, 67, 160: CONNECT names a host and a port, and Host the same")
def _():
    said = smuggle.run(field(), AT_PROXY[67], ["proxy"])
    equal(reached(), set())
    return said


def fronted(s, authority, asked, sni, host):
    """What a guest gets that names up to three hosts at once."""
    full = f"{sni}.example.com"
    try:
        if asked:
            target = f"{asked}.example.com:443"
            k = connect(s, PROXY)
            k.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"
                      .encode())
            read(k, re.compile(rb"\r\n\r\n"))
        else:
            # Whatever address was dialled (row 29).
            k = connect(s, (synthetic(s, "denied.example.com"), 443))
        with tls(s, full, k, authority.ca if sni == "pass" else s.ca) as t:
            t.sendall(f"GET /open/x HTTP/1.1\r\nHost: {host}.example.com\r\n"
                      "Connection: close\r\n\r\n".encode())
            return read(t, re.compile(rb"\r\n\r\n"))
    except OSError as e:
        return repr(e).encode()


def agree(asked):
    """Every SNI with every Host, CONNECT to asked before if it is a name."""
    f = field()
    names = ("one", "evil", "denied", "pass")
    sinks = {"one": f.sinks["one"].recorder, **_world["others"]}
    for o in sinks.values():
        o.forget()
    for sni in names:
        for host in names:
            what = f"CONNECT {asked}, SNI {sni}, Host {host}"
            data = fronted(f.s, f.w.authority, asked, sni, host)
            found = {name for name, o in sinks.items() if o.seen()}
            for o in sinks.values():
                o.forget()
            # Passthrough promises the name in the SNI, and says so.
            want = {sni} if asked in (None, sni) and (
                sni == "pass" or sni == host != "denied") else set()
            equal(found, want, f"{what}: {data!r}")
            equal(b"200 OK" in data, bool(want), what)
            if asked in (None, sni) and sni in ("one", "evil") and host != sni:
                contains(data, b"HTTP/1.1 421 ", what)
    return len(names) ** 2


@claim("rows 68, 87: CONNECT to one name and the SNI of another is closed before anything is sent")
def _():
    count = sum(agree(asked) for asked in ("one", "evil", "denied", "pass"))
    return f"{count} ways"


@claim("row 69: the SNI of one name and the Host of another is misdirected")
def _():
    agree(None)
    return row(69, TLS)


@claim("row 70: so it is in a later request of the connection")
def _():
    return row(70, TLS)


@claim("row 72: nor is another host or CONNECT inside an inspected connection")
def _():
    return row(72, INSIDE)


def tunnel(s, target, behind, how):
    """CONNECT and what is behind it, written in one of the ways."""
    head = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode()
    good = field().routes["proxy"].request("/open/first")
    k = connect(s, PROXY)
    if how == "second":
        head = good + head
    deliver(k, head + behind, "whole" if how == "second" else how)
    return k


def take_head(k):
    """The head of an answer, and not a byte more."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += k.recv(1)
    return head


@claim("row 73: bytes behind a CONNECT are for whom it leads to")
def _():
    f = field()
    for how in smuggle.HOWS:
        started = hello("one.example.com", f.s.ca)
        with tunnel(f.s, "one.example.com:443", started[0], how) as k:
            if how == "second":
                contains(take_head(k), b"200 OK")
                equal(k.recv(2), b"ok")
            contains(take_head(k), b"HTTP/1.1 200 ", how)
            data = go_on(k, started, f.routes["tls"].request("/open/x"))
        contains(data, b"200 OK", how)
        requests, is_more = f.routes["tls"].take()
        equal(([r.target for r in requests], is_more), ([b"/open/x"], False))
        f.routes["proxy"].take()


def go_on(k, started, request):
    """The answer's head to request, after the hello was written."""
    _, o, incoming, outgoing = started
    k.settimeout(5)
    data, is_asked = b"", False
    while b"\r\n\r\n" not in data:
        try:
            if not is_asked:
                o.do_handshake()
                o.write(request)
                is_asked = True
            k.sendall(outgoing.read())
            data += o.read(65536)
        except ssl.SSLWantReadError:
            k.sendall(outgoing.read())
            part = k.recv(65536)
            if not part:
                return data + b"<end>"
            incoming.write(part)
    return data


@claim("row 73: bytes behind a CONNECT that is refused are for nobody, nor are those that are no TLS")
def _():
    f = field()
    inside = f.routes["tls"].request("/open/x")
    plain = f.routes["proxy"].request("/open/x")
    cases = (("one.example.com:443", inside, [200]),
             ("one.example.com:443", plain, [200]),
             ("unheard.example.com:443", plain, [200]),
             ("one.example.com:22", plain, [403]),
             ("one.example.com", plain, [400]))
    for target, behind, want in cases:
        for how in smuggle.HOWS:
            with tunnel(f.s, target, behind, how) as k:
                data = read(k, None)
            found = [int(s) for s in re.findall(rb"HTTP/1\.1 (\d{3}) ", data)]
            equal(found, ([200] if how == "second" else []) + want,
                  f"{target} {how}: {data!r}")
            requests = [r.target for r in f.routes["proxy"].take()[0]]
            equal(requests, [b"/open/first"] if how == "second" else [], how)
            equal(f.routes["tls"].take(), ([], False), how)


@claim("row 74: an upgrade to anything that no rule allows is removed, and the request goes on")
def _():
    return row(74)


HELLO = b"\x16\3\1\2\0\1\0\1\xfc\3\3" + bytes(508)
OTHERS = {
    "SSH": b"SSH-2.0-x\r\n",
    "SOCKS 5": b"\5\1\0",
    "SOCKS 5, UDP associate": b"\5\3\0\1\0\0\0\0\0\0",
    "SOCKS 5, bind": b"\5\2\0\1\x0a\xc9\0\x1e\1\xbb",
    "SOCKS 4": b"\4\1\1\xbb\x0a\xc9\0\x1e\0",
    "SOCKS 4a": b"\4\1\1\xbb\0\0\0\1\0one.example.com\0",
    "PROXY protocol": b"PROXY TCP4 10.201.0.1 10.201.0.2 1 2\r\n",
    "PROXY protocol 2": b"\r\n\r\n\0\r\nQUIT\n\x20\x11\0\x0c" + bytes(12),
    "SMTP": b"EHLO x\r\n",
    "FTP": b"USER anonymous\r\n",
    "RTSP": b"OPTIONS rtsp://one.example.com/ RTSP/1.0\r\n\r\n",
    "NUL": bytes(16),
    "h2 by prior knowledge": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


def is_closed(address, items):
    """Each of items is closed, with an answer of ours or an alert at most."""
    f = field()
    asked = len(f.w.resolver.queries())
    for what, data in items.items():
        for how in ("whole", "bytes"):
            with connect(f.s, address) as k:
                deliver(k, data, how)
                smuggle.end(k)
                got = read(k, None, 10)
            assert got.endswith(b"<end>") or b"Reset" in got, f"{what}: {got}"
            assert got[:1] in (b"\x15", b"<") or re.match(
                rb"HTTP/1\.1 400 .*Tapward-Reason: ", got, re.DOTALL), \
                f"{what} {how} to {address}: {got!r}"
    for name, route in f.routes.items():
        equal(route.take(), ([], False), name)
    equal(reached(), set())
    equal(f.w.resolver.queries()[asked:], [])
    return len(items) * 2


@claim("row 75: what is no TLS on 443 and what is no HTTP on 80 is closed; nothing is guessed")
def _():
    f = field()
    request = {"HTTP": f.routes["tls"].request("/open/x"),
               "HTTP to a proxy": f.routes["proxy"].request("/open/x"),
               "CONNECT": b"CONNECT one.example.com:443 HTTP/1.1\r\n"
                          b"Host: one.example.com:443\r\n\r\n"}
    count = is_closed((synthetic(f.s, "one.example.com"), 443),
                      {**OTHERS, **request})
    plain = {**OTHERS, "TLS": HELLO}
    count += is_closed((synthetic(f.s, "plain.example.com"), 80), plain)
    count += is_closed(PROXY, plain)
    for event in ("connect", "request"):  # before TLS, and without any
        f.s.audited(event=event, verdict="deny", reason="not-http")
    return f"{count} deliveries"


@claim("row 79: there is no SOCKS")
def _():
    f = field()
    socks = {k: v for k, v in OTHERS.items() if k.startswith("SOCKS")}
    count = sum(is_closed(address, socks) for address in (
        ("100.64.0.1", 3128), (synthetic(f.s, "one.example.com"), 443),
        (synthetic(f.s, "plain.example.com"), 80)))
    for port in (1080, 1081, 9050):
        try:
            connect(f.s, ("100.64.0.1", port)).close()
            raise AssertionError(f"{port} answers")
        except ConnectionRefusedError:
            pass
    return f"{count} deliveries"


@claim("row 76: plain HTTP is judged as HTTPS is, for the same reasons")
def _():
    f = field()
    asks = {
        "GET {u}/closed": "path", "GET {u}/open/admin/x": "denied-by-rule",
        "PUT {u}/open/x": "denied-by-rule", "TRACE {u}/open/x": "method",
        "GET {u}/open/../x": "denied-by-rule", "GET {u}/open/x#y": "bad-request",
    }
    for ask, reason in asks.items():
        for route in f.routes.values():
            with route.open() as k:
                k.sendall(f"{ask.format(u=route.prefix)} HTTP/1.1\r\n"
                          f"Host: {route.host}\r\n\r\n".encode())
                data = read(k)
            contains(data, f"Tapward-Reason: {reason}\r\n".encode(),
                     f"{ask} by {route.name}")
    for address, prefix in (((synthetic(f.s, "plain.example.com"), 80), ""),
                            (PROXY, "http://unheard.example.com")):
        with connect(f.s, address) as k:
            k.sendall(f"GET {prefix}/open/x HTTP/1.1\r\n"
                      "Host: unheard.example.com\r\n\r\n".encode())
            contains(read(k), b"Tapward-Reason: no-rule\r\n")
    for route in f.routes.values():
        equal(route.take(), ([], False))


@claim("row 77: a guest names no parent proxy")
def _():
    return row(77)


@claim("the world of the hosts ends and leaves nothing")
def _():
    field().close()
    _world.clear()
