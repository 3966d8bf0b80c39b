"""Escapes by TLS towards the gate: rows 90 to 97 and 99 to 101.

The numbers are those of the catalogue of escapes. A hello of TLS 1.2 shows in
clear which certificate it is given, a passthrough origin which bytes it is
sent: both say what the gate read.
"""
import json
import os
import re
import signal
import ssl
from types import SimpleNamespace

from harness import hellos
from harness.claims import claim, contains, equal, lacks, until
from harness.hellos import answer, client_hello, in_records
from harness.nameserver import Nameserver
from harness.raw import (OK, Recorder, connect, deliver, exchange, hello, read,
                         synthetic, tls)
from harness.shell import run
from harness.world import World

SERVER, PROXY = "10.201.0.54", ("100.64.0.1", 3128)
NAMES = {
    "api.example.com": "10.201.0.10",
    "denied.example.com": "10.201.0.11",
    "pass.example.com": "10.201.0.12",
    "mail.example.com": "10.201.0.13",
    "ns.example.com": SERVER,
}
API, DENIED, PASS = (n.encode() for n in list(NAMES)[:3])

POLICY = """\
[policy]
version = 1

[allow api]
host = api.example.com

[allow pass]
host = pass.example.com
tls  = passthrough

[allow web]
host = mail.example.com
port = 8443

[allow xmpp]
host   = mail.example.com
port   = 5223
scheme = tcp
"""
# A record of a handshake, or an alert.
ANY = re.compile(rb"[\x15\x16]\x03\x03...", re.DOTALL)
CLOSED = POLICY.replace("host = api.example.com", "host = other.example.com")

_world = {}


def world():
    if not _world:
        w = World(NAMES, start=False, resolver=SERVER)
        server = Nameserver(w, SERVER)
        for name, address in NAMES.items():
            server.rules[name] = lambda q, a=address: q.addresses(a)
        w.start()
        origins = {name: Recorder(w, NAMES[f"{name}.example.com"], 443,
                                  list(NAMES))
                   for name in ("api", "denied", "pass", "mail")}
        _world.update(w=w, server=server, origins=origins,
                      s=w.sandbox(POLICY), other=w.sandbox(POLICY))
    for origin in _world["origins"].values():
        origin.forget()
        origin.answer = lambda nth, head: OK
    return _world["w"], _world["s"], _world["origins"]


def seen(origins):
    """The origins that were sent any byte since the last time."""
    found = {n for n, o in origins.items() if o.seen()}
    for o in origins.values():
        o.forget()
    return found


def get(name):
    return b"GET /open/x HTTP/1.1\r\nHost: %s\r\n\r\n" % name


def shown(data, name="api.example.com", how="whole", seconds=3):
    """What a gate that is sent these bytes answers, undecoded."""
    _, s, _ = world()
    with connect(s, (synthetic(s, name), 443)) as k:
        deliver(k, data, how)
        got = read(k, re.compile(rb"\x16\x03.*", re.DOTALL), seconds)
        return got if b"<" in got[-20:] else got + read(k, None, 0.3)


@claim("rows 90, 91: a hello in many segments and records gets the same verdict, also split at each byte of its name")
def _():
    _, s, origins = world()
    count = 0
    for name, want in ((API, b"200 OK"), (DENIED, b"403 "), (PASS, b"200 OK")):
        full = name.decode()
        ca = s.world.authority.ca if name == PASS else s.ca
        splits = [(size, how) for size in (None, 1, 100, 511)
                  for how in ("whole", "bytes")]
        splits += [(None, at) for at in range(len(name) + 2)]
        for size, how in splits:
            started = hello(full, ca)
            sent = started[0] if size is None else hellos.again(
                started[0], size)
            with connect(s, (synthetic(s, full), 443)) as k:
                if isinstance(how, int):
                    at = sent.index(name) - 1 + how
                    k.sendall(sent[:at])
                    k.sendall(sent[at:])
                else:
                    deliver(k, sent, how)
                data = exchange(k, started, get(name))
            contains(data, want, f"{name} {size} {how}")
            equal(seen(origins), set() if name == DENIED
                  else {full.split(".", 1)[0]}, f"{name} {size} {how}")
            count += 1
    return f"{count} ways"


