"""h2spec's cases, asked of the gate as a guest sees it.

The tool itself is a program in Go that cannot be had from a Debian mirror; its
cases are rows of harness/h2spec.py. That the rows are right is shown by nghttpd,
which passes all but the one that h2spec fails it for.
"""
import os
import socket
import time

from harness import h2frames, h2spec, shell
from harness.claims import claim, equal, until
from harness.origins import Nginx, socket_in
from harness.world import World

NAMES = {
    "two.example.com": "10.201.0.20",  # nginx, HTTP/2
    "one.example.com": "10.201.0.21",  # nginx, HTTP/1.1
    "ng.example.com": "10.201.0.22",   # nghttpd, asked without a gate
}

POLICY = """\
[policy]
version = 1

[allow origins]
host   = two.example.com, one.example.com
method = GET, HEAD, POST
path   = /**
"""

SERVERS = """
  server {{ listen 10.201.0.20:443 ssl http2; listen 10.201.0.21:443 ssl;
    ssl_certificate {cert}; ssl_certificate_key {key};
    location / {{ return 200 "hello from the origin\\n"; }} }}
"""

PARTS = {
    "frames, messages and HPACK that must be taken": ("generic/",),
    "the preface, frames and their size": ("http2/3", "http2/4"),
    "streams: states, numbers, dependencies, errors": ("http2/5",),
    "each kind of frame, settings and windows": ("http2/6",),
    "error codes and malformed messages": ("http2/7", "http2/8"),
    "HPACK that is wrong": ("hpack/",),
}

_world = {}


def world():
    if not _world:
        w = World(NAMES)
        cert, key = w.authority.issue(*NAMES)
        w.own(Nginx(w.net, f"{w.folder}/nginx",
                    SERVERS.format(cert=cert, key=key)))
        www = f"{w.folder}/www"
        os.makedirs(www)
        with open(f"{www}/index.html", "w", encoding="ascii") as f:
            f.write("hello from nghttpd\n")
        ng = shell.start(w.net.plain(
            ["nghttpd", "-d", www, "-a", NAMES["ng.example.com"], "443", key,
             cert]), f"{w.folder}/nghttpd.log")
        w.closers.append(lambda: shell.stop(ng))
        _world.update(w=w, s=w.sandbox(POLICY))
    return _world["w"], _world["s"]


def wrong(host, dial, sections):
    """({case: what came of it} of those that fail, how many there are)"""
    failed, count = {}, 0
    for case in h2spec.Rows(host).all():
        if not case.id.startswith(sections):
            continue
        count += 1
        try:
            h2spec.run(case, dial)
        except h2spec.Wrong as e:
            failed[case.id] = f"{case.claim}: {e}"
    return failed, count


def check(host, sections):
    _, s = world()
    failed, count = wrong(host, lambda: h2frames.guest(s, host), sections)
    equal(failed, {}, f"of {count} cases")
    return count


def register(what, sections):
    @claim(f"h2spec, {what}")
    def _():
        began = time.monotonic()
        count = check("two.example.com", sections)
        took = time.monotonic() - began
        return f"{count} of {count} cases, {took / count * 1000:.0f} ms each"


for _what, _sections in PARTS.items():
    register(_what, _sections)


@claim("h2spec, all of it in front of an origin that speaks HTTP/1.1")
def _():
    count = check("one.example.com", ("generic", "http2", "hpack"))
    return (f"{count} of {count} cases: h2spec's {count - len(h2spec.BEYOND)} "
            f"and {' and '.join(h2spec.BEYOND)}")


@claim("h2spec, an authority with its port: host:443 is the same host")
def _():
    _, s = world()
    with h2frames.guest(s, "two.example.com") as p:
        h2spec.begin(p)
        p.send(h2frames.headers(1, h2frames.request("two.example.com:443")))
        equal(p.answer(1)[0][":status"], "200")


@claim("h2spec, nghttpd passes the same rows but the one that h2spec fails it for")
def _():
    w, _ = world()
    name = "ng.example.com"

    def dial():
        k = socket_in(w.net, socket.AF_INET, socket.SOCK_STREAM)
        k.settimeout(h2spec.SECONDS)
        k.connect((NAMES[name], 443))
        return h2frames.over(k, name)

    def is_there():
        try:
            return dial().k.close() is None
        except OSError:
            return False

    until(is_there, 10, "nghttpd listens")
    failed, count = wrong(name, dial, ("generic", "http2", "hpack"))
    equal(set(failed), {"http2/5.1.1/2"})
    return f"{count - len(failed)} of {count}"


@claim("the world of h2spec ends and leaves nothing")
def _():
    w, s = world()
    s.rm().ok()
    w.close()
    _world.clear()
