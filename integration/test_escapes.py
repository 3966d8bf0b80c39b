"""Known ways past an egress proxy, by a guest that writes every byte itself.

The numbers are those of the catalogue of escapes; sections C and D have
modules of their own. Origins record each byte they are sent.
"""
import concurrent.futures
import re

from harness.claims import claim, contains, equal, lacks
from harness.raw import OK, REFUSAL, Recorder, read, tls
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
HOST = b"Host: api.example.com\r\n"
REQUEST = b"GET /open/x HTTP/1.1\r\n" + HOST + b"\r\n"
POST = b"POST /open/p HTTP/1.1\r\n" + HOST

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


@claim("row 104: a method that no rule names is refused, in any spelling")
def _():
    _, s, origins = world()
    for method in (b"TRACE", b"trace", b"get", b"DELETE", b"GETX", b"PATCH"):
        with tls(s, "api.example.com") as k:
            k.sendall(method + b" /open/x HTTP/1.1\r\n" + HOST + b"\r\n")
            refused(read(k))
        equal(seen(origins), {}, method)


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
