"""Known ways past an egress proxy, by a guest that writes every byte itself.

The numbers are those of the catalogue of escapes; payloads.py has what is
written. Origins record each byte they are sent.
"""
import concurrent.futures
import re

from harness import payloads
from harness.claims import claim, contains, equal, lacks, until
from harness.payloads import EVIL, HOST, POST
from harness.raw import (OK, REFUSAL, Recorder, connect, deliver, read,
                         synthetic, tls)
from harness.world import World

NAMES = {
    "api.example.com": "10.201.0.10",
    "evil.example.com": "10.201.0.11",
    "plain.example.com": "10.201.0.12",
    "pass.example.com": "10.201.0.13",
    "denied.example.com": "10.201.0.14",
    "tcp.example.com": "10.201.0.15",
    "cred.example.com": "10.201.0.16",
}

POLICY = """\
[policy]
version = 1

[allow api]
host   = api.example.com, evil.example.com
method = GET, HEAD, POST, PUT, OPTIONS
path   = /open/**

[deny admin]
host = api.example.com, evil.example.com
path = /open/admin/**

[deny put]
host   = api.example.com
method = PUT

[allow cred]
host       = cred.example.com
credential = key

[allow pass]
host = pass.example.com
tls  = passthrough

[allow plain]
host   = plain.example.com
port   = 80
scheme = http
path   = /open/**

[allow tcp]
host   = tcp.example.com
port   = 5432
scheme = tcp
"""

# With what encoders of URLs and of JSON escape.
KEY = "k3y/of+Many=Bytes/9876543210"
GATEWAY, PROXY = "100.64.0.1", ("100.64.0.1", 3128)
REQUEST = b"GET /open/x HTTP/1.1\r\n" + HOST + b"\r\n"

_world = {}


