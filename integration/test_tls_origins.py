"""TLS towards origins: row 98, and what is spoken at all.

An origin whose certificate is wrong in one way, or that speaks only what is
weak, is sent nothing: not a byte of what the guest asked.
"""
import re
import ssl

from harness.claims import claim, contains, equal, until
from harness.forged import SERVER, SIGNER, Forge, raw_san, san
from harness.raw import Recorder, read, tls
from harness.world import World

ADDRESS = "10.201.0.10"
IDN = "xn--bcher-kva.cert.example.com"
CASES = [f"c{i}.cert.example.com" for i in range(90)]
NAMES = {name: ADDRESS for name in (*CASES, IDN)}
RSA = ("-algorithm", "RSA", "-pkeyopt")

POLICY = f"""\
[policy]
version = 1

[allow certificates]
host = *.cert.example.com, {IDN}
"""

_world = {}


def world():
    if not _world:
        w = World(NAMES)
        _world.update(w=w, s=w.sandbox(POLICY), forge=Forge(w.authority),
                      hosts=iter(CASES))
    return _world["w"], _world["s"], _world["forge"], next(_world["hosts"])


def weak(f, bits):
    return f.key(*RSA, f"rsa_keygen_bits:{bits}")


def reissued(f, host, **more):
    """By a signer of its own, whose certificate comes along."""
    signer = f.signer(**more)
    return f.with_chain(f.leaf(host, by=signer), signer)


def constrained(f, host, names):
    signer = f.signer(*SIGNER, f"nameConstraints=critical,{names}")
    return f.with_chain(f.leaf(host, by=signer), signer)


def flipped(f, host):
    """A bit of its signature is another."""
    leaf = f.leaf(host)
    with open(leaf.ca, encoding="ascii") as file:
        der = bytearray(ssl.PEM_cert_to_DER_cert(file.read()))
    der[-3] ^= 1
    with open(leaf.ca, "w", encoding="ascii") as file:
        file.write(ssl.DER_cert_to_PEM_cert(bytes(der)))
    return leaf


def by_leaf(f, host):
    leaf = f.leaf("leaf.cert.example.com", san("DNS:leaf.cert.example.com"),
                  *SERVER, "subjectKeyIdentifier=hash")
    return f.with_chain(f.leaf(host, by=leaf), leaf)


def too_deep(f, host):
    first = f.signer("basicConstraints=critical,CA:TRUE,pathlen:0", *SIGNER[1:])
    second = f.signer(by=first)
    return f.with_chain(f.leaf(host, by=second), second, first)


def impostor(f, host):
    """An authority of the real one's name, and with another key."""
    key = f.key("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384")
    fake = f.make("origins of the tests", *SIGNER, key=key)
    return f.with_chain(f.leaf(host, by=fake), fake)


def named(*names):
    return lambda f, host: f.leaf(host, san(*(
        n.replace("HOST", host) for n in names)), *SERVER)


def bytes_named(name):
    return lambda f, host: f.leaf(
        host, raw_san(name.replace(b"HOST", host.encode())), *SERVER)


BAD = {
    "by itself": lambda f, h: f.make(h, san(f"DNS:{h}"), *SERVER),
    "by a stranger": lambda f, h: f.leaf(h, by=f.make("stranger", *SIGNER)),
    "by one of the same name": impostor,
    "its signature": flipped,
    "another name": named("DNS:other.cert.example.com"),
    "a name that ends like it": named("DNS:evilHOST"),
    "the name before another": named("DNS:HOST.evil.example"),
    "in the subject alone": lambda f, h: f.leaf(h, *SERVER),
    "a star as subject": lambda f, h: f.make("*", *SERVER, by=f.root),
    "a star alone": named("DNS:*"),
    "a star for two labels": named("DNS:*.example.com"),
    "two stars": named("DNS:*.*.example.com"),
    "a star in a label": named("DNS:c*.cert.example.com"),
    "a star behind": named("DNS:cert.*.example.com", "DNS:c0.cert.*"),
    "a star below it": named("DNS:*.HOST"),
    "a dot behind": named("DNS:HOST."),
    "as an address": named(f"IP:{ADDRESS}"),
    "as a URI and an e-mail": named("URI:https://HOST/", "email:x@HOST"),
    "NUL behind it": bytes_named(b"HOST\0.evil.example"),
    "NUL before it": bytes_named(b"evil.example\0.HOST"),
    "NUL at its end": bytes_named(b"HOST\0"),
    "a blank behind": bytes_named(b"HOST "),
    "expired": lambda f, h: f.leaf(h, clock="-3d"),
    "not yet valid": lambda f, h: f.leaf(h, clock="+2d"),
    "its signer expired": lambda f, h: reissued(f, h, clock="-3d"),
    "its signer left out": lambda f, h: f.leaf(h, by=f.signer()),
    "its signer is no authority": by_leaf,
    "its signer may not sign": lambda f, h: f.with_chain(*reversed([
        s := f.signer(SIGNER[0], "keyUsage=critical,cRLSign", SIGNER[2]),
        f.leaf(h, by=s)])),
    "its signer is for clients": lambda f, h: f.with_chain(*reversed([
        s := f.signer(*SIGNER, "extendedKeyUsage=clientAuth"),
        f.leaf(h, by=s)])),
    "deeper than allowed": too_deep,
    "outside what its signer may": lambda f, h: constrained(
        f, h, "permitted;DNS:other.example"),
    "inside what its signer may not": lambda f, h: constrained(
        f, h, "excluded;DNS:cert.example.com"),
    "for clients": lambda f, h: f.leaf(
        h, san(f"DNS:{h}"), "extendedKeyUsage=clientAuth"),
    "for code": lambda f, h: f.leaf(
        h, san(f"DNS:{h}"), "extendedKeyUsage=codeSigning"),
    "for signing certificates": lambda f, h: f.leaf(
        h, san(f"DNS:{h}"), "keyUsage=critical,keyCertSign"),
    "critical and unknown": lambda f, h: f.leaf(
        h, san(f"DNS:{h}"), *SERVER, "1.2.3.4=critical,DER:0500"),
    "MD5": lambda f, h: f.with_chain(*reversed([
        s := f.signer(key=weak(f, 2048)), f.leaf(h, by=s, digest="md5")])),
    "SHA-1": lambda f, h: f.leaf(h, digest="sha1"),
    "its signer by SHA-1": lambda f, h: reissued(f, h, digest="sha1"),
    "RSA of 1024 bits": lambda f, h: f.leaf(h, key=weak(f, 1024)),
    "its signer has 1024 bits": lambda f, h: reissued(f, h, key=weak(f, 1024)),
}

