"""Rows 111 to 113 of the known escapes: what a guest holds in place of a secret
stays what it is, but in the one field that it stands for."""
import base64
import gzip
import re
import secrets

from harness.claims import claim, contains, equal, lacks, until
from harness.raw import Recorder, connect, deliver, read, tls
from harness.world import World

NAMES = {"bound.example.com": "10.201.0.10", "other.example.com": "10.201.0.11"}
PROXY = ("100.64.0.1", 3128)
PLACEHOLDER = "placeholder-of-the-key"
KEY = secrets.token_hex(12)

POLICY = """\
[policy]
version = 1

[allow bound]
host       = bound.example.com
method     = GET, POST
path       = /**
credential = key

[allow other]
host   = other.example.com
method = GET, POST
path   = /**
"""

CREDENTIAL = """
[credential key]
value       = file:{folder}/key
host        = bound.example.com
apply       = bearer
placeholder = {placeholder}
grant       = *
"""

ESCAPED = PLACEHOLDER.replace("-", "%2D"), PLACEHOLDER.replace("-", "\\u002d")
PAIR = base64.b64encode(f"user:my-{PLACEHOLDER}".encode()).decode()

# (what, path, fields, body): each is to be at the origin as the guest wrote it,
# if that is the one that the placeholder is for, or if it is in the body.
PLACES = (
    ("in the path", f"/{PLACEHOLDER}/x", (), b""),
    ("in the query", f"/?token={PLACEHOLDER}&a=b", (), b""),
    ("in a URL, escaped", f"/?token={ESCAPED[0]}", (), b""),
    ("in a field of another name", "/x", (f"X-Other: {PLACEHOLDER}",), b""),
    ("in a field's name", "/x", (f"X-{PLACEHOLDER}: a",), b""),
    ("in the agent's name", "/x", (f"User-Agent: {PLACEHOLDER}/1",), b""),
    ("in a body", "/x", (), f'{{"key": "{PLACEHOLDER}"}}'.encode()),
    ("in a body, as JSON escapes it", "/x", (), ESCAPED[1].encode()),
    ("in a body, in base64", "/x", (), base64.b64encode(PLACEHOLDER.encode())),
    ("in a body that is packed", "/x", ("Content-Encoding: gzip",),
     gzip.compress(PLACEHOLDER.encode() * 3, mtime=0)),
    ("twice in a form", "/x", ("Content-Type: application/x-www-form-urlencoded",),
     f"a={PLACEHOLDER}&b={PLACEHOLDER}".encode()),
)

_world = {}