def padded(size, name=API):
    """A message of this size in all, its name last."""
    short = hellos.message(*hellos.TLS12, hellos.ext(hellos.PADDING),
                           hellos.server_name(name))
    return hellos.message(*hellos.TLS12, hellos.ext(
        hellos.PADDING, bytes(size - len(short))), hellos.server_name(name))


@claim("row 91: 512 records, a record per byte up to 64 KiB, and none that is empty")
def _():
    _, _, origins = world()
    for message, size in ((padded(512), 1), (padded(512), 511),
                          (padded(10000), 1), (padded(16384), 1000)):
        got = shown(in_records(message, size))
        contains(answer(got), "certificate", f"{len(message)} by {size}")
        contains(got, API)
    # 5 bytes of header for each byte: more than is looked at.
    contains(answer(shown(in_records(padded(12000), 1))), "alert 50")
    message = padded(600)
    whole = in_records(message, 300)
    empty = b"\x16\3\1\0\0"
    for what, data in {
            "first": empty + whole,
            "between": whole[:305] + empty + whole[305:],
            "each": b"".join(empty + in_records(message[i:i + 50])
                             for i in range(0, 600, 50)),
            "many": empty * 40 + whole}.items():
        equal(answer(shown(data)), {"alert 50"}, what)
    # Alone, or behind a hello that it belongs to no more.
    equal(answer(shown(empty)), {"alert 50"}, "alone")
    equal(seen(origins), set())


@claim("row 92: a name behind a key share of 1.2 KB, as browsers send it, is found: inspected, denied and passed through")
def _():
    _, s, origins = world()
    kyber = hellos.X25519MLKEM768, os.urandom(1216)

    def browser(name):
        return in_records(hellos.message(
            *hellos.tls13(kyber, hellos.share(), offered=(
                hellos.X25519MLKEM768, hellos.X25519)),
            hellos.ext(hellos.ALPN, vec16(b"\2h2\x08http/1.1")),
            hellos.server_name(name), session=os.urandom(32)))

    for name in (API, DENIED):
        data = browser(name)
        assert data.index(name) > 1024
        for how in ("whole", "bytes"):
            contains(answer(shown(data, how=how)), "hello", f"{name} {how}")
    for how in ("whole", "bytes"):
        dialled = origins["pass"].count()
        with connect(s, (synthetic(s, PASS.decode()), 443)) as k:
            data = browser(PASS)
            deliver(k, data, how)
            contains(answer(read(k, re.compile(rb"\x16\x03"))), "hello")
        until(lambda: origins["pass"].count() > dialled, 5, "it is dialled")
    got = shown(in_records(padded(1800)))
    contains(got, API)
    equal(seen(origins), set())


def vec16(data):
    return hellos.vec(2, data)


