"""TLS towards guests: what scanners find, clients that pin, ECH by leave."""
import os
import re
import ssl
import xml.etree.ElementTree as xml

from harness import hellos
from harness.claims import claim, contains, equal, until
from harness.hellos import answer, client_hello
from harness.raw import Recorder, connect, deliver, read, synthetic
from harness.shell import run
from harness.world import World

NAMES = {
    "web.example.com": "10.201.0.10",
    "pass.example.com": "10.201.0.11",
}
POLICY = """\
[policy]
version = 1

[allow web]
host = web.example.com

[allow pass]
host = pass.example.com
tls  = passthrough
"""

_world = {}


def world():
    if not _world:
        w = World(NAMES, start=False)
        with open(w.config, encoding="ascii") as f:
            text = f.read()
        w.file("tapward.ini", text.replace(
            "[upstream]", "[upstream]\npassthrough-ech = allow"))
        w.start()
        origins = {n: Recorder(w, address, 443, [n])
                   for n, address in NAMES.items()}
        _world.update(w=w, s=w.sandbox(POLICY), origins=origins)
    return _world["w"], _world["s"], _world["origins"]


def faults(found):
    """What sslscan's report says that is old or weak."""
    bad = []
    for p in found.iter("protocol"):
        old = p.get("type") == "ssl" or p.get("version") in ("1.0", "1.1")
        if old == (p.get("enabled") == "1"):
            bad.append(f"{p.get('type')} {p.get('version')}")
    for c in found.iter("cipher"):
        if c.get("strength") not in ("strong", "acceptable") \
                or int(c.get("bits")) < 128 or not c.get("curve") \
                or not re.search("GCM|CHACHA20", c.get("cipher")):
            bad.append(c.get("cipher"))
    bad += [g.get("name") for g in found.iter("group")
            if int(g.get("bits")) < 128]
    bad += [f"renegotiation {r.attrib}" for r in found.iter("renegotiation")
            if r.get("supported") != "0"]
    bad += [f"compression {c.attrib}" for c in found.iter("compression")
            if c.get("supported") != "0"]
    bad += ["heartbleed" for h in found.iter("heartbleed")
            if h.get("vulnerable") != "0"]
    for c in found.iter("certificate"):
        if "SHA256" not in c.findtext("signature-algorithm") \
                or int(c.find("pk").get("bits")) < 128 \
                or c.findtext("expired") != "false":
            bad.append("certificate")
    return bad


def scan(text):
    found = xml.fromstring(text)
    ciphers = len(list(found.iter("cipher")))
    assert ciphers and list(found.iter("certificate")), text
    return ciphers, faults(found)


@claim("sslscan finds TLS 1.2 and 1.3, forward secrecy and AEAD, and nothing weak, for an allowed name and a denied one")
def _():
    _, s, _ = world()
    for name in ("web.example.com", "denied.example.com"):
        got = s.run(["sslscan", "--xml=-", "--no-colour", f"{name}:443"])
        equal(scan(got.ok().out), (6, []), name)


@claim("it does find what is weak, where there is some")
def _():
    w, _, origins = world()
    context = origins["web.example.com"].tls
    strict, low = context.get_ciphers(), context.minimum_version
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    try:
        got = run(w.net.plain(["sslscan", "--xml=-", "--no-colour",
                               f"{NAMES['web.example.com']}:443"]))
        _, bad = scan(got.ok().out)
        for weak in ("tls 1.0", "tls 1.1", "ECDHE-ECDSA-AES256-SHA"):
            contains(bad, weak)
    finally:
        context.set_ciphers(":".join(c["name"] for c in strict))
        context.minimum_version = low


@claim("a client that pins its origin's key is served by passthrough; where it is inspected it goes, and the log says what would help")
def _():
    w, s, _ = world()
    for name, code in (("pass.example.com", 0), ("web.example.com", 90)):
        key = run(["sh", "-c", f"openssl x509 -in {w.authority.folder}/{name}"
                   ".pem -noout -pubkey | openssl pkey -pubin -outform der | "
                   "openssl dgst -sha256 -binary | base64"]).ok().out.strip()
        for version in ("1.2", "1.3"):
            got = s.run(["curl", "-sS", "--tls-max", version,
                         "--cacert", both(w, s), "--pinnedpubkey",
                         f"sha256//{key}", f"https://{name}/"])
            equal(got.code, code, repr(got))
            if code == 0:
                equal(got.out, "ok", name)
    record = s.audited(event="connect", host="web.example.com", verdict="allow")
    contains(record["detail"], "tls = passthrough", record)
    equal(w.audit(s.name, host="web.example.com", event="request"), [])


def both(w, s):
    """A file with the roots of origins and of the sandbox."""
    path = f"{w.folder}/both.pem"
    if not os.path.exists(path):
        with open(path, "wb") as out:
            for ca in (w.authority.ca, s.ca):
                with open(ca, "rb") as f:
                    out.write(f.read())
    return path


@claim("row 94: where the host allows it, ECH goes to a passthrough host byte by byte; an inspected one is never taken in")
def _():
    _, s, origins = world()
    ech = hellos.ext(hellos.ECH, b"\0" + os.urandom(200))
    for name, size in (("pass.example.com", None), ("pass.example.com", 7)):
        data = client_hello([name.encode()], ech)
        if size:
            data = hellos.again(data, size)
        dialled = origins[name].count()
        with connect(s, (synthetic(s, name), 443)) as k:
            deliver(k, data, "bytes")
            contains(answer(read(k, re.compile(rb"\x16\x03"))), "hello")
        until(lambda: origins[name].count() > dialled, 5, "it is dialled")
    with connect(s, (synthetic(s, "web.example.com"), 443)) as k:
        k.sendall(client_hello([b"web.example.com"], ech))
        got = read(k, re.compile(rb"\x16\x03"))
    contains(got, b"web.example.com", "the gate's own certificate")


@claim("the world of the guests' TLS ends and leaves nothing")
def _():
    w, s, _ = world()
    s.rm().ok()
    w.close()
    _world.clear()