def world():
    if not _world:
        w = World(NAMES, start=False)
        key = w.file("key.secret", KEY + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(f"[credential key]\nkind = static\nvalue = file:{key}\n"
                    "host = cred.example.com\napply = bearer\n"
                    "grant = * user:root\n")
        w.start()
        origins = {
            name: Recorder(w, NAMES[f"{name}.example.com"], 443, list(NAMES))
            for name in ("api", "evil", "pass", "denied", "cred")}
        origins["plain"] = Recorder(w, NAMES["plain.example.com"], 80)
        origins["tcp"] = Recorder(w, NAMES["tcp.example.com"], 5432)
        _world.update(w=w, s=w.sandbox(POLICY), origins=origins)
    for origin in _world["origins"].values():
        origin.forget()
        origin.answer = lambda nth, head: OK
    return _world["w"], _world["s"], _world["origins"]


def seen(origins):
    """{origin: bytes} of those that were sent any since the last time."""
    found = {n: o.seen() for n, o in origins.items() if o.seen()}
    for o in origins.values():
        o.forget()
    return found


def statuses(data):
    return [int(s) for s in re.findall(rb"HTTP/1\.1 (\d{3}) ", data)]


def refused(data):
    """The one status of an answer of ours that is no 5xx; else it fails."""
    found = statuses(data)
    assert len(found) == 1 and found[0] in (400, 403, 414, 417, 421, 431) \
        and REFUSAL.search(data), data


@claim("rows 36-66, 72, 104: a head that can be read in two ways is refused, however it arrives, and nothing is sent on")
def _():
    _, s, origins = world()
    count = 0
    for row, items in payloads.HEADS.items():
        for item in items:
            for how in ("whole", "bytes", "lines"):
                with tls(s, "api.example.com") as k:
                    deliver(k, item, how)
                    data = read(k)
                found = seen(origins)
                assert not found, f"row {row} {how} {item!r}: {found}"
                refused(data)
                count += 1
    return f"{count} deliveries"


@claim("rows 36-66, 72, 104: nor as the second request of a kept connection")
def _():
    _, s, origins = world()
    for row, items in payloads.HEADS.items():
        for item in items:
            with tls(s, "api.example.com") as k:
                deliver(k, REQUEST + item, "whole")
                data = read(k)
            equal(seen(origins), {"api": REQUEST}, f"row {row} {item!r}")
            contains(data, b"\r\n\r\nok", f"row {row}")
            refused(data.split(b"\r\n\r\nok", 1)[1])


@claim("rows 41-43: a chunk that is none ends both sides; what follows is never a request")
def _():
    _, s, origins = world()
    count = 0
    for row, items in payloads.BODIES.items():
        for item in items:
            for how in ("whole", "bytes", "lines"):
                ended = origins["api"].ended
                with tls(s, "api.example.com") as k:
                    deliver(k, payloads.CHUNKED + item, how)
                    data = read(k)
                what = f"row {row} {how} {item!r}"
                until(lambda: origins["api"].ended > ended, 5,
                      f"the connection to the origin ends: {what}")
                lacks(seen(origins).get("api", b""), b"evil", what)
                refused(data)
                count += 1
    return f"{count} deliveries"


# What is written, and what the origin gets: each byte, chunks decoded.
CANONICAL = {
    "54: hop by hop": (
        b"GET /open/x HTTP/1.1\r\nHost: API.example.com.:443\r\n"
        b"Connection: close, Host, Content-Length, X-Own\r\nX-Own: a\r\n"
        b"X-Kept: b\r\nProxy-Authorization: c\r\nTE: trailers\r\n"
        b"Keep-Alive: 1\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n\r\n",
        REQUEST[:-2] + b"X-Kept: b\r\n\r\n"),
    "42, 44: extensions and trailers": (
        POST + b"transfer-ENCODING: ChunKed\r\n\r\n5;a=b\r\nABCDE\r\n0\r\n"
        b"Content-Length: 5\r\nHost: evil.example.com\r\nAuthorization: x\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n",
        payloads.CHUNKED + b"ABCDE"),
    "51: a body of GET": (
        b"GET /open/x HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n"
        % len(EVIL) + EVIL,
        b"GET /open/x HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n"
        % len(EVIL) + EVIL),
    "52: Expect, and the body at once": (
        POST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\nabcde",
        POST + b"Content-Length: 5\r\n\r\nabcde"),
    "61: absolute form": (
        b"GET https://api.example.com/open/x HTTP/1.1\r\n" + HOST + b"\r\n",
        REQUEST),
    "50: one CRLF before it": (b"\r\n" + REQUEST, REQUEST),
}


def decoded(message):
    """A message with its chunks joined; they end it, without a trailer."""
    head, rest = message.split(b"\r\n\r\n", 1)
    if b"\r\nTransfer-Encoding: chunked" not in head:
        return message
    body = b""
    while not rest.startswith(b"0\r\n"):
        size, rest = rest.split(b"\r\n", 1)
        end = int(size, 16)
        equal(rest[end:end + 2], b"\r\n", message)
        body, rest = body + rest[:end], rest[end + 2:]
    equal(rest, b"0\r\n\r\n", message)
    return head + b"\r\n\r\n" + body


@claim("rows 42, 44, 50-54, 61: what is sent on is written anew, in one spelling")
def _():
    _, s, origins = world()
    for what, (written, want) in CANONICAL.items():
        for how in ("whole", "bytes", "lines"):
            with tls(s, "api.example.com") as k:
                deliver(k, written, how)
                contains(read(k, re.compile(rb"ok\Z")), b"200 OK", what)
            equal(decoded(seen(origins)["api"]), want, what)


@claim("rows 14, 50, 66: no spelling of what a deny rule names passes it")
def _():
    _, s, origins = world()
    for line in (b"PUT /open/x", b"put /open/x", b"Put /open/x",
                 b"GET /open/admin/x", b"GET /open/Admin/x",
                 b"GET /open/%61dmin/x", b"GET /open/%41DMIN/x",
                 b"GET /open//admin/x", b"GET /open/./admin/x",
                 b"GET /open/x/../admin/x", b"GET /open/admin%2fx",
                 b"GET /open/admin;a/x", b"GET /open/admin\\x"):
        with tls(s, "api.example.com") as k:
            k.sendall(line + b" HTTP/1.1\r\n" + HOST + b"\r\n")
            refused(read(k))
        equal(seen(origins), {}, line)


@claim("rows 66, 108: no field tells an origin of another method, path or host than was judged")
def _():
    _, s, origins = world()
    for name in (b"X-HTTP-Method-Override", b"X-HTTP-Method",
                 b"x-method-override"):
        for method in (b"DELETE", b"put", b"TRACE"):
            with tls(s, "api.example.com") as k:
                k.sendall(POST + name + b": " + method
                          + b"\r\nContent-Length: 0\r\n\r\n")
                refused(read(k))
            equal(seen(origins), {}, (name, method))
        # The broker is asked about one method: with a credential none is.
        with tls(s, "cred.example.com") as k:
            k.sendall(b"POST / HTTP/1.1\r\nHost: cred.example.com\r\n"
                      + name + b": GET\r\nContent-Length: 0\r\n\r\n")
            contains(read(k), b"Tapward-Reason: credential-misuse")
        equal(seen(origins), {}, name)
    fields = b"".join(name + b": evil.example.com/open/admin\r\n" for name in (
        b"X-Original-URL", b"X-Rewrite-URL", b"X-Forwarded-Host", b"Forwarded",
        b"X-Forwarded-Prefix", b"x-host", b"X-Original-Host"))
    with tls(s, "api.example.com") as k:
        k.sendall(REQUEST[:-2] + fields + b"\r\n")
        contains(read(k, re.compile(rb"ok\Z")), b"200 OK")
    equal(seen(origins), {"api": REQUEST})


@claim("row 56: each of a pipeline is judged for itself; none behind a refused body")
def _():
    _, s, origins = world()
    denied = REQUEST.replace(b"/open/x", b"/closed")
    with tls(s, "api.example.com") as k:
        k.sendall(denied + REQUEST + denied)
        data = read(k, re.compile(rb"(?s)200 OK.*Tapward-Reason: .*\n\Z"))
    equal(statuses(data), [403, 200, 403])
    equal(seen(origins), {"api": REQUEST})
    body = POST.replace(b"/open/p", b"/closed") + b"Content-Length: %d\r\n\r\n"
    for written in (body % len(EVIL) + EVIL + EVIL,
                    body % 4 + EVIL):
        with tls(s, "api.example.com") as k:
            k.sendall(written)
            equal(statuses(read(k, None)), [403])
        equal(seen(origins), {}, written)


@claim("rows 3-18, 61-67, 160: CONNECT and absolute forms of the proxy: nothing is looked up, nothing sent")
def _():
    w, s, origins = world()
    connects = (
        b"api.example.com", b"/", b"http://api.example.com:443",
        b"api.example.com:443/x", b"u@api.example.com:443",
        b"api.example.com:0443", b"api.example.com:+443",
        b"[api.example.com]:443", b"10.201.0.10:443", b"[::1]:443",
        b"127.1:443", b"2130706433:443", b"0x7f000001:443",
        b"api.example.com..:443", b"api.example.com\0:443",
        b"plain.example.com:80", b"api.example.com:22",
        b"tcp.example.com:5433", b"127.0.0.1:9464", b"100.64.0.1:3128")
    targets = (
        (b"http://plain.example.com/open/x", b"evil.example.com"),
        (b"http://unheard.example.com/open/x", b"plain.example.com"),
        (b"https://api.example.com/open/x", b"api.example.com"),
        (b"http://api.example.com:443/open/x", b"api.example.com:443"),
        (b"http://plain.example.com/open/x", b"plain.example.com:8080"),
        (b"http://plain.example.com@unheard.example.com/", b"plain.example.com"),
        (b"http://unheard.example.com#@plain.example.com/", b"plain.example.com"),
        (b"http://unheard.example.com\\@plain.example.com/", b"plain.example.com"),
        (b"http://plain.example.com:80:80/open/x", b"plain.example.com"),
        (b"http:/plain.example.com/open/x", b"plain.example.com"),
        (b"//plain.example.com/open/x", b"plain.example.com"),
        (b"/open/x", b"plain.example.com"),
        (b"http://%70lain.example.com/open/x", b"plain.example.com"),
        (b"http://127.0.0.1/", b"127.0.0.1"),
        (b"http://10.201.0.12/open/x", b"10.201.0.12"),
        (b"http://plain.example.com?open", b"plain.example.com"),
        (b"http://tcp.example.com:5432/", b"tcp.example.com:5432"),
        (b"http://pass.example.com:443/", b"pass.example.com:443"),
        (b"ftp://plain.example.com/open/x", b"plain.example.com"))
    heads = [b"CONNECT " + t + b" HTTP/1.1\r\nHost: " + t for t in connects]
    heads += [b"GET " + t + b" HTTP/1.1\r\nHost: " + h for t, h in targets]
    heads += [b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: " + more
              for more in (b"unheard.example.com:443",
                           b"api.example.com:443\r\nContent-Length: 5",
                           b"api.example.com:443\r\nTransfer-Encoding: chunked")]
    before = len(w.resolver.queries())
    for head in heads:
        for how in ("whole", "bytes"):
            with connect(s, PROXY) as k:
                deliver(k, head + b"\r\n\r\n", how)
                refused(read(k))
    equal(seen(origins), {})
    equal(w.resolver.queries()[before:], [])
    return f"{2 * len(heads)} deliveries"


@claim("row 73: bytes behind a CONNECT go to whom it leads to, or nowhere")
def _():
    _, s, origins = world()
    ask = b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n"
    with connect(s, PROXY) as k:
        k.sendall(ask % ((b"api.example.com:443",) * 2) + REQUEST)
        data = read(k, None)
    contains(data, b" 200 ")
    equal(statuses(data), [200])
    equal(seen(origins), {})
    # A refusal takes what follows with it, be it a request that is allowed.
    plain = (b"GET http://plain.example.com/open/x HTTP/1.1\r\n"
             b"Host: plain.example.com\r\n\r\n")
    with connect(s, PROXY) as k:
        k.sendall(ask % ((b"api.example.com:22",) * 2) + plain)
        equal(statuses(read(k, None)), [403])
    equal(seen(origins), {})


@claim("rows 68-70, 87: only where CONNECT, SNI and Host agree is anything sent")
def _():
    w, s, origins = world()
    names = ("api", "evil", "denied", "pass")
    count = 0
    for asked in (None, *names):
        for sni in names:
            for host in names:
                count += 1
                what = f"CONNECT {asked}, SNI {sni}, Host {host}"
                data = fronted(w, s, asked, sni, host)
                found = set(seen(origins))
                is_agreed = asked in (None, sni)
                # Passthrough promises the name in the SNI, and says so.
                want = {sni} if is_agreed and (
                    sni == "pass" or sni == host != "denied") else set()
                equal(found, want, f"{what}: {data!r}")
                equal(b"200 OK" in data, bool(want), what)
    return f"{count} ways"


def fronted(w, s, asked, sni, host):
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
        ca = w.authority.ca if sni == "pass" else s.ca
        with tls(s, full, k, ca) as t:
            t.sendall(f"GET /open/x HTTP/1.1\r\nHost: {host}.example.com\r\n"
                      "Connection: close\r\n\r\n".encode())
            return read(t, re.compile(rb"\r\n\r\n"))
    except OSError as e:
        return repr(e).encode()


ANSWERED = re.compile(rb"\r\n\r\nok\Z|ok\r\n0\r\n\r\n\Z|" + REFUSAL.pattern,
                      re.DOTALL)


@claim("rows 53, 59: no answer of an evil origin is taken for the answer to another request")
def _():
    w, s, origins = world()
    api = origins["api"]
    for what, (said, is_refused) in payloads.ANSWERS.items():
        api.answer = lambda nth, head, said=said: said if b"/open/x" in head \
            else OK.replace(b"ok", b"me")
        with tls(s, "api.example.com") as k:
            k.sendall(REQUEST)
            data = read(k, ANSWERED, seconds=0.3)
            lacks(data, b"poison", what)
            lacks(data, b"Set-Cookie", what)
            if is_refused:
                assert b" 502 " in data or b"chunked" in data, f"{what}: {data}"
        with tls(s, "api.example.com") as k:
            k.sendall(REQUEST.replace(b"/open/x", b"/open/next"))
            data = read(k, re.compile(rb"me\Z"))
            equal(statuses(data), [200], what)
            contains(data, b"\r\n\r\nme", what)
    s.audited(event="request", reason="bad-response")
    return f"{len(payloads.ANSWERS)} answers"


@claim("row 105: a credential that is echoed as encoders of URLs and JSON write it is masked")
def _():
    _, s, origins = world()
    key = KEY.encode()
    for text in (key, b"k3y%2Fof%2BMany%3DBytes%2F9876543210",
                 b"k3y%2fof%2bMany%3dBytes%2f9876543210",
                 b"k3y/of%2BMany%3DBytes/9876543210",
                 key.replace(b"/", b"\\/"), key.replace(b"+", b"\\u002B"),
                 key.replace(b"=", b"\\u003d")):
        for size in (len(text), 1):
            origins["cred"].answer = lambda nth, head, text=text, size=size: (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + b"".join(b"%x\r\n" % len(text[i:i + size]) + text[i:i + size]
                           + b"\r\n" for i in range(0, len(text), size))
                + b"0\r\n\r\n")
            with tls(s, "cred.example.com") as k:
                k.sendall(b"GET / HTTP/1.1\r\nHost: cred.example.com\r\n\r\n")
                data = read(k, re.compile(rb"\r\n0\r\n\r\n\Z"))
            contains(seen(origins)["cred"], b"Bearer " + key)
            body = re.sub(rb"\r\n[0-9a-f]+\r\n", b"", data.split(b"\r\n\r\n", 1)[1])
            lacks(body, text[:8], repr(text))
            contains(body, b"*" * 8, repr(text))


@claim("rows 30, 148, 149, 159: of the gateway's TCP ports DNS and the proxy answer, of an address that nobody was told DNS")
def _():
    _, s, _ = world()
    code = """
import socket, sys
for port in range(1, 65536):
    k = socket.socket()
    k.settimeout(2)
    try:
        k.connect((sys.argv[1], port))
        print(port)
    except ConnectionRefusedError:
        pass
    except OSError as e:
        print(port, e)
    k.close()
"""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = [pool.submit(s.run, ["python3", "-c", code, address])
                for address in (GATEWAY, "10.201.0.1")]
    equal(runs[0].result().ok().out.split(), ["53", "3128"])
    equal(runs[1].result().ok().out.split(), ["53"])


@claim("the world of the escapes ends and leaves nothing")
def _():
    w, s, _ = world()
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    s.rm().ok()
    w.close()
    _world.clear()