def odd_hellos():
    """{what: stream} of which none may be shown a certificate."""
    one = hellos.server_name(API)
    two = client_hello([API])
    half = len(two) // 2
    names = {
        "two names": [API, DENIED], "twice": [API, API],
        "another type": [(1, API)], "both types": [(1, b"x"), API],
        "type behind": [API, (1, b"x")],
        "empty": [b""], "NUL": [b"denied\0.example.com"],
        "NUL last": [API + b"\0"], "dot last": [API + b"."],
        "wildcard": [b"*.example.com"], "address": [b"10.201.0.10"],
        "IPv6": [b"::1"], "brackets": [b"[::1]"], "number": [b"2130706433"],
        "10 KB": [b"a" * 10000 + b".example.com"],
        "64 in a label": [b"a" * 64 + b".example.com"],
        "empty label": [b"api..example.com"], "dot first": [b"." + API],
        "Cyrillic": ["g\u0456thub.com".encode()], "LF": [API + b"\n"],
        "ESC": [b"a\x1b[2J.example.com"], "DEL": [b"a\x7f.example.com"],
        "percent": [b"%61pi.example.com"], "port": [API + b":443"],
        "blank": [API + b" "], "one label": [b"api"],
        "localhost": [b"localhost"], "none": [],
    }
    sent = {what: client_hello(n) for what, n in names.items()}
    sent["two extensions"] = client_hello([API], one)
    sent["two, another"] = client_hello([API], hellos.server_name(DENIED))
    sent["no list"] = in_records(hellos.message(hellos.ext(0), *hellos.TLS12))
    sent["list too long"] = in_records(hellos.message(
        hellos.ext(0, vec16(b"\0" + vec16(API)) + b"x"), *hellos.TLS12))
    sent["name too long"] = in_records(hellos.message(
        hellos.ext(0, vec16(b"\0\xff\xff" + API)), *hellos.TLS12))
    sent["16385 bytes"] = in_records(padded(16385))
    sent["60 KB"] = client_hello([API], hellos.ext(0x4a4a, bytes(60000)))
    sent["16 MB said"] = two[:6] + b"\xff\xff\xff" + two[9:]
    sent["alert first"] = hellos.WARNING + two
    sent["alert between"] = (hellos.again(two, half)[:5 + half]
                             + hellos.WARNING
                             + hellos.again(two, half)[5 + half:])
    sent["data between"] = (hellos.again(two, half)[:5 + half]
                            + b"\x17\3\3\0\1x"
                            + hellos.again(two, half)[5 + half:])
    sent["another message"] = b"\x16\3\1\0\4\2\0\0\0"
    sent["SSLv2"] = b"\x80\x2e\1\0\2\0\x15\0\0\0\x10" + bytes(40)
    sent["SSLv3"] = two[:9] + b"\3\0" + two[11:]
    sent["SSLv3, records too"] = (two[:1] + b"\3\0" + two[3:9] + b"\3\0"
                                  + two[11:])
    sent["TLS 1.1"] = two[:9] + b"\3\2" + two[11:]
    sent["HTTP"], sent["SSH"] = get(API), b"SSH-2.0-x\r\n"
    return sent


@claim("rows 4, 71, 75, 93, 99: a hello with an odd name, or that is none, is shown no certificate and dials nobody")
def _():
    w, _, origins = world()
    dialled = {n: o.count() for n, o in origins.items()}
    del _world["server"].asked[:]
    for what, data in odd_hellos().items():
        for how in ("whole", "bytes"):
            got = answer(shown(data, how=how))
            assert not got & {"hello", "certificate", "retry"}, \
                f"{what} {how}: {got}"
    equal({n: o.count() for n, o in origins.items()}, dialled)
    equal(_world["server"].asked, [])
    contains(shown(client_hello([API])), API, "the same, in order")
    return f"{len(odd_hellos())} hellos"


@claim("row 93: GREASE, many extensions and a hello as large as they may be are no reason")
def _():
    grease = [hellos.ext(0x0a0a + 0x1010 * i, bytes(i)) for i in range(16)]
    for what, more in {
            "GREASE": grease,
            "4000 extensions": [hellos.ext(0x1000 + i) for i in range(4000)
                                if (0x1000 + i) & 0x0f0f != 0x0a0a],
            "GREASE ECH": [hellos.ext(hellos.ECH, b"\0" + os.urandom(180))],
    }.items():
        got = shown(client_hello([API], *more))
        contains(answer(got), "certificate", what)
        contains(got, API, what)
    got = shown(in_records(hellos.message(
        *grease[:8], hellos.server_name(API), *hellos.tls13(
            (0x2a2a, b"\0"), hellos.share(), offered=(0x2a2a, hellos.X25519)),
        *grease[8:], ciphers=b"\xda\xda\x13\1")))
    contains(answer(got), "hello", "GREASE of TLS 1.3")


