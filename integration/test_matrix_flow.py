"""What streams and what waits: events that go out at once, readers that stop
beside others that go on, and exchanges in which nobody moves any more."""
import json
import os
import threading
import time

from harness import memory
from harness.claims import claim, equal, until
from harness.peer import Ask, PeerOrigin
from harness.raw import Recorder
from harness.world import World

VERSIONS = ("h1", "h2")
NAMES = {"h1.example.com": "10.201.0.32", "h2.example.com": "10.201.0.33",
         "plain.example.com": "10.201.0.36"}
HOST = "{}.example.com"

POLICY = """\
[policy]
version = 1

[allow origins]
host   = h1.example.com, h2.example.com
method = GET, POST
path   = /**

[allow plain]
host   = plain.example.com
port   = 80
scheme = http
"""

# So that what is kept for another exchange is gone while one looks.
LIMITS = """
[limits]
idle-timeout = 300ms
"""

# And a time-out that one can wait for.
QUICK = LIMITS + "relay-idle-timeout = 1500ms\n"

MIB = 1 << 20
FOREVER = 3600000
STREAMS = 100
# [limits] wait-bytes, at either end of an exchange; and what else is made for
# one: of HTTP/1.1 a connection with the buffers of TLS, for reads in bulk.
WAIT_BYTES = 65536
MORE_BYTES = {"h1": 2 * 65536, "h2": 32768}

_world = {}


def world(limits=LIMITS):
    if _world and _world["limits"] != limits:
        is_idle()
        _world["w"].close()
        _world.clear()
    if not _world:
        w = World(NAMES, more=limits)
        cert, key = w.authority.issue(*NAMES)
        origins = {v: w.own(PeerOrigin(w, NAMES[HOST.format(v)], v, cert, key))
                   for v in VERSIONS}
        s = w.sandbox(POLICY)
        gate = json.loads(w.cli("show", s.name, "--json").ok().out)["gate_pid"]
        fds = memory.fds(gate)
        os.mkfifo(f"{w.folder}/go")
        _world.update(w=w, s=s, origins=origins, gate=gate, fds=fds, limits=limits)
        for guest in VERSIONS:
            for origin in VERSIONS:
                Ask({}, {"frame": "stream", "size": MIB}).run(
                    s, HOST.format(origin), guest)
        is_idle()
        _world["idle"] = memory.anonymous(gate)
    return _world


def is_idle():
    until(lambda: memory.fds(_world["gate"]) == _world["fds"], 15, "the gate is idle")


def ask(guest, origin, asks, does):
    """(what the guest saw, what the origin saw) of each exchange."""
    w = _world or world()
    one = Ask(asks, does)
    got = one.run(w["s"], HOST.format(origin), guest)
    server = w["origins"][origin]
    until(lambda: len(server.saw(one.id)) >= len(got), 10, f"an end at the origin of {got}")
    return got, server.saw(one.id)


def pairs(text, guests=VERSIONS):
    """Registers a claim for each pair of versions."""
    def register(function):
        for guest in guests:
            for origin in VERSIONS:
                claim(f"{text}: {guest} guest, {origin} origin")(
                    lambda g=guest, o=origin: function(g, o))
        return function

    return register


# --- what streams ---

@pairs("SSE: each event is with the guest while the origin holds the next")
def _(guest, origin):
    go = f"{world()['w'].folder}/go"
    # The origin sends one when the guest has said that it has the last.
    got, saw = ask(guest, origin, {"events": 200, "go": go},
                   {"frame": "stream", "events": 200, "go": go})
    equal([got[0]["end"], got[0]["events"]], ["whole", 200], repr(got))
    equal(got[0]["got_digest"], saw[0]["sent_digest"], repr(got))
    return (f"from the origin's write to the guest's read: median "
            f"{got[0]['median_ns'] / 1000:.0f} us of 200")


@pairs("a long poll is silent, and then there at once")
def _(guest, origin):
    delays = []
    for _ in range(5):
        got, _saw = ask(guest, origin, {"events": 1},
                        {"frame": "stream", "events": 1, "delay": 100})
        equal([got[0]["end"], got[0]["events"]], ["whole", 1], repr(got))
        assert got[0]["ms"] >= 100, repr(got)
        delays.append(got[0]["median_ns"])
    return f"median {sorted(delays)[2] / 1000:.0f} us of 5"


@pairs("bytes that are uploaded one by one are with the origin one by one")
def _(guest, origin):
    got, saw = ask(guest, origin,
                   {"method": "POST", "frame": "stream", "size": 200,
                    "write_bytes": 1, "write_ms": 2},
                   {"early": 1, "late": 1, "frame": "stream", "size": 200,
                    "write_bytes": 1, "write_ms": 2})
    equal([got[0]["end"], saw[0]["end"]], ["whole", "whole"], repr(got))
    equal([got[0]["got_digest"], saw[0]["got_digest"]],
          [saw[0]["sent_digest"], got[0]["sent_digest"]])


# --- who ends a direction ---

