"""Where a secret is, and that it is nowhere else.

Canaries stand for credentials. While requests carry them, every process, file,
packet and answer that must not hold a byte of them is searched.
"""
import base64
import gzip
import json
import os
import re
import secrets
import subprocess
import threading

from harness import memory, shell
from harness.claims import claim, contains, equal, lacks, until
from harness.origins import HeadsOrigin
from harness.steady import Steady
from harness.world import World

NAMES = {
    "bearer.example.com": "10.201.0.10",
    "basic.example.com": "10.201.0.10",
    "header.example.com": "10.201.0.10",
    "raw.example.com": "10.201.0.10",
    "query.example.com": "10.201.0.10",
    "plain.example.com": "10.201.0.11",
}

RULES = "\n".join(f"""
[allow {name}]
host       = {name}.example.com
credential = {name}
""" for name in ("bearer", "basic", "header", "raw", "query"))

POLICY = f"""\
[policy]
version = 1
{RULES}
[allow plain]
host = plain.example.com
"""

# Names the credential, and has no grant.
OTHER = """\
[policy]
version = 1

[allow bearer]
host       = bearer.example.com
credential = bearer

[allow plain]
host = plain.example.com
"""

APPLY = {"bearer": "bearer", "basic": "basic:robot", "header": "header:x-token",
         "raw": "raw", "query": "query:apiKey"}
PLACEHOLDER = "placeholder-of-basic"

CREDENTIAL = """
[credential {name}]
kind   = static
value  = file:{folder}/{name}.secret
host   = {name}.example.com
apply  = {apply}
grant  = granted-* user:root
{more}
"""

# 34 bytes that base64 gives every digit a chance in.
CANARY = {name: f"{name[:2]}{secrets.token_hex(8)}{secrets.token_urlsafe(12)}"
          for name in APPLY}
LEASE_S = 4

_world = {}


