"""Client certificates: shown to an origin by rules that name one, signed for by
the broker, whose key is in no other process.
"""
import json
import os
import secrets
import ssl
import threading
import time

from harness import canary, shell
from harness.certs import Authority
from harness.claims import claim, contains, equal, lacks, until
from harness.origins import Nginx, RawOrigin
from harness.squid import Squid
from harness.world import World

MTLS, OPENSSL, SOCKET, SQUID = (f"10.201.0.{n}" for n in range(70, 74))
RSA12, RSA13, EC12, EC13 = HOSTS = [
    f"{key}{version}.example.com" for key in ("rsa", "ec") for version in (12, 13)]
SERVED = "served.example.com"
NAMES = {**{h: MTLS for h in HOSTS}, SERVED: OPENSSL, "socket.example.com": SOCKET,
         "squid.example.com": SQUID}
BEHIND = {"behind.example.net": MTLS}

POLICY = """\
[policy]
version = 1
""" + "".join(f"""
[allow {name}]
host       = {name}.{zone}
path       = /shown/**
credential = {key}
{more}
""" for name, zone, key, more in (
    ("rsa12", "example.com", "rsa", ""), ("rsa13", "example.com", "rsa", ""),
    ("ec12", "example.com", "ec", ""), ("ec13", "example.com", "ec", ""),
    ("served", "example.com", "ec", ""), ("behind", "example.net", "ec", ""),
    ("socket", "example.com", "ec", "websocket = yes\nmethod = GET"))) + """
[allow bare]
host = rsa13.example.com, rsa12.example.com
path = /bare
"""

CREDENTIAL = """
[credential {name}]
kind        = client-certificate
certificate = file:{folder}/{name}.pem
key         = file:{folder}/{name}.key
host        = {hosts}
websocket   = yes
grant       = m-* user:root
"""

SERVER = """
server {{ listen {address}:443 ssl http2; server_name {name};
  ssl_certificate {cert}; ssl_certificate_key {key};
  ssl_protocols {version}; ssl_verify_client {verify};
  ssl_client_certificate {ca}; keepalive_timeout 60s;
  location / {{ return 200 "$ssl_client_verify|$ssl_client_s_dn|$connection"; }} }}
"""
_world = {}


def make_pair(w, name, *kind):
    """name.pem and name.key, of the clients' authority."""
    base = f"{w.folder}/{name}"
    ca = _world["clients"]
    shell.run(["openssl", "req", "-newkey", *kind, "-nodes", "-keyout",
               f"{base}.key", "-out", f"{base}.csr", "-subj",
               f"/CN={name}-{secrets.token_hex(4)}"]).ok()
    shell.run(["openssl", "x509", "-req", "-in", f"{base}.csr", "-CA", ca.ca,
               "-CAkey", ca.key, "-CAcreateserial", "-days", "2", "-out",
               f"{base}.pem"]).ok()
    for suffix in ("key", "pem"):
        os.chmod(f"{base}.{suffix}", 0o600)
    with open(f"{base}.key", encoding="ascii") as f:
        return f.read()


EC = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")


UPGRADE = ("-i", "-N", "--http1.1", "-H", "Connection: Upgrade", "-H",
           "Upgrade: websocket", "-H", "Sec-WebSocket-Version: 13", "-H",
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")


class Held:
    """curl in the guest, in the background."""

    def __init__(self, s, *argv):
        self.curl = threading.Thread(
            target=lambda: s.curl(*argv), daemon=True)
        self.curl.start()

    def close(self):
        self.curl.join(20)


class Chat:
    """A WebSocket behind a client certificate; says who came, and waits."""

    def __init__(self, w):
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(*w.authority.issue("socket.example.com"))
        self.tls.load_verify_locations(_world["clients"].ca)
        self.tls.verify_mode = ssl.CERT_REQUIRED
        self.open, self.ended = False, []
        self.raw = w.own(RawOrigin(w.net, SOCKET, 443, self.serve))

    def serve(self, peer, record):
        with self.tls.wrap_socket(peer, server_side=True) as k:
            head = k.recv(65536)
            name = dict(x[0] for x in k.getpeercert()["subject"])["commonName"]
            key = [line.split(b": ")[1] for line in head.split(b"\r\n")
                   if line.lower().startswith(b"sec-websocket-key")][0]
            shaken = shell.run(
                ["sh", "-c", "printf %s258EAFA5-E914-47DA-95CA-C5AB0DC85B11 "
                 f"{key.decode()} | openssl sha1 -binary | base64"]).ok().out
            text = f"hello {name}".encode()
            k.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket"
                      b"\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
                      + shaken.strip().encode() + b"\r\n\r\n"
                      + bytes([0x81, len(text)]) + text)
            self.open = True
            try:
                while k.recv(100):
                    pass
            finally:
                self.open = False
                self.ended.append(name)


