"""Answers of an evil origin, and what a guest of either version gets of them."""
import re
import ssl
from collections import namedtuple

from . import h2frames, strict
from .claims import equal, lacks, until
from .raw import deliver, read
from .smuggle import end

GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nme"
HOWS = ("whole", "bytes", "lines")

# What a guest got: status 0 if nothing, is_whole if it ended in order.
Got = namedtuple("Got", "status fields body is_whole")


class Guest1:
    """A guest of HTTP/1.1 on a route; one connection for each request."""

    def __init__(self, route):
        self.name, self.route = route.name, route

    def ask(self, method, path, what=""):
        with self.route.open() as k:
            k.sendall(self.route.request(path).replace(
                b"GET", method.encode(), 1))
            end(k)
            data = read(k, None, 20)
        assert data.endswith(b"<end>"), f"{what}: {data[-300:]}"
        found, rest = strict.answers(data[:-len(b"<end>")], [method.encode()])
        if rest:
            equal(found, [], data)
            return Got(int(re.match(rb"HTTP/1\.1 (\d{3}) ", rest)[1]), [],
                       rest, False)
        equal(len(found), 1, data)
        return Got(*found[0], True)


class Guest2:
    """A guest of HTTP/2 on a route; one connection for each request."""

    def __init__(self, s, route):
        self.name, self.s, self.host = "h2", s, route.host

    def ask(self, method, path, what=""):
        with h2frames.guest(self.s, self.host) as p:
            p.send(h2frames.PREFACE)
            p.begin()
            p.send(h2frames.headers(
                1, h2frames.request(self.host, path, method)))
            return self._read(p)

    def _read(self, p):
        got = Got(0, [], b"", False)
        while True:
            f = p.until(lambda f: f.stream == 1, 20)
            if f.fields is not None and got.status == 0:
                (name, status), *fields = [
                    (n.encode("latin-1"), v.encode("latin-1"))
                    for n, v in f.fields]
                equal(name, b":status")
                strict.check_fields2(fields)
                got = Got(int(status), fields, b"", False)
            elif f.kind == h2frames.DATA:
                got = got._replace(body=got.body + h2frames.unpadded(f))
                if f.payload and not f.ends:
                    p.send(h2frames.window_update(1, len(f.payload)))
            elif f.kind == h2frames.RST_STREAM:
                return got
            if f.ends:
                return got._replace(is_whole=True)


def say(said, how, told):
    """Recorder.answer: said to /open/bad, in one of the ways; else GOOD.

    told has each connection that it is said on.
    """
    def write(peer):
        told.append(peer)
        deliver(peer, said.bytes, how)
        if said.closes and isinstance(peer, ssl.SSLSocket):
            peer.unwrap()  # says that it ends
        return not said.closes

    return lambda nth, head: write if b" /open/bad " in head else GOOD


def judge(guest, recorder, said, how, is_second):
    """One answer to one guest; fails if anything is not as it must."""
    what = f"{said.id} to {guest.name}, {how}{', second' * is_second}"
    told = []
    recorder.answer = say(said, how, told)
    if is_second:
        equal(guest.ask("GET", "/open/first", what).body, b"me", what)
    ended = recorder.ended
    got = guest.ask(said.method, "/open/bad", what)
    lacks(got.body, b"poison", what)
    lacks(repr(got.fields).encode(), b"poison", what)
    if said.want == "cut":
        # A stream may be reset before its head was written.
        assert not got.is_whole and got.status in (0, 200), f"{what}: {got}"
    else:
        equal((got.status, got.is_whole), (int(said.want), True),
              f"{what}: {got}")
        equal(reason(got) is not None, said.want == "502", f"{what}: {got}")
    used = recorder.count()
    if not said.is_kept:
        until(lambda: recorder.ended - ended >= len(told), 5,
              f"the connection to the origin ends: {what}", every=0.002)
    again = guest.ask("GET", "/open/next", what)
    equal((again.status, again.body), (200, b"me"), what)
    equal(recorder.count() - used, int(not said.is_kept),
          f"new connections: {what}")


def reason(got):
    return next((v for n, v in got.fields if n == b"tapward-reason"), None)


def run(guest, recorder, answers):
    """All answers to a guest in all ways; what it came to."""
    count = 0
    for said in answers:
        # What is long is long in every way, and takes its time.
        for how in HOWS if len(said.bytes) < 20000 else HOWS[:1]:
            judge(guest, recorder, said, how, False)
            count += 1
        judge(guest, recorder, said, "whole", True)
        count += 1
    return f"{len(answers)} answers, {count} exchanges"
