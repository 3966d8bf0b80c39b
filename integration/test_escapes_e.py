"""Section E of the known escapes: a guest that writes HTTP/2 frame by frame.

Each input is sent whole, byte by byte, and as a later stream of a connection
that was used, in front of an origin that speaks HTTP/1.1 and of one that speaks
HTTP/2; both keep what they are sent.
"""
import json
import re

from harness import h2frames as h2
from harness import h2payloads, memory, shell
from harness.claims import claim, contains, equal, lacks, until
from harness.h2frames import END_HEADERS, END_STREAM
from harness.h2origin import Origin
from harness.raw import OK, Recorder, deliver, read, tls
from harness.world import World

NAMES = {
    "one.example.com": "10.201.0.10",   # HTTP/1.1
    "two.example.com": "10.201.0.11",   # HTTP/2
    "cred.example.com": "10.201.0.12",  # HTTP/2
    "evil.example.com": "10.201.0.13",
}

POLICY = """\
[policy]
version = 1

[allow api]
host   = one.example.com, two.example.com, evil.example.com
method = GET, HEAD, POST, OPTIONS
path   = /open/**

[allow cred]
host       = cred.example.com
credential = key
"""

KEY = "k3y-of-row-89-that-nobody-sees"
HOSTS = "one.example.com", "two.example.com"
HOWS = "whole", "bytes", "later"

_world = {}