@claim("rows 93, 96: asked for another hello, a guest can't name another host in it")
def _():
    _, s, origins = world()
    for second, want in ((API, "hello"), (DENIED, "alert 112"),
                         (PASS, "alert 112"), (None, "alert 112")):
        with connect(s, (synthetic(s, "api.example.com"), 443)) as k:
            k.sendall(in_records(hellos.message(
                hellos.server_name(API), *hellos.tls13())))
            contains(answer(read(k, re.compile(rb"\x16\x03"))), "retry")
            named = [hellos.server_name(second)] if second else []
            k.sendall(b"\x14\3\3\0\1\1" + in_records(hellos.message(
                *named, *hellos.tls13(hellos.share()))))
            got = answer(read(k, ANY))
        if want == "hello":
            contains(got, want, second)
        else:
            assert "hello" not in got, f"{second}: {got}"
    equal(seen(origins), set())


@claim("row 94: with ECH the outer name counts; it's never accepted, not passed through, and DNS gives no key for it")
def _():
    w, s, origins = world()
    for kind in (b"\0", b"\1", b"\2", b""):
        data = client_hello([API], hellos.ext(hellos.ECH, kind + bytes(180)))
        got = shown(data)
        contains(got, API, f"{kind}: the outer name's certificate")
        hidden = client_hello([DENIED], hellos.ext(hellos.ECH, kind + API))
        lacks(shown(hidden), API, kind)
    dialled = origins["pass"].count()
    data = client_hello([PASS], hellos.ext(hellos.ECH, bytes(10)))
    equal(answer(shown(data, "pass.example.com")), {"alert 40"})
    s.audited(host="pass.example.com", reason="ech")
    equal(origins["pass"].count(), dialled)
    # Whatever a nameserver would say: HTTPS and SVCB answer with nothing.
    asked = _world["server"].asked
    del asked[:]
    for kind in ("TYPE65", "TYPE64"):
        got = s.run(["dig", "api.example.com", kind]).ok().out
        contains(got, "NOERROR", kind)
        contains(got, "ANSWER: 0", kind)
    equal(asked, [])


def both(*sandboxes, version=None, alpn=None):
    """A client's context that trusts each of these sandboxes."""
    c = ssl.create_default_context()
    for s in sandboxes:
        c.load_verify_locations(s.ca)
    if version:
        c.minimum_version = c.maximum_version = version
    if alpn:
        c.set_alpn_protocols(alpn)
    return c


def visit(s, context, name, session=None):
    """(status, "resumed" or "full", name in the leaf, the new session)."""
    k = connect(s, (synthetic(s, "api.example.com"), 443))
    with context.wrap_socket(k, server_hostname=name, session=session) as t:
        t.sendall(get(name.encode()))
        status = int(read(t, re.compile(rb"\r\n\r\n")).split()[1])
        return (status, "resumed" if t.session_reused else "full",
                t.getpeercert()["subjectAltName"][0][1], t.session)


VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


@claim("row 96: a ticket is good for its own name, sandbox and gate, and each request is judged by the policy of now")
def _():
    w, s, _ = world()
    other = _world["other"]
    api, denied = API.decode(), DENIED.decode()
    for version in VERSIONS:
        c = both(s, other, version=version)
        *first, ticket = visit(s, c, api)
        equal(first, [200, "full", api], version)
        for where, name, want in ((s, api, [200, "resumed", api]),
                                  (s, denied, [403, "full", denied]),
                                  (other, api, [200, "full", api]),
                                  (other, denied, [403, "full", denied])):
            equal(visit(where, c, name, ticket)[:3], tuple(want),
                  f"{version} {where.name}")
        s.reload(CLOSED).ok()
        try:
            equal(visit(s, c, api, ticket)[:3], (403, "resumed", api), version)
        finally:
            s.reload(POLICY).ok()
        equal(visit(s, c, api, ticket)[:3], (200, "resumed", api), version)
        replace_gate(s)
        equal(visit(s, c, api, ticket)[:3], (200, "full", api), version)


def replace_gate(s):
    def pid():
        shown = s.world.cli("show", s.name, "--json").ok().out
        return json.loads(shown)["gate_pid"]

    before = pid()
    os.kill(before, signal.SIGKILL)
    until(lambda: pid() not in (0, None, before), 10, "another gate")