def forms(secret):
    """The spellings in which an echo would give it away."""
    data = secret.encode()
    found = {data, data.hex().encode(), data.hex().upper().encode(),
             data[::-1], data[:len(data) // 2], data[len(data) // 2:]}
    for skip in range(3):
        # The digits that depend on nothing but the secret.
        text = base64.b64encode(b"\0" * skip + data)
        inner = text[(skip * 8 + 5) // 6:(skip + len(data)) * 8 // 6]
        found |= {inner, inner.replace(b"+", b"-").replace(b"/", b"_")}
    return found


FORMS = {form for value in CANARY.values() for form in forms(value)}


def clean(data, what):
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    for form in FORMS:
        if form in data:
            raise AssertionError(f"{what} holds {form[:6]!r}... of a secret")


class Echo(HeadsOrigin):
    """A TLS origin that answers with what it was sent, in the way of path."""

    def __init__(self, w, address):
        self.over = threading.Event()  # the silent one need not wait longer
        super().__init__(w, address, *NAMES)

    def answer(self, peer, head):
        self.heads.append(head)
        path = re.split("[/?]", head.split()[1].decode().strip("/"))[0]
        return getattr(self, path.replace("-", "_"), self.hello)(peer, head)

    def say(self, peer, body, *fields, status=b"200 OK"):
        head = b"HTTP/1.1 " + status + b"\r\n" + b"".join(
            f + b"\r\n" for f in fields)
        peer.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return True

    def hello(self, peer, head):
        return self.say(peer, b"hello\n")

    def body(self, peer, head):
        return self.say(peer, b"<pre>" + head + b"</pre>")

    def body_base64(self, peer, head):
        return self.say(peer, b"\n".join(
            base64.b64encode(b"x" * n + head) for n in range(3)))

    def body_base64url(self, peer, head):
        return self.say(peer, b"\n".join(
            base64.urlsafe_b64encode(b"x" * n + head) for n in range(3)))

    def body_slowly(self, peer, head):
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(head))
        for i in range(len(head)):
            peer.sendall(head[i:i + 1])
        return True

    def body_chunks(self, peer, head):
        peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for i in range(0, len(head), 3):
            part = head[i:i + 3]
            peer.sendall(b"%x\r\n" % len(part) + part + b"\r\n")
        peer.sendall(b"0\r\nX-Echo: " + secret_of(head) + b"\r\n\r\n")
        return True

    def body_unframed(self, peer, head):
        peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + head)
        return False

    def body_late(self, peer, head):
        return self.say(peer, b"a" * 200000 + head + b"b" * 200000)

    def body_status(self, peer, head):
        return self.say(peer, head, status=b"401 Unauthorized")

    def packed(self, peer, head):
        return self.say(peer, gzip.compress(head), b"Content-Encoding: gzip")

    def field(self, peer, head):
        return self.say(peer, b"x", b"X-Echo: " + secret_of(head))

    def field_decoded(self, peer, head):
        return self.say(peer, b"x", b"X-Echo: " + plain_of(head))

    def field_base64(self, peer, head):
        return self.say(
            peer, b"x", b"X-Echo: " + base64.b64encode(plain_of(head)))

    def field_name(self, peer, head):
        return self.say(peer, b"x", secret_of(head) + b": x")

    def reason(self, peer, head):
        return self.say(peer, b"x", status=b"200 " + secret_of(head))

    def cookie(self, peer, head):
        return self.say(peer, b"x", b"Set-Cookie: session=of-the-secret",
                        b"Set-Cookie2: session=of-the-secret")

    def location(self, peer, head):
        return self.say(
            peer, b"", b"Location: https://plain.example.com/?t="
            + secret_of(head), status=b"302 Found")

    def early(self, peer, head):
        peer.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: <" + secret_of(head)
                     + b">\r\n\r\n")
        return self.say(peer, b"x")

    def redirect(self, peer, head):
        return self.say(
            peer, b"", b"Location: https://plain.example.com/landing",
            status=b"307 Temporary Redirect")

    def ends(self, peer, head):
        return False

    def garbage(self, peer, head):
        peer.sendall(secret_of(head) + b"\r\n" + head)
        return False

    def short(self, peer, head):
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + head)
        return False

    def bad_length(self, peer, head):
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: " + secret_of(head)
                     + b"\r\n\r\n")
        return False

    def huge(self, peer, head):
        peer.sendall(b"HTTP/1.1 200 OK\r\n" + (b"X-Echo: " + secret_of(head)
                     + b"\r\n") * 3000 + b"\r\n")
        return False

    def silence(self, peer, head):
        self.over.wait(20)
        return False


def secret_of(head):
    """The value that is the credential in there, "" without one."""
    found = re.search(rb"(?im)^(?:authorization: (?:Bearer |Basic )?|x-token: )"
                      rb"([^\r]*)", head) or re.match(rb"\S+ \S+[?&]apiKey=([^& ]*)", head)
    return found.group(1) if found else b""


def plain_of(head):
    """The same, with what Basic has in base64 taken out of it."""
    value = secret_of(head)
    return base64.b64decode(value) if b"authorization: Basic " in head else value


