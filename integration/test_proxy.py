"""Origins behind a company's forward proxy: squid, and one that says what a
test tells it to. Its password is where it must be, and nowhere else.
"""
import base64
import re
import secrets

from harness import memory
from harness.claims import claim, contains, equal, lacks, until
from harness.issuer import Issuer
from harness.origins import HeadsOrigin, RawOrigin
from harness.raw import connect, read, synthetic
from harness.squid import Squid
from harness.world import World

ORIGIN, PLAIN, MAIL = "10.201.0.40", "10.201.0.41", "10.201.0.42"
SQUID, ODD, ISSUER = "10.201.0.43", "10.201.0.44", "10.201.0.45"
# Only squid knows where these are; our resolver has none of them.
BEHIND = {"api.example.net": ORIGIN, "minted.example.net": ORIGIN,
          "pass.example.net": ORIGIN, "plain.example.net": PLAIN,
          "mail.example.net": MAIL, "issuer.example.net": ISSUER,
          "forbidden.example.net": ORIGIN,
          "gone.example.net": PLAIN}  # nobody listens there on 443
NAMES = {"direct.example.com": ORIGIN, "squid.example.com": SQUID,
         "odd.example.com": ODD, "plain.example.com": PLAIN,
         "mail.example.com": MAIL, "issuer.example.com": ISSUER}
USER = "tapward"
PASSWORD = f"canary-{secrets.token_hex(12)}"
LOGIN = base64.b64encode(f"{USER}:{PASSWORD}".encode())
TOKEN = f"token-{secrets.token_hex(12)}"

POLICY = """\
[policy]
version = 1

[allow api]
host       = api.example.net
credential = api

[allow minted]
host       = minted.example.net
credential = minted

[allow pass]
host = pass.example.net
tls  = passthrough

[allow plain]
host   = plain.example.net
port   = 80
scheme = http

[allow mail]
host   = mail.example.net
port   = 2525
scheme = tcp

[allow rest]
host = direct.example.com, forbidden.example.net, gone.example.net

[allow squid]
host = squid.example.com
port = 3128
scheme = tcp
"""

MORE = """
[credential api]
kind  = static
value = file:{folder}/token
host  = api.example.net
apply = bearer
grant = p-* user:root

[credential minted]
kind          = oauth2
token-url     = https://issuer.example.net/token
client-id     = svc
client-secret = file:{folder}/token
host          = minted.example.net
apply         = bearer
grant         = p-* user:root
[limits]
dial-timeout = 2s
"""

_world = {}


def upstream(w, proxy):
    """Names the proxy in the configuration, for good or until the next."""
    with open(w.config, encoding="ascii") as f:
        text = re.sub(r"proxy.*\n", "", f.read())
    w.file("tapward.ini", text.replace(
        "[upstream]\n", f"[upstream]\nproxy = {proxy}\nproxy-user = {USER}\n"
        f"proxy-password = file:{w.folder}/password\n"))


class Mail:
    """Speaks first, as SMTP does; then echoes."""

    def __init__(self, w):
        self.raw = w.own(RawOrigin(w.net, MAIL, 2525, self.serve))

    def serve(self, peer, record):
        peer.sendall(b"220 mail\r\n")
        while part := peer.recv(4096):
            peer.sendall(part)


class Odd:
    """A proxy that answers with bytes of a test's choice."""

    def __init__(self, w):
        self.says, self.asked = b"", []
        self.raw = w.own(RawOrigin(w.net, ODD, 3128, self.serve))

    def serve(self, peer, record):
        head = b""
        while b"\r\n\r\n" not in head:
            part = peer.recv(4096)
            if not part:
                return
            head += part
        self.asked.append(head)
        if callable(self.says):
            self.says(peer)
        else:
            peer.sendall(self.says)
        while peer.recv(4096):
            pass


def plain_origin(peer, record):
    while part := peer.recv(65536):
        record += part
        if record.endswith(b"\r\n\r\n"):
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