def world():
    if not _world:
        w = _world["w"] = World(NAMES, start=False)
        clients = _world["clients"] = Authority(f"{w.folder}/clients")
        _world["keys"] = [make_pair(w, "rsa", "rsa:2048"),
                          make_pair(w, "ec", *EC)]
        w.file("password", "squid-password\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(CREDENTIAL.format(name="rsa", folder=w.folder,
                                      hosts=f"{RSA12}, {RSA13}"))
            f.write(CREDENTIAL.format(
                name="ec", folder=w.folder, hosts=f"{EC12}, {EC13}, {SERVED}, "
                "socket.example.com, behind.example.net"))
        cert, key = w.authority.issue(*HOSTS, SERVED, *BEHIND)
        servers = "".join(SERVER.format(
            address=MTLS, name=name, cert=cert, key=key, ca=clients.ca,
            verify="optional" if name == RSA13 else "on",
            version="TLSv1.2" if "12" in name else "TLSv1.3")
            for name in (*HOSTS, *BEHIND))
        w.own(Nginx(w.net, f"{w.folder}/nginx", servers))
        server = shell.start(w.net.plain([
            "openssl", "s_server", "-accept", f"{OPENSSL}:443", "-cert", cert,
            "-key", key, "-Verify", "2", "-verify_return_error", "-CAfile",
            clients.ca, "-www"]), f"{w.folder}/s_server")
        w.closers.append(lambda: shell.stop(server))
        Squid(w, SQUID, BEHIND, "tapward", "squid-password")
        _world["chat"] = Chat(w)
        w.start()
        _world["s"] = w.sandbox(POLICY, f"m-{w.id}")
    return _world["w"], _world["s"]


def shown(s, host, path="/shown/x", *argv):
    return s.curl(*argv, f"https://{host}{path}").ok().out.split("|")


@claim("client certificate: RSA and ECDSA by TLS 1.2 and 1.3, to nginx and openssl; a rule that names none shows none")
def _():
    w, s = world()
    for host in HOSTS:
        got = shown(s, host)
        equal(got[0], "SUCCESS", host)
        contains(got[1], f"CN={host.split('.')[0][:-2]}-")
    contains(s.curl(f"https://{SERVED}/shown/x").ok().out, "Subject: CN=ec-")
    equal(shown(s, RSA13, "/bare")[:2], ["NONE", ""])
    # The record of the lease has the fingerprint, that of the request both.
    out = shell.run(["openssl", "x509", "-in", f"{w.folder}/ec.pem", "-noout",
                     "-fingerprint", "-sha256"]).ok().out
    sha = out.strip().split("=")[1].replace(":", "").lower()
    lease = s.audited(event="lease", credential="ec", detail=f"sha256:{sha}")
    record = s.audited(event="request", host=EC13, credential="ec")
    equal(record["verdict"], "allow")
    assert record["lease"] > 0 and lease["lease"] > 0


@claim("client certificate: its connections serve no request of another rule, nor does a session of one the other")
def _():
    _, s = world()
    got = [(path, shown(s, RSA13, path))
           for _ in range(3) for path in ("/shown/x", "/bare")]
    by_path = {path: {g[2] for p, g in got if p == path}
               for path in ("/shown/x", "/bare")}
    equal(by_path["/shown/x"] & by_path["/bare"], set())
    equal({(p, g[0]) for p, g in got},
          {("/shown/x", "SUCCESS"), ("/bare", "NONE")})
    # One that wants a certificate and is shown none says 400.
    contains(s.curl("-i", f"https://{RSA12}/bare").out, "400")


