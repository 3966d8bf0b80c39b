"""Every shape of an exchange, between each version of HTTP and each: what
arrives, in which memory, and what is left behind."""
import json

from harness import memory
from harness.claims import claim, contains, equal, lacks, until
from harness.peer import Ask, PeerOrigin
from harness.world import World

VERSIONS = ("h1", "h2")
NAMES = {"h1.example.com": "10.201.0.30", "h2.example.com": "10.201.0.31"}
HOST = "{}.example.com"

POLICY = """\
[policy]
version = 1

[allow origins]
host   = h1.example.com, h2.example.com
method = GET, HEAD, POST, PUT
path   = /**
"""

# So that what is kept for another exchange is gone while one looks.
LIMITS = """
[limits]
idle-timeout = 2s
"""

MIB = 1 << 20
GIB = 1 << 30
# What a connection may take over an idle gate: `large-bytes` of a body each
# way, and the buffers of TLS and of the joints on both sides.
FLAT_BYTES = 2 * MIB
FOREVER = 3600000

_world = {}


def world():
    if not _world:
        w = World(NAMES, more=LIMITS)
        cert, key = w.authority.issue(*NAMES)
        origins = {v: w.own(PeerOrigin(w, NAMES[HOST.format(v)], v, cert, key))
                   for v in VERSIONS}
        s = w.sandbox(POLICY)
        gate = json.loads(w.cli("show", s.name, "--json").ok().out)["gate_pid"]
        fds = memory.fds(gate)
        _world.update(w=w, s=s, origins=origins, gate=gate, fds=fds)
        # What is made once, and stays: TLS contexts, a leaf of each name.
        for guest in VERSIONS:
            for origin in VERSIONS:
                Ask({"frame": "stream", "size": MIB, "method": "POST"},
                    {"frame": "stream", "size": MIB}).run(s, HOST.format(origin), guest)
        until(lambda: memory.fds(gate) == fds, 10, "the gate is idle")
        _world["idle"] = memory.anonymous(gate)
    return _world


def kept():
    return sum(o.connections() for o in world()["origins"].values())


def nothing_is_open():
    """Beside the connections to origins that are kept for another exchange."""
    w = world()
    return memory.fds(w["gate"]) == w["fds"] + kept()


class Cell:
    """One exchange: what each end saw (g, o), and what it cost. ends: it ends
    the connection to the origin, which else is kept for another."""

    def __init__(self, guest, origin, ask, ends):
        w = world()
        server = w["origins"][origin]
        before = server.connections()
        self.guest, self.origin = guest, origin
        with memory.Watch(w["gate"]) as watch:
            self.g = ask.run(w["s"], HOST.format(origin), guest)[0]
            until(lambda: server.saw(ask.id), 10, f"an end of {ask.origin}, {self.g}")
            self.o = server.saw(ask.id)[-1]
        self.grown = watch.most - w["idle"]
        until(nothing_is_open, 10, "the guest's connection is gone from the gate")
        kept_now = server.connections()
        if ends:
            assert kept_now <= before, f"a connection is kept: {self!r}"
        else:
            assert 1 <= kept_now <= before + 1, f"{kept_now} are kept: {self!r}"
        assert self.grown <= FLAT_BYTES, \
            f"the gate took {self.grown >> 10} KiB over an idle one"

    def whole(self, status=200):
        """Both bodies are at the other end, byte by byte."""
        equal([self.g["end"], self.g["status"], self.o["end"]],
              ["whole", status, "whole"], repr(self))
        for a, b in ((self.g, self.o), (self.o, self.g)):
            equal(b["got"], a["sent"], repr(self))
            equal(b["got_digest"], a["sent_digest"], repr(self))
        return self

    def sizes(self, up, down):
        equal([self.o["got"], self.g["got"]], [up, down], repr(self))
        return self

    def figure(self):
        return f"{self.g['ms']} ms, the gate at most {max(self.grown, 0) >> 10} KiB over idle"

    def __repr__(self):
        return f"guest: {self.g}\norigin: {self.o}"


def fields(seen):
    """A head or trailers, in lower case: {name: value}."""
    return dict(line.split(": ", 1) for line in seen.splitlines() if ": " in line)


def shape(text):
    """Registers a claim for each pair of versions."""
    def register(function):
        for guest in VERSIONS:
            for origin in VERSIONS:
                claim(f"{text}: {guest} guest, {origin} origin")(
                    lambda g=guest, o=origin: function(
                        lambda asks, does, ends=False: Cell(
                            g, o, Ask(asks, does), ends), g, o))
        return function

    return register


@shape("GET")
def _(cell, *_):
    cell({}, {"frame": "length", "size": 100000}).whole().sizes(0, 100000)


