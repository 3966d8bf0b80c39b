"""Connections to origins: which requests share one, when one is left, and that
nothing of one exchange is taken for another's."""
import json

from harness import memory
from harness.claims import claim, contains, equal, lacks, until
from harness.peer import Ask, PeerOrigin
from harness.world import World

VERSIONS = ("h1", "h2")
NAMES = {"h1.example.com": "10.201.0.34", "h2.example.com": "10.201.0.35",
         "alias.example.com": "10.201.0.35"}
HOST = "{}.example.com"

POLICY = """\
[policy]
version = 1

[allow origins]
host   = h1.example.com, h2.example.com, alias.example.com
method = GET, POST, DELETE
path   = /x
"""

KEYED = POLICY + """
[allow keyed]
host = h1.example.com, h2.example.com
path = /key
credential = {credential}
"""

CREDENTIAL = """
[credential {name}]
kind  = static
value = file:{file}
host  = {name}.example.com
apply = bearer
grant = keyed-{id} user:root
"""

LIMITS = """
[limits]
idle-timeout = 2s
"""

MIB = 1 << 20
SMALL = {"frame": "length", "size": 1000}
_world = {}


def world():
    if not _world:
        w = World(NAMES, more=LIMITS, start=False)
        token = w.file("token", "canary-of-kept-connections\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            for v in VERSIONS:
                f.write(CREDENTIAL.format(name=v, file=token, id=w.id))
        w.start()
        cert, key = w.authority.issue(*NAMES)
        origins = {v: w.own(PeerOrigin(w, NAMES[HOST.format(v)], v, cert, key))
                   for v in VERSIONS}
        _world.update(w=w, origins=origins, s=w.sandbox(POLICY))
    return _world


def ask(guest, origin, asks, does, s=None, host=None):
    """(what the guest saw, what the origin saw) of each exchange."""
    one = Ask(asks, does)
    got = one.run(s or world()["s"], host or HOST.format(origin), guest)
    server = world()["origins"][origin]
    until(lambda: server.saw(one.id), 10, f"an end at the origin of {got}")
    return got, server.saw(one.id)


def get(guest, origin, **kwargs):
    """One plain exchange; which connection it took at the origin."""
    got, saw = ask(guest, origin, {}, SMALL, **kwargs)
    equal([got[0]["end"], got[0]["status"], got[0]["got_digest"]],
          ["whole", 200, saw[0]["sent_digest"]], repr(got))
    return saw[0]["pid"]


def pairs(text):
    """Registers a claim for each pair of versions."""
    def register(function):
        for guest in VERSIONS:
            for origin in VERSIONS:
                claim(f"{text}: {guest} guest, {origin} origin")(
                    lambda g=guest, o=origin: function(g, o))
        return function

    return register


@pairs("exchanges one after another take one connection, of different guests too")
def _(guest, origin):
    first = get(guest, origin)
    equal({get(one, origin) for one in (guest, *VERSIONS)}, {first})
    got, saw = ask("h1", origin, {"streams": 5}, SMALL)
    equal([len(got), {s["pid"] for s in saw}], [5, {first}], repr(saw))


@pairs("an exchange that is not clean is the last of its connection")
def _(guest, origin):
    unclean = [
        ({}, {"frame": "length", "size": 2 * MIB, "cut": "close", "cut_sent": MIB}),
        ({}, {"interim": 103, "interims": 9, **SMALL}),
    ]
    if origin == "h1":  # in HTTP/2 it is the stream's last
        unclean += [
            ({"method": "POST", "frame": "length", "size": 8 * MIB},
             {"early": 1, "status": 413, "read_hold": 3600000, **SMALL}),
            ({"cut": "reset", "cut_got": MIB}, {"frame": "stream", "size": 32 * MIB}),
            ({}, {"frame": "close", "size": 1000}),
        ]
    for asks, does in unclean:
        _got, saw = ask(guest, origin, asks, does)
        assert get(guest, origin) != saw[-1]["pid"], f"{does}: it was taken again"


@pairs("row 59: what an origin says beyond an answer is nobody's")
def _(guest, origin):
    if origin == "h2":
        # Streams have numbers: there is no place for it. One stays in order.
        equal(get(guest, origin), get(guest, origin))
        return
    for does in ({"surplus": 1, **SMALL}, {"surplus": 1, "frame": "stream", "size": 9},
                 {"surplus": 1, "status": 204}, {"surplus": 1, "status": 304}):
        got, saw = ask(guest, origin, {}, does)
        equal([got[0]["end"], got[0]["got_digest"]], ["whole", saw[0]["sent_digest"]])
        assert get(guest, origin) != saw[0]["pid"], "it was taken again"


def ate(guest, origin, asks, how):
    """A kept connection, whose origin ends it instead of the second answer."""
    w = world()["w"]
    kept = get(guest, origin)
    once = w.file("once", "")
    return kept, *ask(guest, origin, asks, {"cut": how, "cut_sent": -1, "once": once,
                                            **SMALL})


@pairs("what a stale connection ate is asked again, if once or twice is the same")
def _(guest, origin):
    for method in ("GET", "DELETE"):
        for how in ("reset", "close"):
            if origin == "h2" and how == "reset":
                continue  # there a reset is of the stream, and an answer
            kept, got, saw = ate(guest, origin, {"method": method}, how)
            equal([got[0]["status"], [s["end"] for s in saw]],
                  [200, ["ours", "whole"]], repr((got, saw)))
            equal([saw[0]["pid"] == kept, saw[1]["pid"] == kept], [True, False])
    kept, got, saw = ate(guest, origin, {"method": "POST", "frame": "length", "size": 9},
                         "close")
    equal([got[0]["status"], len(saw)], [502, 1], repr((got, saw)))


@pairs("a stream that was refused is asked again, whatever it asks")
def _(guest, origin):
    if origin == "h1":  # such a thing cannot be said there
        equal(get(guest, origin), get(guest, origin))
        return
    for asks in ({"method": "GET"}, {"method": "POST", "frame": "length", "size": 0}):
        _kept, got, saw = ate(guest, origin, asks, "refuse")
        equal([got[0]["status"], [s["end"] for s in saw]], [200, ["ours", "whole"]],
              repr((got, saw)))


@pairs("row 60: two sandboxes share no connection")
def _(guest, origin):
    w = world()["w"]
    if "other" not in _world:
        _world["other"] = w.sandbox(POLICY)
    mine = get(guest, origin)
    other = get(guest, origin, s=_world["other"])
    assert mine != other, "they share one"
    equal([get(guest, origin), get(guest, origin, s=_world["other"])], [mine, other])


@pairs("a credential goes out on a connection of its own")
def _(guest, origin):
    w = world()["w"]
    if "keyed" not in _world:
        _world["keyed"] = w.sandbox(KEYED.format(credential=origin), f"keyed-{w.id}")
    else:
        _world["keyed"].reload(KEYED.format(credential=origin)).ok()
    s = _world["keyed"]
    seen = []
    for path in ("/x", "/key", "/x", "/key"):
        one = Ask({}, SMALL)
        one.guest["path"] = one.guest["path"].replace("/x", path)
        got = one.run(s, HOST.format(origin), guest)[0]
        equal([got["end"], got["status"]], ["whole", 200], repr(got))
        saw = world()["origins"][origin].saw(one.id)[0]
        equal("bearer canary" in saw["head"].lower(), path == "/key", repr(saw))
        seen.append(saw["pid"])
    equal([seen[0] == seen[2], seen[1] == seen[3], seen[0] == seen[1]],
          [True, True, False], repr(seen))


@claim("a name has its own connections, though its address and certificate are another's")
def _():
    for guest in VERSIONS:
        mine = get(guest, "h2")
        assert get(guest, "h2", host="alias.example.com") != mine, "they share one"


@pairs("a connection that is idle ends in time; the next resumes its TLS session")
def _(guest, origin):
    server = world()["origins"][origin]
    first = get(guest, origin)
    equal(server.connections() > 0, True)
    until(lambda: server.connections() == 0, 10, "idle connections end")
    got, saw = ask(guest, origin, {}, SMALL)
    equal([got[0]["end"], saw[0]["resumed"]], ["whole", True], repr(saw))
    assert saw[0]["pid"] != first


@pairs("Alt-Svc and its like, in any spelling, do not reach a guest")
def _(guest, origin):
    for field in ("alt-svc:h3=%22:443%22", "Alt-Svc:clear", "ALT-SVC:h2=x"):
        if origin == "h2":
            field = field.lower()
        got, _saw = ask(guest, origin, {}, {"field": field, **SMALL})
        equal([got[0]["end"], got[0]["status"]], ["whole", 200], repr(got))
        lacks(got[0]["head"].lower(), "alt-svc")
    got, _saw = ask(guest, origin, {}, {"field": "x-stays:1", **SMALL})
    contains(got[0]["head"], "x-stays: 1")


@claim("the world of origins ends: no connection is left")
def _():
    w = world()["w"]
    gate = json.loads(w.cli("show", world()["s"].name, "--json").ok().out)["gate_pid"]
    until(lambda: all(o.connections() == 0 for o in world()["origins"].values()), 10,
          "no connection is left")
    assert memory.fds(gate) < 40, memory.fds(gate)
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    w.close()
    _world.clear()