@claim("client certificate: its key is in the broker and in no other process, log or guest")
def _():
    w, s = world()
    roots = []
    for text in _world["keys"]:
        lines = text.strip().split("\n")
        roots.append(lines[len(lines) // 2])
    der = ssl.PEM_cert_to_DER_cert(  # only takes the armour off
        _world["keys"][1].replace("PRIVATE KEY", "CERTIFICATE"))
    scalar = der[der.index(b"\x02\x01\x01\x04\x20") + 5:][:32]
    # As it lies in a PEM, in DER, and as a number in memory.
    return canary.search(w, [s], [*roots, scalar, scalar[::-1]], [])


@claim("client certificate: a WebSocket shows it, and ends within a second of the credential")
def _():
    w, s = world()
    chat = _world["chat"]
    ws = s.curl("--max-time", "0.5", *UPGRADE,
                "https://socket.example.com/shown/chat")
    contains(ws.out, "101 Switching", repr(ws))
    contains(ws.out, "hello ec-")
    until(lambda: len(chat.ended) == 1, 5, "it has ended")
    # It stays as long as its guest does, and no longer than its credential.
    held = Held(s, "--max-time", "20", *UPGRADE,
                "https://socket.example.com/shown/chat")
    until(lambda: chat.open, 5, "it is open")
    equal(len(chat.ended), 1)
    with open(w.config, encoding="ascii") as f:
        text = f.read()
    w.file("tapward.ini", text.replace(", socket.example.com", ""))
    began = time.monotonic()
    w.cli("reload", "--host").ok()
    until(lambda: len(chat.ended) == 2, 5, "its credential is gone")
    took = time.monotonic() - began
    held.close()
    w.file("tapward.ini", text)
    w.cli("reload", "--host").ok()
    equal(took < 1, True, f"{took:.2f} s")
    return f"{took * 1000:.0f} ms"


@claim("client certificate: another pair is taken up when its files change; one that does not belong together is refused by name")
def _():
    w, s = world()
    before = shown(s, EC13)[1]
    ec_key = _world["keys"][1]
    fresh = make_pair(w, "ec", *EC)
    until(lambda: shown(s, EC13)[1] != before, 10, "the new one is shown")
    _world["keys"][1] = fresh
    w.file("ec.key", ec_key, 0o600)
    got = w.cli("reload", "--host")
    equal(got.code != 0, True)
    contains(got.err, "credential ec: certificate: the first one is of another "
             "key")
    # The pair before stays in force.
    equal(shown(s, EC13)[0], "SUCCESS")
    w.file("ec.key", fresh, 0o600)
    w.cli("reload", "--host").ok()
    equal(shown(s, EC13)[0], "SUCCESS")


@claim("client certificate: through a forward proxy, too; doctor and explain tell of it")
def _():
    w, s = world()
    with open(w.config, encoding="ascii") as f:
        text = f.read()
    w.file("tapward.ini", text.replace(
        "[upstream]\n", f"[upstream]\nproxy = http://{SQUID}:3128\nproxy-user = "
        f"tapward\nproxy-password = file:{w.folder}/password\n"))
    w.cli("reload", "--host").ok()
    equal(shown(s, "behind.example.net")[0], "SUCCESS")
    s.audited(event="connect", host="behind.example.net", detail="proxy")
    rows = json.loads(w.cli("doctor", "--config", w.config, "--json").out)
    found = [r for r in rows if r["row"] == "credentials" and "ec" in r["found"]]
    contains(str(found), "a certificate in")
    got = w.cli("explain", "--policy", s.policy, "--config", w.config,
                f"https://{EC13}/shown/x").ok().out
    contains(got, "[credential ec] shows a client certificate")
    lacks(got, "PRIVATE")