@claim("row 96: a resumed session speaks what this hello offers, not what the first one did")
def _():
    _, s, _ = world()
    for version in VERSIONS:
        c = both(s, version=version, alpn=["h2", "http/1.1"])
        k = connect(s, (synthetic(s, "api.example.com"), 443))
        with c.wrap_socket(k, server_hostname="api.example.com") as t:
            equal(t.selected_alpn_protocol(), "h2")
            read(t, re.compile(rb"(?s).{9}"))  # SETTINGS, and the ticket
            ticket = t.session
        c.set_alpn_protocols(["http/1.1"])
        equal(visit(s, c, "api.example.com", ticket)[:2], (200, "resumed"))


@claim("row 95: early data is not offered, and what comes as such reaches nobody")
def _():
    _, s, origins = world()
    client = (f"openssl s_client -connect {synthetic(s, API.decode())}:443 "
              f"-servername {API.decode()} -CAfile {s.ca} -tls1_3")
    ticket = f"{s.world.folder}/early.ticket"
    early = s.world.file("early", "GET /early HTTP/1.1\r\n\r\n")
    got = s.run(["sh", "-c", f"{client} -sess_out {ticket} -ign_eof"],
                stdin=get(API).replace(b"\r\n\r\n",
                                       b"\r\nConnection: close\r\n\r\n"))
    contains(got.both, "200 OK", repr(got))
    contains(got.both, "Max Early Data: 0", repr(got))
    got = s.run(["sh", "-c", f"{client} -sess_in {ticket} -early_data {early} "
                 "</dev/null"])
    contains(got.both, "Early data was not sent", repr(got))
    contains(got.both, "Reused, TLSv1.3", repr(got))
    origins["api"].forget()
    # By hand: an identity that is none, and records behind the hello.
    offer = hellos.ext(hellos.PSK, vec16(vec16(os.urandom(64)) + bytes(4))
                       + vec16(hellos.vec(1, bytes(32))))
    for name, garbage in ((API, 1), (API, 100), (DENIED, 100)):
        data = in_records(hellos.message(
            hellos.server_name(name), *hellos.tls13(hellos.share()),
            hellos.ext(hellos.EARLY_DATA), offer))
        data += (b"\x17\3\3" + vec16(get(API) + bytes(900))) * garbage
        shown(data)
    equal(seen(origins), set())


@claim("row 97: renegotiation, by which another host could be named, is refused; a second hello ends the connection")
def _():
    _, s, origins = world()
    got = s.run(["sh", "-c", "echo R | openssl s_client -connect "
                 f"{synthetic(s, API.decode())}:443 -servername "
                 f"{API.decode()} -CAfile {s.ca} -tls1_2"])
    contains(got.both, "no renegotiation", repr(got))
    contains(got.both, "Secure Renegotiation IS supported", repr(got))
    # In clear, where the next message of the first handshake should come.
    got = shown(client_hello([API]) + client_hello([DENIED]))
    contains(got, API)
    lacks(got, DENIED)
    assert {a for a in answer(got) if a.startswith("alert")}, answer(got)
    equal(seen(origins), set())


