"""Payloads through the gate by every way there is, and what came out of it.

A route is how a guest gets to an origin; what the origin got is judged by
strict.py. What is refused must have left nothing: not a byte at an origin, no
question at the resolver, one record in the log, the connection closed by us.
"""
import json
import re
import socket
import time

from . import h2frames, strict
from .claims import equal, until
from .h2origin import Origin, answer
from .raw import OK, Recorder, connect, deliver, read, synthetic, tls
from .world import World

PROXY = ("100.64.0.1", 3128)
HOWS = ("whole", "bytes", "lines", "second")
NAMES = {
    "one.example.com": "10.201.0.30",    # TLS, HTTP/1.1
    "two.example.com": "10.201.0.31",    # TLS, HTTP/2
    "plain.example.com": "10.201.0.32",  # no TLS
}
# How long the gate looks at a chunked body before its head goes on.
LOOK_S = 0.2


class Sink2:
    """An origin of HTTP/2; take() judges what it got since the last time."""

    def __init__(self, *args):
        self.whole = []
        self.origin = Origin(*args)
        self.origin.answer = self._answer

    def _answer(self, peer, stream, asked):
        self.whole.append(asked)
        length = ("content-length", "2")
        if asked.field(":method") == "HEAD":
            peer.send(h2frames.headers(stream, [(":status", "200"), length]))
        else:
            peer.send(answer(stream, b"ok", length))

    def take(self, host):
        """([Request], whether more than that was begun)."""
        whole, self.whole = self.whole, []
        begun, self.origin.asked = self.origin.asked, []
        return [strict.request2([(n.encode("latin-1"), v.encode("latin-1"))
                                 for n, v in a.fields], a.body, host)
                for a in whole], any(
                    a not in whole and a.field(":path") != "/begun"
                    for a in begun)

    def forget(self):
        self.whole, self.origin.asked = [], []


class Sink:
    """An origin of HTTP/1.1, likewise."""

    def __init__(self, *args):
        self.recorder = Recorder(*args)
        self.recorder.answer = lambda nth, head: \
            OK[:-len(b"ok")] if head.startswith(b"HEAD ") else OK

    def take(self, host):
        found, is_more = [], False
        for part in self.recorder.parts():
            whole, rest = strict.requests(part, host)
            found += whole
            is_more |= rest != b"" and b" /begun HTTP/1.1\r\n" not in rest
        self.forget()
        return found, is_more

    def forget(self):
        self.recorder.forget()


class Route:
    """open() gives a connection of the guest, before the first request."""

    def __init__(self, name, host, sink, open_, scheme="https", prefix=""):
        self.name, self.host, self.sink = name, host, sink
        self.open, self.scheme, self.prefix = open_, scheme, prefix

    def bytes(self, payload):
        return payload.bytes(self.host, self.prefix, self.scheme)

    def request(self, path):
        return (f"GET {self.prefix}{path} HTTP/1.1\r\n"
                f"Host: {self.host}\r\n\r\n").encode()

    def take(self):
        return self.sink.take(self.host.encode())


class Field:
    """A world with one sandbox and the routes into it."""

    def __init__(self, policy, names=None):
        self.w = World({**NAMES, **(names or {})})
        self.s = s = self.w.sandbox(policy)
        one = Sink(self.w, NAMES["one.example.com"], 443, ["one.example.com"])
        two = Sink2(self.w, NAMES["two.example.com"], ["two.example.com"])
        plain = Sink(self.w, NAMES["plain.example.com"], 80)
        self.sinks = {"one": one, "two": two, "plain": plain}
        self.routes = {r.name: r for r in (
            Route("tls", "one.example.com", one,
                  lambda: tls(s, "one.example.com")),
            Route("tls to h2", "two.example.com", two,
                  lambda: tls(s, "two.example.com")),
            Route("http", "plain.example.com", plain, lambda: connect(
                s, (synthetic(s, "plain.example.com"), 80)), "http"),
            Route("proxy", "plain.example.com", plain, lambda: connect(
                s, PROXY), "http", "http://plain.example.com"))}
        self.log_at = 0
        self.sync()

    def sync(self):
        """A good request by each route; all records before theirs."""
        for route in self.routes.values():
            with route.open() as k:
                k.sendall(route.request("/open/last"))
                data = read(k, until_body(b"ok"), 10)
            requests, is_more = route.take()
            equal(([r.target for r in requests], is_more),
                  ([b"/open/last"], False), f"{route.name}: {data!r}")
        found = []
        until(lambda: found.extend(self.records()) or sum(
            r.get("path") == "/open/last" for r in found) == len(self.routes),
            10, "the records of the last requests")
        return [r for r in found if r.get("path") != "/open/last"]

    def records(self):
        """The sandbox's records of requests since the last time."""
        with open(f"{self.w.folder}/log/audit.jsonl", encoding="ascii") as f:
            f.seek(self.log_at)
            text = f.read()
        text = text[:text.rfind("\n") + 1]
        self.log_at += len(text)
        return [r for r in map(json.loads, text.splitlines())
                if r["event"] == "request" and r["sandbox"] == self.s.name]

    def close(self):
        self.s.rm().ok()
        self.w.close()