def world():
    if not _world:
        w = World(NAMES, start=False)
        w.file("key", KEY + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(CREDENTIAL.format(folder=w.folder, placeholder=PLACEHOLDER))
        w.start()
        _world.update(w=w, s=w.sandbox(POLICY), origins={
            n: Recorder(w, a, 443, [n]) for n, a in NAMES.items()})
    for origin in _world["origins"].values():
        origin.forget()
    return _world["w"], _world["s"], _world["origins"]


def curl(s, flag, host, path, fields, body):
    """One request of curl; a body goes in a file, byte for byte."""
    argv = [flag, "-g", "--path-as-is"]
    for field in fields:
        argv += ["-H", field]
    if body:
        with open(f"{s.world.folder}/body", "wb") as f:
            f.write(body)
        argv += ["--data-binary", f"@{s.world.folder}/body"]
    equal(s.curl("-f", *argv, f"https://{host}{path}").ok().out, "ok")


def refused(s, flag, host, path, fields):
    """It leaves the gate in no request, and the log says why."""
    argv = [flag, "-g", "--path-as-is", "-w", "%{http_code}", "-o", "/dev/null"]
    for field in fields:
        argv += ["-H", field]
    before = len(s.world.audit(s.name, reason="credential-misuse"))
    equal(s.curl(*argv, f"https://{host}{path}").out, "403", path)
    until(lambda: len(s.world.audit(s.name, reason="credential-misuse")) > before,
          5, "a record")
    record = s.world.audit(s.name, reason="credential-misuse")[-1]
    contains(record["detail"], "the placeholder of a credential for another host")


@claim("row 111: anywhere but in the credential's field a placeholder is text, to its host only")
def _():
    _, s, origins = world()
    for host, origin in origins.items():
        for flag in ("--http1.1", "--http2"):
            for what, path, fields, body in PLACES:
                origin.forget()
                if host != "bound.example.com" and (
                        PLACEHOLDER in path or PLACEHOLDER in "".join(fields)):
                    refused(s, flag, host, path, fields)
                    equal(origin.seen(), b"", what)
                    continue
                curl(s, flag, host, path, fields, body)
                got = origin.seen()
                what = f"{what} to {host} by {flag}: {got!r}"
                head, _, sent = got.partition(b"\r\n\r\n")
                contains(head.split(b"\r\n")[0], path.encode(), what)
                for field in fields:
                    contains(head.lower(), field.lower().encode(), what)
                equal(sent, body, what)
                # The key is where it belongs, and nowhere beside.
                equal(got.count(KEY.encode()), int(host == "bound.example.com"), what)
                lacks(sent, base64.b64encode(KEY.encode())[:16], what)


@claim("row 111: part of a password, or in another scheme, it is overwritten as a whole")
def _():
    _, s, origins = world()
    origin = origins["bound.example.com"]
    for value in (f"Basic {PAIR}", f"Bearer {PLACEHOLDER}", PLACEHOLDER,
                  f"Digest username={PLACEHOLDER}"):
        origin.forget()
        curl(s, "--http1.1", "bound.example.com", "/x",
             (f"Authorization: {value}",), b"")
        got = origin.seen()
        contains(got.lower(), f"authorization: bearer {KEY}\r\n".encode())
        equal(got.lower().count(b"authorization:"), 1, value)
        lacks(got, value.encode())
    # To a host that it is not for, it does not go, nor in a pair.
    other = origins["other.example.com"]
    for value in (f"Bearer {PLACEHOLDER}", f"Basic {PAIR}"):
        refused(s, "--http1.1", "other.example.com", "/x",
                (f"Authorization: {value}",))
        equal(other.seen(), b"", value)


@claim("row 112: what a guest tells the proxy in CONNECT goes to no origin, and is no placeholder")
def _():
    _, s, origins = world()
    for field in ("Proxy-Authorization: {}", "User-Agent: {}", "X-Other: {}",
                  "Authorization: Basic {}"):
        for value in (PLACEHOLDER, PAIR):
            for host, origin in origins.items():
                origin.forget()
                k = connect(s, PROXY)
                k.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n"
                          f"{field.format(value)}\r\n\r\n".encode())
                contains(read(k, re.compile(rb"\r\n\r\n")), b" 200 ", field)
                with tls(s, host, k) as t:
                    t.sendall(f"GET /x HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                    contains(read(t, re.compile(rb"ok\Z")), b" 200 ", field)
                got = origin.seen()
                lacks(got, PLACEHOLDER.encode(), field)
                lacks(got, PAIR.encode(), field)
                equal(got.count(KEY.encode()), int(host == "bound.example.com"))


@claim("row 113: a body that holds it goes on byte for byte, however it is cut into chunks")
def _():
    _, s, origins = world()
    body = f"--{PLACEHOLDER}{PLACEHOLDER}--".encode()
    for host, origin in origins.items():
        for how in ("whole", "bytes"):
            for size in range(1, len(PLACEHOLDER) + 2, 3):
                origin.forget()
                chunks = b"".join(
                    b"%x\r\n%s\r\n" % (len(body[i:i + size]), body[i:i + size])
                    for i in range(0, len(body), size))
                with tls(s, host) as t:
                    deliver(t, f"POST /x HTTP/1.1\r\nHost: {host}\r\n"
                            "Transfer-Encoding: chunked\r\n\r\n".encode()
                            + chunks + b"0\r\n\r\n", how)
                    contains(read(t, re.compile(rb"ok\Z")), b" 200 ", host)
                head, _, sent = origin.seen().partition(b"\r\n\r\n")
                text = b""
                while sent:
                    length, _, sent = sent.partition(b"\r\n")
                    text += sent[:int(length, 16)]
                    sent = sent[int(length, 16) + 2:]
                equal(text, body, f"{host} {how} {size}")
                equal(head.count(KEY.encode()), int(host == "bound.example.com"))


@claim("the world of placeholders ends and leaves nothing")
def _():
    w, _, _ = world()
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    w.close()
    _world.clear()