@claim("row 100: a CA is one sandbox's: its key is root's, it may sign no CA, it's gone with it, and no host trusts it")
def _():
    w, s, _ = world()
    guest = w.sandbox(POLICY)
    folder = f"{w.folder}/state/ca"
    prints = {t.name: run(["openssl", "x509", "-noout", "-fingerprint",
                           "-sha256", "-in", t.ca]).ok().out
              for t in (s, _world["other"], guest)}
    equal(len(set(prints.values())), 3, prints)
    text = run(["openssl", "x509", "-noout", "-text", "-in", guest.ca]).ok().out
    contains(text, "CA:TRUE, pathlen:0")
    contains(text, "Certificate Sign, CRL Sign")
    with open(guest.ca, encoding="ascii") as f:
        lacks(f.read(), "PRIVATE")
    for base, _, files in os.walk(folder):
        for name in files:
            status = os.stat(f"{base}/{name}")
            equal((status.st_uid, status.st_mode & 0o077), (0, 0), name)
    # One sandbox's leaf, shown to a guest that trusts another's CA.
    try:
        tls(s, "api.example.com", ca=guest.ca).close()
        raise AssertionError("a stranger's leaf was taken")
    except ssl.SSLCertVerificationError:
        pass
    # Nor does a gate, of an origin that has it.
    theirs = SimpleNamespace(ca=guest.ca, key=f"{w.folder}/theirs.key")
    with open(f"{folder}/{guest.name}", "rb") as f:
        w.file("theirs.key", f.read().decode())
    origin = Recorder(w, NAMES["mail.example.com"], 8443,
                      cert=w.authority.issue("mail.example.com", ca=theirs))
    named = synthetic(s, "mail.example.com")
    with tls(s, "mail.example.com", connect(s, (named, 8443))) as k:
        k.sendall(get(b"mail.example.com:8443"))
        contains(read(k), b"Tapward-Reason: origin-tls")
    equal(origin.seen(), b"")
    origin.raw.close()
    before = os.listdir(folder)
    guest.rm().ok()
    until(lambda: len(os.listdir(folder)) < len(before), 5, "its key is gone")
    for bundle in ("/etc/ssl/certs/ca-certificates.crt", w.authority.ca):
        with open(bundle, "rb") as f, open(s.ca, "rb") as g:
            lacks(f.read(), g.read().strip(), bundle)


TLS_PORTS = (25, 110, 143, 465, 587, 853, 993, 995, 5222, 8883, 9443)


def through_proxy(s, target):
    """What a CONNECT to it is answered."""
    with connect(s, PROXY) as k:
        k.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"
                  .encode())
        return read(k)


@claim("row 101: other ports of TLS, and those of STARTTLS, open by rule alone, and as the rule says")
def _():
    w, s, origins = world()
    named, other = (synthetic(s, f"{n}.example.com") for n in ("mail", "api"))
    del _world["server"].asked[:]
    for port in TLS_PORTS:
        for address in (named, other):
            try:
                connect(s, (address, port), 2).close()
                raise AssertionError(f"{address}:{port} is open")
            except ConnectionRefusedError:
                pass
    for host, port in [("mail", p) for p in TLS_PORTS] + [
            ("api", p) for p in (*TLS_PORTS, 5223, 8443)]:
        contains(through_proxy(s, f"{host}.example.com:{port}"),
                 b"Tapward-Reason: port", f"{host}:{port}")
    # What is open for one host is open for no other.
    with connect(s, (other, 5223)) as k:
        k.sendall(b"<stream:stream>\r\n\r\n")
        lacks(read(k, None), b"ok")
    with tls(s, "api.example.com", connect(s, (other, 8443))) as k:
        k.sendall(get(b"api.example.com:8443"))
        contains(read(k), b"Tapward-Reason: port")
    equal(_world["server"].asked, [])
    web = Recorder(w, NAMES["mail.example.com"], 8443, list(NAMES))
    raw = Recorder(w, NAMES["mail.example.com"], 5223)
    with tls(s, "mail.example.com", connect(s, (named, 8443))) as k:
        k.sendall(get(b"mail.example.com:8443"))
        contains(read(k, re.compile(rb"ok\Z")), b"200 OK")
    with connect(s, (named, 8443)) as k:
        k.sendall(b"EHLO mail\r\n")
        assert read(k, None) in (b"<end>", b"<ConnectionResetError>")
    with connect(s, (named, 5223)) as k:
        k.sendall(b"<stream:stream>\r\n\r\n")
        contains(read(k, re.compile(rb"ok\Z")), b"200 OK")
    contains(web.seen(), b"Host: mail.example.com:8443")
    equal(raw.seen(), b"<stream:stream>\r\n\r\n")
    equal(seen(origins), set())


@claim("the world of the escapes by TLS ends and leaves nothing")
def _():
    w, s, _ = world()
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    s.rm().ok()
    w.close()
    _world.clear()