@shape("GET of a body without a told length")
def _(cell, *_):
    cell({}, {"frame": "stream", "size": 300000}).whole().sizes(0, 300000)


@shape("GET of a body that ends with the connection")
def _(cell, guest, origin):
    frame = "close" if origin == "h1" else "stream"
    c = cell({}, {"frame": frame, "size": 300000}, origin == "h1").sizes(0, 300000)
    equal([c.g["end"], c.g["got_digest"]], ["whole", c.o["sent_digest"]], repr(c))


@shape("HEAD tells the length and has no body")
def _(cell, *_):
    c = cell({"method": "HEAD"}, {"frame": "length", "size": 100000}).whole()
    equal(fields(c.g["head"])["content-length"], "100000")
    c.sizes(0, 0)


@shape("POST with a length")
def _(cell, *_):
    c = cell({"method": "POST", "frame": "length", "size": 200000},
             {"frame": "length", "size": 5}).whole().sizes(200000, 5)
    equal(fields(c.o["head"])["content-length"], "200000")


@shape("POST of unknown length")
def _(cell, *_):
    c = cell({"method": "POST", "frame": "stream", "size": 200000},
             {"frame": "length", "size": 5}).whole().sizes(200000, 5)
    lacks(c.o["head"], "content-length")


@shape("POST of nothing")
def _(cell, *_):
    cell({"method": "POST", "frame": "length", "size": 0},
         {"frame": "length", "size": 0}).whole().sizes(0, 0)


@shape("a GiB goes up")
def _(cell, *_):
    return cell({"method": "POST", "frame": "length", "size": GIB},
                {"frame": "length", "size": 5}).whole().sizes(GIB, 5).figure()


@shape("a GiB comes down")
def _(cell, *_):
    return cell({}, {"frame": "length", "size": GIB}).whole().sizes(0, GIB).figure()


@shape("304 keeps the length that it tells")
def _(cell, *_):
    c = cell({}, {"status": 304, "frame": "length", "size": 9}).whole(304)
    equal(fields(c.g["head"])["content-length"], "9")
    c.sizes(0, 0)


@shape("204")
def _(cell, *_):
    c = cell({}, {"status": 204}).whole(204).sizes(0, 0)
    lacks(c.g["head"], "content-length")


@shape("trailers of an answer arrive, names that a message hangs on do not")
def _(cell, *_):
    c = cell({"te": 1}, {"frame": "stream", "size": 70000, "trailer": "x-down"}).whole()
    equal(c.g["trailers"], "x-down: done\n")
    equal(fields(c.o["head"])["te"], "trailers")
    c = cell({"te": 1}, {"frame": "stream", "size": 10, "trailer": "location"})
    equal([c.g["end"], c.g["trailers"]], ["whole", ""], repr(c))


@shape("trailers of an answer go to no HTTP/1.1 that did not ask for them")
def _(cell, guest, _origin):
    c = cell({}, {"frame": "stream", "size": 10, "trailer": "x-down"}).whole()
    equal(c.g["trailers"], "x-down: done\n" if guest == "h2" else "")


@shape("row 44: trailers of a request go from HTTP/2 to HTTP/2 only")
def _(cell, guest, origin):
    c = cell({"method": "POST", "frame": "stream", "size": 10, "trailer": "x-up"},
             {"frame": "length", "size": 5}).whole()
    equal(c.o["trailers"], "x-up: done\n" if guest == origin == "h2" else "")


@shape("100: one who waits to send is told to, by the gate")
def _(cell, *_):
    c = cell({"method": "POST", "frame": "length", "size": 200000, "expect": 1},
             {"frame": "length", "size": 5}).whole().sizes(200000, 5)
    equal(c.g["interims"], [100])
    lacks(c.o["head"], "expect")


@shape("103 and other interim answers are dropped, eight of them")
def _(cell, *_):
    for interim, count in ((103, 1), (102, 8), (100, 2)):
        c = cell({}, {"interim": interim, "interims": count, "frame": "length",
                      "size": 5}).whole()
        equal(c.g["interims"], [])
        lacks(c.g["head"], "link")


@shape("row 59: nine interim answers end the exchange")
def _(cell, *_):
    c = cell({}, {"interim": 103, "interims": 9, "frame": "length", "size": 5}, True)
    equal([c.g["status"], fields(c.g["head"])["tapward-reason"]],
          [502, "bad-response"], repr(c))