def until_body(text):
    return re.compile(rb"\r\n\r\n" + re.escape(text) + rb"\Z")


def end(k):
    """Closes the guest's direction, below TLS if there is any."""
    try:
        socket.socket.shutdown(k, socket.SHUT_WR)
    except OSError:
        pass


class Score:
    """What a batch of deliveries came to."""

    def __init__(self):
        self.deliveries = self.forwarded = self.refused = self.begun = 0

    def __str__(self):
        text = (f"{self.deliveries} deliveries, {self.forwarded} requests sent "
                f"on, {self.refused} refused")
        return text + (f", {self.begun} begun" if self.begun else "")


def ask(route, data, how, is_ended):
    """What the guest gets, how it ends, and how long it took to write."""
    with route.open() as k:
        began = time.monotonic()
        deliver(k, data, "whole" if how == "second" else how)
        took = time.monotonic() - began
        if is_ended:
            end(k)
        return read(k, None, 10), took


def judge(route, payload, how, score):
    """Delivers one payload in one way; fails if anything is not as it must."""
    what = f"{payload!r} by {route.name}, {how}"
    data, want = route.bytes(payload), payload.statuses()
    if how == "second":
        data, want = route.request("/open/first") + data, [200] + want
    is_refused = want[-1] != 200
    got, took = ask(route, data, how, payload.want.endswith("~") or not is_refused)
    requests, is_more = route.take()
    assert got.endswith(b"<end>"), f"{what}: {got[-400:]!r}"
    said, rest = strict.answers(got[:-len(b"<end>")],
                                [r.method for r in requests])
    equal(rest, b"", what)
    equal([a.status for a in said], want, what)
    equal(len(requests), want.count(200), f"{what}: {requests}")
    assert not any(b"evil" in r.target for r in requests), f"{what}: {requests}"
    # A body that came too slowly to be looked at first is cut off.
    assert not is_more or is_refused and took > LOOK_S / 2, \
        f"{what}: begun after {took:.3f} s"
    score.deliveries += 1
    score.forwarded += len(requests)
    score.refused += len(want) - want.count(200)
    score.begun += is_more


def settle(field, score, asked):
    """The log says what was seen; nothing came late, nothing was asked."""
    found = field.sync()
    count = [sum(r["verdict"] == v for r in found) for v in ("deny", "allow")]
    equal(count, [score.refused, score.forwarded], "records")
    names = set(field.w.resolver.queries()[asked:])
    assert names <= set(NAMES), names


def run(field, payloads, routes, hows=HOWS):
    """All of them, by all routes and ways; the score."""
    score, asked = Score(), len(field.w.resolver.queries())
    field.sync()
    for payload in payloads:
        for name in routes:
            for how in hows:
                judge(field.routes[name], payload, how, score)
    settle(field, score, asked)
    return str(score)


def replay(field, payloads, every, once, score):
    """All of a collection: in every way by some routes, whole by others."""
    asked, bad = len(field.w.resolver.queries()), []
    field.sync()
    ways = [(r, how) for r in every for how in HOWS] + [
        (r, "whole") for r in once]
    for payload in payloads:
        for route, how in ways:
            try:
                judge(field.routes[route], payload, how, score)
            except AssertionError as e:
                bad.append(str(e))
    if bad:
        raise AssertionError("\n".join([f"{len(bad)} of {score}", *bad[:30]]))
    settle(field, score, asked)