def world():
    if not _world:
        w = World(NAMES, start=False)
        w.file("password", PASSWORD + "\n", 0o600)
        w.file("token", TOKEN + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(MORE.format(folder=w.folder))
        upstream(w, f"http://{SQUID}:3128")
        squid = Squid(w, SQUID, BEHIND, USER, PASSWORD)
        odd = Odd(w)
        w.start()
        Mail(w)
        Issuer(w, ISSUER, "issuer.example.net", "minted-" + TOKEN)
        plain = w.own(RawOrigin(w.net, PLAIN, 80, plain_origin))
        origin = w.own(HeadsOrigin(w, ORIGIN, *BEHIND, "direct.example.com"))
        _world.update(w=w, squid=squid, odd=odd, origin=origin, plain=plain,
                      s=w.sandbox(POLICY, f"p-{w.id}"))
    return _world["w"], _world["s"], _world["squid"]


@claim("squid: an injected request, a minted one, passthrough, http and tcp go by squid with its login; no name is looked up by us")
def _():
    w, s, squid = world()
    origin = _world["origin"]
    s.curl("https://api.example.net/one").ok()
    contains(origin.heads[-1], f"Bearer {TOKEN}")
    s.curl("https://minted.example.net/two").ok()
    contains(origin.heads[-1], f"Bearer minted-{TOKEN}")
    s.curl("--cacert", w.authority.ca, "https://pass.example.net/three").ok()
    equal(s.curl("http://plain.example.net/").ok().out, "ok")
    with connect(s, (synthetic(s, "mail.example.net"), 2525)) as k:
        equal(read(k, re.compile(rb"\n\Z")), b"220 mail\r\n")
        k.sendall(b"HELO x\r\n")
        equal(read(k, re.compile(rb"\n\Z")), b"HELO x\r\n")
    for name in ("api", "minted", "pass", "plain", "mail"):
        s.audited(event="connect", host=f"{name}.example.net", detail="proxy",
                  address=f"{SQUID}:3128", verdict="allow")
    # A host of an [address] section is dialled as ever.
    s.curl("https://direct.example.com/").ok()
    lacks(str(squid.log()), "direct.example.com")
    asked = w.resolver.queries()
    equal([q for q in asked if q.endswith("example.net")], [])
    contains(asked, "direct.example.com")
    for head in origin.heads + [b.decode() for b in _world["plain"].seen]:
        lacks(head.lower(), "proxy-")
        lacks(head, LOGIN.decode())


@claim("squid: its password is in dialler and broker, and in no gate, guest, log or other process")
def _():
    w, s, _ = world()
    s.curl("https://api.example.net/held").ok()
    needles = (PASSWORD.encode(), LOGIN, LOGIN[4:28])
    found, looked = set(), 0
    for pid in memory.children(w.daemon.pid):
        name = memory.comm(pid)
        maps, size = memory.holds(pid, *needles)
        looked += size
        if maps:
            found.add(name)
    equal(found - {"tapward-dialler", "tapward-broker"}, set())
    contains(found, "tapward-dialler")
    shown = w.cli("show", s.name, "--json").ok().out + str(s.exports())
    for text in (w.log_text(), str(w.audit()), shown,
                 w.cli("status").ok().out):
        for needle in needles:
            lacks(text, needle.decode())
    # And what the guest is told of the way there.
    lacks(shown, SQUID)
    return f"{looked // 1000000} MB searched"


def refusal(s, url, reason, detail, *argv):
    got = s.curl("-i", *argv, url)
    contains(got.out.lower(), f"tapward-reason: {reason}", repr(got))
    lacks(got.out, "3128", "what the guest reads")
    lacks(got.out.lower(), "proxy-4")
    lacks(got.out.lower(), "squid")
    name = url.split("/")[2]
    s.audited(event="connect", host=name, detail=detail, reason=reason)


@claim("squid: it refuses a host, finds none, or refuses our password: origin-unreachable, and the log says which")
def _():
    w, s, squid = world()
    refusal(s, "https://forbidden.example.net/", "origin-unreachable",
            "proxy-403")
    refusal(s, "https://gone.example.net/", "origin-unreachable", "proxy-503")
    w.file("password", "not-this-one\n", 0o600)
    w.cli("reload", "--host").ok()
    refusal(s, "http://plain.example.net/", "origin-unreachable", "proxy-407")
    contains(w.log_text(), "(407)")
    # Not opened: nothing goes by the proxy, and nothing round it.
    lacks(w.log_text(), "not-this-one")
    w.file("password", "not-this-one\n", 0o644)
    before = len(squid.log())
    assert w.cli("reload", "--host").code in (0, 1)
    refusal(s, "http://plain.example.net/", "origin-unreachable",
            "proxy-password")
    equal(len(squid.log()), before)
    w.file("password", PASSWORD + "\n", 0o600)
    w.cli("reload", "--host").ok()
    equal(s.curl("http://plain.example.net/").ok().out, "ok")


@claim("squid: a guest that may reach the proxy's own address by a rule does not")
def _():
    _, s, squid = world()
    before = len(squid.log())
    k = connect(s, (synthetic(s, "squid.example.com"), 3128))
    with k:
        try:
            k.sendall(b"CONNECT api.example.net:443 HTTP/1.1\r\n"
                      b"Host: api.example.net:443\r\n\r\n")
        except OSError:
            pass
        lacks(read(k), b"HTTP/")
    equal(len(squid.log()), before)
    s.audited(event="connect", host="squid.example.com",
              reason="private-address", detail="proxy")


OK = b"HTTP/1.1 200 OK\r\n"


def dribble(peer):
    """A byte at a time, and never an end: longer than a dial may take."""
    peer.settimeout(5)
    peer.sendall(OK + b"X: ")
    try:
        while True:
            peer.sendall(b"a")
            try:
                peer.settimeout(0.02)
                if not peer.recv(1):
                    return
            except TimeoutError:
                pass
    except OSError:
        pass


ODDITIES = (
    ("garbage", bytes(range(256)) * 8, "origin-unreachable",
     "proxy-bad-answer"),
    ("a huge head", OK + b"X: " + b"a" * 200000 + b"\r\n\r\n",
     "origin-unreachable", "proxy-bad-answer"),
    ("an answer behind its head",
     OK + b"\r\n" + OK + b"Content-Length: 4\r\n\r\nevil",
     "origin-unreachable", "proxy-bad-answer"),
    ("an interim head, and then a tunnel",
     b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"\r\n",
     "origin-unreachable", "proxy-bad-answer"),
    ("bare line ends", b"HTTP/1.1 200 OK\n\n", "origin-unreachable",
     "proxy-bad-answer"),
    ("bytes that dribble in", dribble, "timeout", "proxy-timeout"),
)


@claim("a proxy that is not squid: garbage, a huge head, an answer behind it, bytes that dribble in: refused within the dial's time")
def _():
    w, s, _ = world()
    odd = _world["odd"]
    upstream(w, f"http://{ODD}:3128")
    w.cli("reload", "--host").ok()
    for claim_text, says, reason, detail in ODDITIES:
        odd.says = says
        before = len(w.audit(s.name, event="connect", detail=detail))
        got = s.curl("-i", "http://plain.example.net/")
        contains(got.out.lower(), f"tapward-reason: {reason}",
                 f"{claim_text}: {got!r}")
        lacks(got.out, "evil", claim_text)
        until(lambda d=detail, n=before: len(w.audit(
            s.name, event="connect", detail=d)) > n, 5, claim_text)
    equal(odd.asked[0].split(b"\r\n")[0],
          b"CONNECT plain.example.net:80 HTTP/1.1")
    return f"{len(ODDITIES)} answers"


@claim("the world of squid ends and leaves nothing; squid has seen every tunnel, and our login on each")
def _():
    w, s, squid = world()
    s.rm().ok()
    want = {("200", f"{name}.example.net:{port}", USER) for name, port in (
        ("api", 443), ("minted", 443), ("issuer", 443), ("pass", 443),
        ("plain", 80), ("mail", 2525))}
    # It writes a line when a tunnel ends.
    until(lambda: want <= set(squid.log()), 10, f"{want} in {squid.log()}")
    w.close()
    _world.clear()