@shape("row 53: an early answer ends the upload")
def _(cell, _guest, origin):
    c = cell({"method": "POST", "frame": "length", "size": 64 * MIB},
             {"early": 1, "status": 413, "frame": "length", "size": 5,
              "read_hold": FOREVER}, origin == "h1")
    equal([c.g["status"], c.g["got"], c.g["got_digest"]],
          [413, 5, c.o["sent_digest"]], repr(c))
    assert c.g["sent"] < 64 * MIB and c.o["got"] < 64 * MIB, repr(c)


@shape("an answer that begins early goes on beside the upload")
def _(cell, *_):
    cell({"method": "POST", "frame": "stream", "size": 24 * MIB},
         {"early": 1, "late": 1, "frame": "stream", "size": 24 * MIB}).whole() \
        .sizes(24 * MIB, 24 * MIB)


@shape("a reset by the guest in its upload reaches the origin")
def _(cell, _guest, origin):
    c = cell({"method": "POST", "frame": "stream", "size": 64 * MIB,
              "cut": "reset", "cut_sent": MIB}, {"frame": "length", "size": 5},
             origin == "h1")
    contains(("cut", "reset"), c.o["end"], repr(c))
    assert c.o["got"] <= MIB and not c.o["got_whole"], repr(c)


@shape("a guest that resets or goes in the answer ends it at the origin")
def _(cell, _guest, origin):
    for cut in ("reset", "close"):
        c = cell({"cut": cut, "cut_got": MIB}, {"frame": "stream", "size": 64 * MIB},
                 origin == "h1")
        contains(("cut", "reset"), c.o["end"], repr(c))
        assert not c.o["sent_whole"], repr(c)


@shape("a reset by the origin before its answer is a 502")
def _(cell, _guest, origin):
    c = cell({}, {"cut": "reset", "cut_sent": -1}, origin == "h1")
    equal([c.g["end"], c.g["status"]], ["whole", 502], repr(c))


@shape("a reset by the origin in its answer is told as one")
def _(cell, _guest, origin):
    c = cell({}, {"frame": "stream", "size": 64 * MIB, "cut": "reset",
                  "cut_sent": MIB}, origin == "h1")
    equal([c.g["status"], c.g["got_whole"], c.g["end"]],
          [200, False, "reset"], repr(c))


@shape("an answer that ends short is never whole")
def _(cell, *_):
    for frame in ("length", "stream"):
        c = cell({}, {"frame": frame, "size": 2 * MIB, "cut": "close",
                      "cut_sent": MIB}, True)
        equal([c.g["status"], c.g["got_whole"]], [200, False], repr(c))
        assert c.g["got"] <= MIB, repr(c)


@shape("half-close: a guest that has ended its direction gets its answer")
def _(cell, *_):
    cell({"half": 1}, {"frame": "stream", "size": 50000}).whole().sizes(0, 50000)
    cell({"method": "POST", "frame": "length", "size": 200000, "half": 1},
         {"frame": "length", "size": 50000, "delay": 50}).whole().sizes(200000, 50000)


@shape("a slow reader")
def _(cell, *_):
    return cell({"read_bytes": MIB, "read_ms": 20},
                {"frame": "stream", "size": 32 * MIB}).whole().figure()


@shape("a slow writer")
def _(cell, *_):
    return cell({"method": "POST", "frame": "stream", "size": 2 * MIB,
                 "write_bytes": 65536, "write_ms": 10},
                {"frame": "length", "size": 5}).whole().figure()


@shape("an origin that reads slowly")
def _(cell, *_):
    return cell({"method": "POST", "frame": "length", "size": 32 * MIB},
                {"frame": "length", "size": 5, "read_bytes": MIB,
                 "read_ms": 20}).whole().figure()


@shape("an origin that writes slowly")
def _(cell, *_):
    return cell({}, {"frame": "length", "size": 2 * MIB, "write_bytes": 65536,
                     "write_ms": 10}).whole().figure()


@shape("both read slowly, and both write")
def _(cell, *_):
    return cell({"method": "POST", "frame": "stream", "size": 16 * MIB,
                 "read_bytes": MIB, "read_ms": 20},
                {"early": 1, "late": 1, "frame": "stream", "size": 16 * MIB,
                 "read_bytes": MIB, "read_ms": 20}).whole().figure()


@claim("nothing is left: no connection, no descriptor, no memory; all is audited")
def _():
    w = world()
    until(lambda: kept() == 0 and memory.fds(w["gate"]) == w["fds"], 10,
          "the gate is as it was")
    grown = memory.anonymous(w["gate"]) - w["idle"]
    assert grown <= FLAT_BYTES, f"the gate has kept {grown >> 10} KiB"
    contains(w["w"].cli("log", "--verify").ok().out, "unbroken")
    equal(w["w"].log_text().lower().count("panic"), 0)
    w["w"].close()
    _world.clear()
    return f"{grown >> 10} KiB over the idle gate of before"