def world():
    if not _world:
        w = World(NAMES, start=False)
        key = w.file("key.secret", KEY + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(f"[credential key]\nkind = static\nvalue = file:{key}\n"
                    "host = cred.example.com\napply = bearer\n"
                    "placeholder = row-89-placeholder\n"
                    "grant = * user:root\n")
        w.start()
        origins = {"one.example.com": Recorder(
            w, NAMES["one.example.com"], 443, list(NAMES))}
        for name in list(NAMES)[1:]:
            origins[name] = Origin(w, NAMES[name], list(NAMES))
        _world.update(w=w, s=w.sandbox(POLICY), origins=origins)
    forget()
    return _world["w"], _world["s"], _world["origins"]


def forget():
    for name, origin in _world["origins"].items():
        if name == "one.example.com":
            origin.forget()
            origin.answer = lambda nth, head: OK
        else:
            origin.reset()


def begin(s, host, *pairs):
    p = h2.guest(s, host)
    p.send(h2.PREFACE)
    p.begin(*pairs)
    return p


def get(host, path="/open/good", *more):
    return h2.request(host, path, "GET", *more)


def still_serves(p, host, stream):
    p.send(h2.headers(stream, get(host)))
    equal(p.answer(stream)[0][":status"], "200", "a good request")


def seen(host):
    return _world["origins"][host].seen()


def untouched():
    """Nothing that says evil is at any origin."""
    for host in _world["origins"]:
        lacks(seen(host), b"evil", host)


def ending(p, stream):
    """How a stream ended: "reset", a status of ours, or "goaway"."""
    try:
        f = p.until(lambda f: f.kind == h2.GOAWAY or f.stream == stream
                    and f.kind in (h2.HEADERS, h2.RST_STREAM), 5)
    except h2.Closed:
        return "closed"
    if f.kind == h2.HEADERS:
        assert f.field("tapward-reason"), f.fields
        return f.field(":status")
    if f.kind == h2.GOAWAY:
        return "goaway"
    equal(f.code, h2.PROTOCOL_ERROR, "the error of the reset")
    return "reset"


def attempt(s, host, what, make, want, how):
    """make(stream) gives what is sent; the connection lives on unless it is
    told to go away."""
    with begin(s, host) as p:
        stream = 1
        if how == "later":
            still_serves(p, host, 1)
            stream = 3
        deliver(p.k, make(stream), how)
        equal(ending(p, stream), want, f"{what}, {how}, {host}")
        if want == "goaway":
            equal(p.rest(), "closed", f"{what}, {how}, {host}")
        else:
            still_serves(p, host, stream + 2)


def refuse_heads(heads):
    """heads(host) gives {what: (fields, how it ends)}. How many deliveries."""
    _, s, _ = world()
    count = 0
    for host in HOSTS:
        for what, (fields, want) in heads(host).items():
            for how in HOWS:
                attempt(s, host, what,
                        lambda i, fields=fields: h2.headers(i, fields), want, how)
                count += 1
    untouched()
    return f"{count} deliveries"


@claim("row 80: CR, LF, NUL, blanks and colons in any part of a field: reset, nothing sent on")
def _():
    return refuse_heads(h2payloads.crlf)


@claim("row 81: fields of HTTP/1 framing, and lengths that are none: reset, nothing sent on")
def _():
    return refuse_heads(h2payloads.framing)


@claim("row 81: DATA is what content-length says, or the request is never whole")
def _():
    _, s, origins = world()
    evil = h2payloads.EVIL
    count = 0
    for host in HOSTS:
        for length, parts in (("0", [evil]), ("3", [b"abc" + evil]),
                              ("3", [b"abc", evil]), ("3", [b"ab"]),
                              ("5", [b"abc", b""])):
            def make(stream, host=host, length=length, parts=parts):
                head = h2.request(host, "/open/post", "POST",
                                  ("content-length", length))
                return h2.headers(stream, head, END_HEADERS) + b"".join(
                    h2.data(stream, part, END_STREAM * (part is parts[-1]))
                    for part in parts)

            for how in HOWS:
                attempt(s, host, f"{length} and {parts}", make, "reset", how)
                count += 1
    untouched()
    # What was begun of them ended with its connection, or its stream.
    one = origins["one.example.com"]
    until(lambda: one.ended >= seen("one.example.com").count(b"POST "), 5,
          "each connection that got half a request is closed")
    for asked in origins["two.example.com"].asked:
        assert asked.field(":method") == "GET" or asked.trailers is None
    return f"{count} deliveries"


@claim("row 82: another host, two, none, or what is no URL: refused, nothing sent on")
def _():
    return refuse_heads(lambda host: h2payloads.targets(
        host, HOSTS[host == HOSTS[0]]))


@claim("row 83: frames out of order end the connection, nothing sent on")
def _():
    _, s, _ = world()
    evil = {host: h2.block(*get(host, "/open/evil")) for host in HOSTS}

    def split(stream, block, *between):
        return h2.headers(stream, block[:9], END_STREAM) + b"".join(
            between) + h2.continuation(stream, block[9:])

    cases = {
        "DATA first": lambda i, b: h2.data(i, b"evil") + h2.headers(i, b),
        "CONTINUATION first": h2.continuation,
        "CONTINUATION of another": lambda i, b: h2.headers(
            i, b[:9], END_STREAM) + h2.continuation(i + 2, b[9:]),
        "CONTINUATION behind the end": lambda i, b: h2.headers(
            i, b + b"\x40", END_STREAM) + h2.data(i, b"evil"),
        "DATA between": lambda i, b: split(i, b, h2.data(i, b"evil")),
        "PING between": lambda i, b: split(i, b, h2.ping()),
        "SETTINGS between": lambda i, b: split(i, b, h2.settings()),
        "WINDOW_UPDATE between": lambda i, b: split(i, b, h2.window_update(0, 1)),
        "an unknown frame between": lambda i, b: split(i, b, h2.frame(99)),
        "another's HEADERS between": lambda i, b: split(i, b, h2.headers(i + 2, b)),
        "an even stream": lambda i, b: h2.headers(i + 1, b),
        "stream 0": lambda i, b: h2.headers(0, b),
        "PUSH_PROMISE": lambda i, b: h2.frame(
            h2.PUSH_PROMISE, END_HEADERS, i, b"\0\0\0\2" + b),
        "a frame that is too long": lambda i, b: h2.frame(
            h2.HEADERS, h2.BOTH, i, b + bytes(16384)),
    }
    count = 0
    for host in HOSTS:
        for what, make in cases.items():
            for how in HOWS:
                attempt(s, host, what, lambda i, make=make, host=host: make(
                    i, evil[host]), "goaway", how)
                count += 1
    untouched()
    return f"{count} deliveries"


@claim("row 83: a head that is split anywhere is one head, and the same one")
def _():
    _, s, origins = world()
    for host in HOSTS:
        fields = get(host, "/open/split", ("x-long", "a" * 40))
        block = h2.block(*fields)
        cuts = range(1, len(block), 2)
        with begin(s, host) as p:
            for i, cut in enumerate(cuts):
                p.send(h2.headers(2 * i + 1, block[:cut], END_STREAM),
                       h2.continuation(2 * i + 1, block[cut:]))
                equal(p.answer(2 * i + 1)[0][":status"], "200", f"cut at {cut}")
        equal(seen(host).count(b"/open/split"), len(cuts), host)
        equal(seen(host).count(b"a" * 40), len(cuts), host)
    equal(seen("one.example.com").count(
        b"GET /open/split HTTP/1.1\r\nHost: one.example.com\r\n"
        b"x-long: " + b"a" * 40 + b"\r\n"), len(cuts))
    for asked in origins["two.example.com"].asked:
        equal(sorted(asked.fields), sorted(get(
            "two.example.com", "/open/split", ("x-long", "a" * 40))))
    return f"{2 * len(cuts)} cuts"


# --- rows 84 and 85: what costs more than it brings ---

GROWTH_MAX_KIB = 8192
FRAMES = 100000


def gate_of(w, s):
    return json.loads(w.cli("show", s.name, "--json").ok().out)["gate_pid"]


class Growth:
    """What a gate's memory grows by at most while something is done to it."""

    def __init__(self, w, s):
        self.pid = gate_of(w, s)
        self.before = self.most = memory.resident(self.pid)

    def look(self):
        self.most = max(self.most, memory.resident(self.pid))

    def check(self):
        self.look()
        grown = (self.most - self.before) >> 10
        assert grown <= GROWTH_MAX_KIB, f"the gate grew by {grown} KiB"
        return f"the gate grew by {grown} KiB at most"


def pour(p, chunks, growth):
    """Sends until the other side has had enough; how many chunks went."""
    sent = 0
    try:
        for chunk in chunks:
            p.send(chunk)
            sent += 1
            if sent % 8 == 0:
                growth.look()
    except OSError:
        pass
    growth.look()
    return sent


def goaway(p):
    """The error that the connection was ended for."""
    p.rest(5)
    codes = [f.code for f in p.frames if f.kind == h2.GOAWAY]
    assert codes, f"no GOAWAY among {p.frames[-5:]}"
    return codes[0]


@claim("row 84: heads without an end, and heads that unpack to much more, are bounded")
def _():
    w, s, _ = world()
    host = "two.example.com"
    growth = Growth(w, s)
    said = {}
    endless = {
        "empty": b"",
        "one field of 4 KB each": h2.block(("x-a", "a" * 4000)),
        "fields of a byte": h2.block(*[("a", "")] * 2000),
        "16 KB of table sizes": b"\x20" * 16384,
        "a string of 4 MB": b"a" * 16384,
    }
    for what, part in endless.items():
        first = h2.block(*get(host, "/open/evil"))
        if "string" in what:
            first += b"\x00\x01a\x7f" + b"\x80\x80\x80\x02"
        with begin(s, host) as p:
            many = h2.continuation(1, part, 0) * max(1, 65536 // (len(part) + 9))
            count = pour(p, [h2.headers(1, first, END_STREAM), *[many] * 400],
                         growth)
            code = goaway(p)
        assert code in (h2.ENHANCE_YOUR_CALM, h2.COMPRESSION_ERROR), (what, code)
        said[what] = count
    bomb = h2.block(*get(host, "/open/evil")) + h2.literal(
        "x-a", "a" * 4000, 0x40) + b"\xbe" * 12000
    large = h2.block(*get(host, "/open/evil"), *[("x-a", "a" * 4000)] * 20)
    for what, block in (("HPACK bomb", bomb), ("80 KB", large)):
        with begin(s, host) as p:
            parts = [block[i:i + 16000] for i in range(0, len(block), 16000)]
            p.send(h2.headers(1, parts[0], END_STREAM | END_HEADERS * (
                len(parts) == 1)), *[h2.continuation(
                    1, part, END_HEADERS * (part is parts[-1]))
                    for part in parts[1:]])
            equal(ending(p, 1), "431", what)
            still_serves(p, host, 3)
    # Its own table may be as large as it says; ours does not follow.
    with begin(s, host, (h2.HEADER_TABLE_SIZE, (1 << 32) - 1)) as p:
        for i in range(1, 600, 2):
            size = b"\x20\x3f\xe1\x1f" if i % 4 == 1 else b"\x20"
            p.send(h2.headers(i, size + h2.block(*get(host))))
            equal(p.answer(i)[0][":status"], "200")
    untouched()
    return f"{growth.check()}; GOAWAY within {said} pieces"


def rapid_reset(host):
    ask = h2.block(*get(host))
    return lambda i: h2.headers(i, ask) + h2.reset(i)


def made_reset(after, method="POST", *more):
    """MadeYouReset: a request that is in order, then what makes us reset it."""
    def kind(host):
        ask = h2.block(*h2.request(host, "/open/good", method, *more))
        return lambda i: h2.headers(i, ask, END_HEADERS) + after(i)
    return kind


FLOODS = {
    "rapid reset": rapid_reset,
    "a window that overflows": made_reset(
        lambda i: h2.window_update(i, (1 << 31) - 1)),
    "a window of 0": made_reset(lambda i: h2.window_update(i, 0)),
    "DATA behind END_STREAM": made_reset(
        lambda i: h2.data(i, b"a") + h2.data(i, b"a")),
    "HEADERS behind END_STREAM": made_reset(
        lambda i: h2.data(i, b"a") + h2.headers(i, [("x-a", "b")])),
    "DATA beyond its length": made_reset(
        lambda i: h2.data(i, b"a", 0), "POST", ("content-length", "0")),
    "PRIORITY of 6 bytes": made_reset(
        lambda i: h2.frame(h2.PRIORITY, 0, i, bytes(6))),
    "PRIORITY on itself": made_reset(lambda i: h2.priority(i, i)),
    "malformed requests": lambda host: lambda i: h2.headers(
        i, get(host, "/open/evil", ("connection", "close"))),
    "PING": lambda host: lambda i: h2.ping() * 2,
    "SETTINGS": lambda host: lambda i: h2.settings(
        (h2.INITIAL_WINDOW_SIZE, i)) * 2,
    "PRIORITY": lambda host: lambda i: h2.priority(i, 0) * 2,
    "empty DATA": lambda host: lambda i: (
        h2.headers(1, h2.request(host, "/open/good", "POST"), END_HEADERS)
        if i == 1 else b"") + h2.data(1, b"", 0) * 2,
}


def flood(s, host, make, growth):
    """FRAMES frames or more, on as many connections as it takes; how many."""
    one = make(host)
    parts = [b"".join(one(2 * i + 1) for i in range(k, k + 250))
             for k in range(0, 5000, 250)]
    sent = connections = 0
    while sent < FRAMES:
        with begin(s, host) as p:
            sent += 500 * max(1, pour(p, parts, growth))
            goaway(p)
        connections += 1
    return connections


LOAD = ["h2load", "-c", "1", "-m", "1", "--log-file", "/dev/stdout"]


def p99_ms(out):
    times = sorted(int(line.split()[2]) for line in out.splitlines()
                   if re.fullmatch(r"\d+\t\d+\t\d+", line))
    return times[len(times) * 99 // 100] / 1000


@claim("row 85: 100,000 frames of each flood end in GOAWAY, memory stays flat, another sandbox is served")
def _():
    w, s, _ = world()
    host = "two.example.com"
    other = w.sandbox(POLICY)
    load = [*LOAD, "-n", "400", f"https://{host}/open/other"]
    idle = p99_ms(other.run(load).ok().out)
    with open(f"{w.folder}/load", "wb") as out:
        steady = shell.start(other.guest.argv(
            [*LOAD, "-D", "600", f"https://{host}/open/other"]), out.name,
            env=other.env)
    w.closers.append(lambda: shell.stop(steady))
    growth, counts = Growth(w, s), []
    for make in FLOODS.values():
        counts.append(flood(s, host, make, growth))
    steady.terminate()
    steady.wait(10)
    with open(f"{w.folder}/load", encoding="utf-8", errors="replace") as f:
        busy = p99_ms(f.read())
    with begin(s, host) as p:
        still_serves(p, host, 1)
    other.rm().ok()
    return (f"{len(FLOODS)} floods on {sum(counts)} connections, {growth.check()};"
            f" p99 of the other {idle:.1f} ms idle, {busy:.1f} ms meanwhile")


@claim("row 86: CONNECT, extended or not, is reset, nothing dialled or sent on")
def _():
    w, _, origins = world()
    before = len(w.resolver.queries())
    dialled = origins["evil.example.com"].count()
    said = refuse_heads(h2payloads.connects)
    lacks(w.resolver.queries()[before:], "evil.example.com")
    equal(origins["evil.example.com"].count(), dialled)
    return said


@claim("row 87: a leaf names one host, and another :authority on its connection is 421")
def _():
    _, s, origins = world()
    for host in HOSTS:
        with begin(s, host) as p:
            equal(p.k.getpeercert()["subjectAltName"], (("DNS", host),))
            # Both are allowed, and the origin's own certificate has them all.
            for i, other in enumerate((*HOSTS, "evil.example.com"), 1):
                p.send(h2.headers(2 * i - 1, get(other, "/open/evil")))
                if other == host:
                    equal(p.answer(2 * i - 1)[0][":status"], "200")
                    forget()
                else:
                    equal(ending(p, 2 * i - 1), "421", f"{other} at {host}")
            still_serves(p, host, 9)
    untouched()


@claim("row 88: who agreed on one version and speaks another is closed, a preface in pieces is one")
def _():
    _, s, origins = world()
    request = b"GET /open/evil HTTP/1.1\r\nHost: %s\r\n\r\n"
    for host in HOSTS:
        name = host.encode()
        ask = h2.settings() + h2.headers(1, get(host, "/open/evil"))
        for what in (request % name, b"PRI /open/evil HTTP/1.1\r\n\r\n",
                     b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n" + ask,
                     h2.PREFACE[:-2] + request % name, ask):
            for how in ("whole", "bytes"):
                with h2.guest(s, host) as p:
                    deliver(p.k, what, how)
                    equal(p.rest(5), "closed", f"{what[:30]!r}, {how}")
        # As one who offered nothing, or http/1.1.
        for how in ("whole", "bytes"):
            with tls(s, host) as k:
                deliver(k, h2.PREFACE + ask, how)
                data = read(k, None)
            contains(data, b" 400 ", how)
            contains(data, b"Tapward-Reason: bad-request", how)
            assert data.endswith(b"<end>"), data
    untouched()
    for host in HOSTS:
        for cut in range(1, len(h2.PREFACE)):
            with h2.guest(s, host) as p:
                p.send(h2.PREFACE[:cut])
                p.send(h2.PREFACE[cut:], h2.settings())
                still_serves(p, host, 1)
    return f"{2 * (len(h2.PREFACE) - 1)} cuts"


@claim("row 89: a placeholder in DATA, however it is cut, stays what it is")
def _():
    _, s, origins = world()
    host = "cred.example.com"
    origin = origins[host]
    text = s.env["TAPWARD_CREDENTIAL_KEY"]
    body = b'{"token": "' + text.encode() + b'"}'
    head = h2.request(host, "/post", "POST", ("authorization", f"Bearer {text}"),
                      ("x-token", text))
    with begin(s, host) as p:
        for i, size in enumerate((len(body), 7, 1)):
            parts = [body[k:k + size] for k in range(0, len(body), size)]
            p.send(h2.headers(2 * i + 1, head, END_HEADERS),
                   *[h2.data(2 * i + 1, part, 0) for part in parts],
                   h2.data(2 * i + 1))
            equal(p.answer(2 * i + 1)[0][":status"], "200")
            asked = origin.asked[-1]
            equal(asked.body, body, f"pieces of {size}")
            equal(asked.field("authorization"), f"Bearer {KEY}")
            equal([n for n, v in asked.fields if KEY in v], ["authorization"])


@claim("the world of section E ends and leaves nothing")
def _():
    w, s, _ = world()
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    s.rm().ok()
    w.close()
    _world.clear()