def world():
    if not _world:
        os.environ.setdefault("TAPWARD_LOG", "debug")
        w = World(NAMES, start=False)
        for name, value in CANARY.items():
            w.file(f"{name}.secret", value + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            for name, apply in APPLY.items():
                f.write(CREDENTIAL.format(
                    name=name, apply=apply, folder=w.folder,
                    more=f"placeholder = {PLACEHOLDER}"
                    if name == "basic" else ""))
            f.write(f"[limits]\nlease = {LEASE_S}s\n")
        w.start()
        echo = w.own(Echo(w, "10.201.0.10"))
        plain = w.own(Echo(w, "10.201.0.11"))
        granted = w.sandbox(POLICY, f"granted-{w.id}")
        _world.update(w=w, echo=echo, plain=plain, granted=granted,
                      other=w.sandbox(OTHER, f"other-{w.id}"))
        capture = f"{w.folder}/guest.pcap"
        process = subprocess.Popen(
            granted.guest.plain(["tcpdump", "-U", "-i", "any", "-w", capture]),
            stderr=subprocess.DEVNULL)
        w.closers.append(lambda: shell.stop(process))
        until(lambda: os.path.exists(capture) and os.path.getsize(capture) > 0,
              10, "tcpdump captures")
        _world["capture"] = capture
    return _world["w"], _world["granted"], _world["other"]


def family(w):
    """{pid: (program, "granted", "other" or "")} of the world's processes."""
    gates = {}
    for name in ("granted", "other"):
        shown = w.cli("show", _world[name].name, "--json").ok().out
        gates[json.loads(shown)["gate_pid"]] = name
    return {pid: (memory.comm(pid), gates.get(pid, ""))
            for pid in memory.children(w.daemon.pid)}


@claim("row 108: each way of applying puts the secret where the origin wants it, and only there")
def _():
    w, s, _ = world()
    echo = _world["echo"]
    for name, want in (
            ("bearer", f"authorization: Bearer {CANARY['bearer']}"),
            ("basic", "authorization: Basic " + base64.b64encode(
                f"robot:{CANARY['basic']}".encode()).decode()),
            ("header", f"x-token: {CANARY['header']}"),
            ("raw", f"authorization: {CANARY['raw']}"),
            ("query", f"?a=b&apiKey={CANARY['query']} ")):
        for brought in ([], ["-H", "Authorization: Bearer of-the-guest"],
                        ["-H", "X-Token: of-the-guest",
                         "-H", "Cookie: of-the-guest=1"]):
            url = f"https://{name}.example.com/hello"
            if name == "query":
                url += "?apikey=of-the-guest&a=b;%61piKey=of-the-guest"
            got = s.curl(*brought, url)
            equal(got.out, "hello\n", repr(got))
            head = echo.heads[-1].decode().lower()
            contains(head, want.lower(), name)
            lacks(head, "of-the-guest", name)
            equal(head.count("authorization:") + head.count("x-token:")
                  + head.count("apikey="), 1)


@claim("git sends a placeholder inside Basic: decoded, replaced, encoded; the user is its own")
def _():
    w, s, _ = world()
    echo = _world["echo"]
    del echo.heads[:]
    env = dict(s.env, GIT_CONFIG_GLOBAL="/dev/null", GIT_TERMINAL_PROMPT="0",
               GIT_CURL_VERBOSE="1", GIT_TRACE_CURL="1")
    pair = base64.b64encode(f"somebody:{PLACEHOLDER}".encode()).decode()
    got = s.run(["git", "-c", f"http.extraHeader=Authorization: Basic {pair}",
                 "ls-remote", "https://basic.example.com/body"], env=env)
    clean(got.both, "what git printed")
    want = base64.b64encode(f"somebody:{CANARY['basic']}".encode()).decode()
    contains(echo.heads[-1].decode(), f"Basic {want}")
    # Another password is not a placeholder: overwritten as a whole.
    s.curl("-u", "somebody:else", "https://basic.example.com/hello").ok()
    want = base64.b64encode(f"robot:{CANARY['basic']}".encode()).decode()
    contains(echo.heads[-1].decode(), f"Basic {want}")


MASKED = ("body", "body-base64", "body-base64url", "body-slowly", "body-chunks",
          "body-unframed", "body-late", "body-status")
# With the head gone, what cannot be masked ends.
CUT = ("packed",)
REFUSED = {"field": "credential-leak",
           "field-decoded": "credential-leak",
           "field-base64": "credential-leak", "reason": "credential-leak",
           "location": "credential-leak"}
BROKEN = ("field-name", "ends", "garbage", "short", "bad-length", "huge",
          "early")

READER = """
import socket, ssl, sys
name, path, ca = sys.argv[1:]
tls = ssl.create_default_context(cafile=ca)
s = tls.wrap_socket(socket.create_connection((name, 443), 20), server_hostname=name)
s.sendall(f"GET {path} HTTP/1.1\\r\\nHost: {name}\\r\\nConnection: close\\r\\n\\r\\n".encode())
try:
    while part := s.recv(65536):
        sys.stdout.buffer.write(part)
except OSError as e:
    print("!", e)
"""


def read(s, name, path):
    """Every byte of the answer, as the guest decrypts it."""
    return s.run(["/usr/bin/python3", "-c", READER, f"{name}.example.com",
                  f"/{path}/x", s.ca], text=False, timeout=60).out


@claim("rows 105, 106: an origin that echoes the secret, in any place or base64: the guest never sees it")
def _():
    w, s, _ = world()
    echo = _world["echo"]
    count = 0
    for name in APPLY:
        for path in (*MASKED, *CUT, *REFUSED, *BROKEN, "cookie"):
            before = len(echo.heads)
            got = read(s, name, path)
            clean(got, f"the answer to {name} {path}")
            contains(got, b"HTTP/1.1 ", f"{name} {path}")
            assert len(echo.heads) > before, f"{name} {path} reached the origin"
            carried = base64.b64encode(f"robot:{CANARY[name]}".encode()) \
                if name == "basic" else CANARY[name].encode()
            equal(secret_of(echo.heads[-1]), carried, f"{name} {path}")
            if path in MASKED and path != "body-status":
                contains(got, b" 200 ", f"{name} {path}")
            if path in CUT:
                contains(got, b" 200 ", f"{name} {path}")
                lacks(got, gzip.compress(b"")[:4], f"{name} {path}")
            if path in REFUSED:
                contains(got.lower(), b"tapward-reason: "
                         + REFUSED[path].encode(), f"{name} {path}")
            lacks(got, b"of-the-secret", f"{name} {path}")
            count += 1
    s.audited(event="request", reason="credential-leak")
    return f"{count} answers"


@claim("row 106: an origin that says nothing after the secret: the error page does not hold it")
def _():
    w, s, _ = world()
    # Its time-out is long; the guest's own end is what is waited for here.
    got = s.curl("-v", "--max-time", "3", "https://bearer.example.com/silence")
    clean(got.both, "what curl printed")
    contains(_world["echo"].heads[-1], CANARY["bearer"].encode())
    _world["echo"].over.set()


@claim("row 107: a redirect to another allowed host: the guest follows, the secret stays behind")
def _():
    w, s, _ = world()
    plain = _world["plain"]
    del plain.heads[:]
    for more in ([], ["--location-trusted", "-u", f"robot:{PLACEHOLDER}"],
                 ["--location-trusted", "-H", "X-Token: mine"]):
        for name in APPLY:
            got = s.curl("-L", *more, f"https://{name}.example.com/redirect")
            # A placeholder, too, goes to no other host.
            if "-u" in more:
                contains(got.out, "credential-misuse", repr(got))
            else:
                equal(got.out, "hello\n", repr(got))
    equal(len(plain.heads), 2 * len(APPLY))
    for head in plain.heads:
        clean(head, "a request to the host that is not bound")
    # Nor by name: a Host or a path that names the bound one.
    for argv in (["-H", "Host: bearer.example.com", "https://plain.example.com/"],
                 ["https://plain.example.com/bearer.example.com/"],
                 ["--path-as-is", "https://plain.example.com//bearer.example.com"]):
        s.curl(*argv)
    for head in plain.heads:
        clean(head, "a request to the host that is not bound")


@claim("row 115: under traffic: no process but the broker and the granted sandbox's gate holds a byte of it")
def _():
    w, s, other = world()
    steady = w.own(Steady(w, s, "bearer.example.com", "/hello"))
    # A gate that asks and is refused, and one of the pool, are searched too.
    got = other.curl("-i", "https://bearer.example.com/hello")
    contains(got.out.lower(), "tapward-reason: credential-", repr(got))
    looked, seen, holders = 0, [], set()
    try:
        for _ in range(3):
            steady.more(5)
            for pid, (program, sandbox) in family(w).items():
                found, size = memory.holds(
                    pid, *(v.encode() for v in CANARY.values()),
                    *(base64.b64encode(v.encode())[:-4]
                      for v in CANARY.values()))
                looked += size
                seen.append(program)
                if found:
                    holders.add((program, sandbox))
                if found and program != "tapward-broker" and sandbox != "granted":
                    raise AssertionError(f"{program} {sandbox}: {found}")
    finally:
        steady.close()
    # Else the search itself would have found nothing.
    equal(holders, {("tapward-broker", ""), ("tapward-gate", "granted")})
    for program in ("tapwardd", "tapward-api", "tapward-recorde",
                    "tapward-dialler", "tapward-gate"):
        assert program in seen, f"{program} among {set(seen)}"
    assert len([p for p in seen if p == "tapward-gate"]) >= 9, seen
    return f"{len(seen)} processes, {looked >> 20} MiB searched"


@claim("row 118: when the lease has ended the gate holds it no more")
def _():
    w, s, _ = world()
    for name in APPLY:
        s.curl(f"https://{name}.example.com/hello").ok()
    pid = next(p for p, (_, name) in family(w).items() if name == "granted")
    needles = [v.encode() for v in CANARY.values()]
    needles += [base64.b64encode(v)[:-4] for v in list(needles)]
    last = []
    def is_free():
        last[:] = memory.holds(pid, *needles)[0]
        return not last
    assert not is_free(), "the gate holds it while it may"
    try:
        until(is_free, 3 * LEASE_S + 5, "the gate's memory is free of it")
    except AssertionError as e:
        raise AssertionError(f"{e}: {last}") from e


@claim("row 115: no core, no dump, no environment, no argument, no open file gives it away")
def _():
    w, s, _ = world()
    count = 0
    for pid, (program, _) in family(w).items():
        for name in ("environ", "cmdline"):
            with open(f"/proc/{pid}/{name}", "rb") as f:
                clean(f.read(), f"{name} of {program}")
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                to = os.readlink(f"/proc/{pid}/fd/{fd}")
            except FileNotFoundError:
                continue
            assert ".secret" not in to or program == "tapward-broker", \
                f"{program} has {to}"
        if program == "tapwardd":
            continue
        with open(f"/proc/{pid}/limits", encoding="ascii") as f:
            assert re.search(r"Max core file size +0 +0 ", f.read()), program
        # Of another uid, and yet root's: it is not dumpable.
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            assert not re.search(r"Uid:\t0\t", f.read()), program
        equal(os.stat(f"/proc/{pid}/environ").st_uid, 0, program)
        count += 1
    assert count >= 7, count
    return f"{count} processes"


@claim("rows 115, 116: no log, audit record, state file, command or packet of the guest holds it")
def _():
    w, s, _ = world()
    s.curl("-v", "--trace-ascii", f"{w.folder}/trace",
           "https://bearer.example.com/body").ok()
    looked = 0
    for base, _, names in os.walk(w.folder):
        for name in names:
            path = f"{base}/{name}"
            if name.endswith(".secret") or not os.path.isfile(path):
                continue
            with open(path, "rb") as f:
                data = f.read()
            clean(data, path)
            looked += len(data)
    assert os.path.getsize(_world["capture"]) > 100000, "the guest's packets"
    assert os.path.getsize(f"{w.folder}/log/audit.jsonl") > 1000
    for argv in (("show", s.name, "--json"), ("env", s.name), ("list", "--json"),
                 ("status", "--json"), ("log", s.name), ("log", "--json")):
        clean(w.cli(*argv).ok().both, " ".join(argv))
    clean(json.dumps(s.env), "the guest's environment")
    got = shell.run(["curl", "-sS", "--unix-socket", w.socket,
                     "http://tapward/metrics"])
    clean(got.both, "metrics")
    return f"{looked >> 10} KiB searched"


@claim("the world of the secrets ends and leaves nothing")
def _():
    w, s, _ = world()
    w.close()
    _world.clear()
    if os.environ.get("TAPWARD_LOG") == "debug":
        del os.environ["TAPWARD_LOG"]