GOOD = {
    "by a root": lambda f, h: f.leaf(h),
    "by a signer below": reissued,
    "a star for one label": named("DNS:*.cert.example.com"),
    "in capitals": named("DNS:other.example", "DNS:C0.cert.example.com"),
    "among others": named("IP:10.201.0.99", "DNS:x.example", "DNS:HOST"),
    "RSA of 2048 bits": lambda f, h: f.leaf(h, key=weak(f, 2048)),
    "within what its signer may": lambda f, h: constrained(
        f, h, "permitted;DNS:cert.example.com"),
}


def asked(w, s, host, pair, shape=lambda c: None):
    """(reason or status, what the origin was sent decrypted) for a request to
    an origin that shows pair; shape() is given its context."""
    origin = Recorder(w, ADDRESS, 443)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("ALL:@SECLEVEL=0")
    shape(context)
    context.load_cert_chain(pair.ca, pair.key)
    origin.tls = context
    try:
        with tls(s, host) as k:
            k.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
                      "\r\n".encode())
            data = read(k, None, seconds=15)
        until(origin.count, 5, f"{host} is dialled")
        reason = re.search(rb"Tapward-Reason: (\S+)", data)
        return (reason.group(1).decode() if reason
                else data.split()[1].decode(), origin.seen())
    finally:
        origin.raw.close()


@claim("row 98: an origin whose certificate isn't good for the host, in any of forty ways, is sent nothing")
def _():
    count = 0
    for what, make in BAD.items():
        w, s, forge, host = world()
        equal(asked(w, s, host, make(forge, host)), ("origin-tls", b""), what)
        count += 1
    record = s.audited(reason="origin-tls")
    contains(record["detail"], "cert", record)
    return f"{count} chains"


@claim("row 98: a name of another alphabet is compared as it is dialled, in ASCII")
def _():
    w, s, forge, _ = world()
    for name in ("bücher.cert.example.com".encode(), b"b\xfccher.cert.example.com",
                 b"bucher.cert.example.com", b"xn--*.cert.example.com"):
        equal(asked(w, s, IDN, forge.leaf(IDN, raw_san(name), *SERVER)),
              ("origin-tls", b""), name)
    equal(asked(w, s, IDN, forge.leaf(IDN))[0], "200")


@claim("row 98: and one whose certificate is good is asked, whatever kind it is of")
def _():
    hosts = iter(CASES[80:])
    for what, make in GOOD.items():
        w, s, forge, _ = _world["w"], _world["s"], _world["forge"], None
        host = CASES[0] if what == "in capitals" else next(hosts)
        got, sent = asked(w, s, host, make(forge, host))
        equal(got, "200", what)
        contains(sent, f"Host: {host}\r\n".encode(), what)


def only(version, ciphers):
    def shape(context):
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.maximum_version = version
        context.set_ciphers(f"{ciphers}:@SECLEVEL=0")
    return shape


OLD, TWO = ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_2
WEAK = {
    "TLS 1.0": only(ssl.TLSVersion.TLSv1, "ALL"),
    "TLS 1.1": only(OLD, "ALL"),
    "no forward secrecy, CBC": only(TWO, "AES128-SHA"),
    "no forward secrecy": only(TWO, "AES256-GCM-SHA384"),
    "CBC": only(TWO, "ECDHE+AES+SHA1:ECDHE+AES+SHA256:ECDHE+AES+SHA384"),
    "a tag of eight bytes": only(TWO, "ECDHE-ECDSA-AES128-CCM8"),
    "no encryption": only(TWO, "eNULL"),
    "no certificate": only(TWO, "aNULL"),
    "DHE": only(TWO, "DHE-RSA-AES128-SHA"),
}


@claim("an origin that speaks only what is old or weak is sent nothing: TLS 1.2 at least, forward secrecy, AEAD")
def _():
    w, s, forge, _ = world()
    hosts = iter(CASES[60:])
    key = weak(forge, 2048)
    for what, shape in WEAK.items():
        host = next(hosts)
        equal(asked(w, s, host, forge.leaf(host, key=key), shape),
              ("origin-tls", b""), what)
    for version, ciphers in ((TWO, "ECDHE-RSA-AES128-GCM-SHA256"),
                             (TWO, "ECDHE-RSA-CHACHA20-POLY1305"),
                             (ssl.TLSVersion.TLSv1_3, "ALL")):
        host = next(hosts)
        equal(asked(w, s, host, forge.leaf(host, key=key),
                    only(version, ciphers))[0], "200", ciphers)


@claim("the world of the origins' TLS ends and leaves nothing")
def _():
    w, s, _, _ = world()
    s.rm().ok()
    w.close()
    _world.clear()