@claim("nc -N, which ends its direction with its request, gets the whole answer")
def _():
    w = world()["w"]
    origin = Recorder(w, "10.201.0.36", 80)
    body = bytes(range(256)) * 20000
    origin.answer = lambda nth, head: slowly(
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    head = b"%s / HTTP/1.1\r\nHost: plain.example.com\r\n%s\r\n%s"
    for request in (head % (b"GET", b"", b""),
                    head % (b"POST", b"Content-Length: 3\r\n", b"abc"),
                    head % (b"POST", b"Transfer-Encoding: chunked\r\n",
                            b"3\r\nabc\r\n0\r\n\r\n")):
        got = world()["s"].run(["nc", "-N", "-w", "10", "plain.example.com", "80"],
                               stdin=request, text=False)
        assert got.out.endswith(b"\r\n\r\n" + body), (request, got.out[:300])
    until(lambda: origin.ended == 1, 10, "and its connection is idle, then over")


def slowly(answer):
    """Sends it when the guest has certainly ended, in two pieces."""
    def send(peer):
        time.sleep(0.1)
        peer.sendall(answer[:100])
        time.sleep(0.1)
        peer.sendall(answer[100:])
        return True

    return send


# --- what waits ---

def all_whole(got, saw, count):
    equal([g for g in got if g["end"] != "whole"], [])
    equal(len(got), count)
    for sent, received in ((saw, got), (got, saw)):
        equal({r["got_digest"] for r in received},
              {s["sent_digest"] for s in sent}, "digests")
        equal({r["got"] for r in received}, {s["sent"] for s in sent}, "sizes")


def watch_idle():
    """A watch that begins when nothing is left of what was before."""
    w = world()
    is_given_back()
    return memory.Watch(w["gate"])


def is_bounded(watch, origin, streams, ways=1):
    """No more than what so many may hold, each in one direction or in two."""
    grown = watch.most - world()["idle"]
    most = streams * (ways * 2 * WAIT_BYTES + MORE_BYTES[origin]) + 2 * MIB
    assert grown <= most, f"the gate took {grown >> 10} KiB, more than {most >> 10}"
    return grown


def is_given_back():
    """What waited is over: its memory is the machine's again."""
    def kept():
        return max(memory.anonymous(_world["gate"]) - _world["idle"], 0)

    is_idle()
    until(lambda: kept() <= 2 * MIB, 5, f"the gate has kept {kept() >> 10} KiB")
    return kept()


@pairs(f"{STREAMS - 1} streams that are not read stop no other, nor grow", ("h2",))
def _(guest, origin):
    with watch_idle() as watch:
        got, saw = ask(guest, origin,
                       {"streams": STREAMS, "stalled": STREAMS - 1, "read_hold": 500},
                       {"frame": "stream", "size": MIB})
    # They were held until it was over.
    all_whole(got, saw, STREAMS)
    grown = is_bounded(watch, origin, STREAMS - 1)
    return (f"the other had its MiB after {got[0]['ms']} ms; {grown >> 10} KiB "
            f"over idle, {is_given_back() >> 10} afterwards")


@pairs(f"{STREAMS} uploads that no origin reads stop no other, nor grow", ("h2",))
def _(guest, origin):
    w = world()
    waiting = Ask({"method": "POST", "frame": "stream", "size": MIB, "streams": STREAMS},
                  {"frame": "length", "size": 5, "read_hold": 2000})
    done = []
    thread = threading.Thread(target=lambda: done.append(
        waiting.run(w["s"], HOST.format(origin), guest)))
    with watch_idle() as watch:
        thread.start()
        until(lambda: w["origins"][origin].connections() > 0 and
              memory.anonymous(w["gate"]) > w["idle"] + MIB, 10, "uploads wait")
        got, _saw = ask(guest, origin, {}, {"frame": "length", "size": MIB})
        equal([got[0]["end"], done], ["whole", []], repr(got))
        thread.join()
    until(lambda: len(w["origins"][origin].saw(waiting.id)) == STREAMS, 10, "their ends")
    all_whole(done[0], w["origins"][origin].saw(waiting.id), STREAMS)
    grown = is_bounded(watch, origin, STREAMS)
    return (f"another exchange took {got[0]['ms']} ms; {grown >> 10} KiB over "
            f"idle, {is_given_back() >> 10} afterwards")


@pairs("neither side reads, both write; and then they read: nothing is stuck")
def _(guest, origin):
    streams = 50 if guest == "h2" else 1
    with watch_idle() as watch:
        got, saw = ask(guest, origin,
                       {"method": "POST", "frame": "stream", "size": 2 * MIB,
                        "streams": streams, "read_hold": 1500},
                       {"early": 1, "late": 1, "frame": "stream", "size": 2 * MIB,
                        "read_hold": 1500})
    all_whole(got, saw, streams)
    grown = is_bounded(watch, origin, streams, 2)
    return f"{grown >> 10} KiB over idle, {is_given_back() >> 10} afterwards"


@pairs("an exchange in which nobody moves any more ends by the time-out")
def _(guest, origin):
    w = world(QUICK)
    streams = 20 if guest == "h2" else 1
    got, saw = ask(guest, origin,
                   {"method": "POST", "frame": "stream", "size": 2 * MIB,
                    "streams": streams, "read_hold": FOREVER},
                   {"early": 1, "late": 1, "frame": "stream", "size": 2 * MIB,
                    "read_hold": FOREVER})
    equal({g["got_whole"] for g in got}, {False}, repr(got))
    assert all(1250 <= g["ms"] < 7500 for g in got), [g["ms"] for g in got]
    equal({s["got_whole"] for s in saw}, {False}, repr(saw))
    w["s"].audited(reason="timeout", status=200)
    return f"after {got[0]['ms']} ms; {is_given_back() >> 10} KiB are kept"


@claim("the world of streams ends and leaves nothing")
def _():
    w = world(QUICK)["w"]
    is_idle()
    w.close()
    _world.clear()
