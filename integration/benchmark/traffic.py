"""Rows of the benchmark that carry load: tunnels and inspected exchanges."""
from .field import (LARGE, LARGE_BYTES, NAME, NAME_H2, NEW, PASS, PLAIN,
                    SMALL, ours)
from .measure import Aim

GB = 1 << 30
RECORDER = "the recorder"


def tunnels(bench, world, sandbox, rivals):
    passed = [ours(world, sandbox, PASS), rivals.nginx_stream(),
              rivals.haproxy_tcp()]
    each = bench.count(1000)
    bench.table("passthrough, a connection", "us", passed,
                lambda c, _: c.load(PASS, "conn", each, 2, SMALL),
                aim=Aim(1.1, "nginx stream", RECORDER))
    downloads(bench, "passthrough, a GB", passed, lambda c: PASS,
              Aim(1, "haproxy tcp, splice"))
    tunnel = [ours(world, sandbox, PASS, explicit=True),
              rivals.squid_connect()]
    bench.table("CONNECT, a connection", "us", tunnel,
                lambda c, _: c.load(PASS, "conn", each, 2, SMALL),
                aim=Aim(0.5, "squid CONNECT", RECORDER))


def downloads(bench, title, contestants, host_of, aim=None):
    """CPU seconds for a GB, over one kept connection."""
    count = max(2, 8 // bench.scale)

    def measure(c, _):
        done = c.load(host_of(c), "kept", count, 1, LARGE)
        done.cpu *= GB / LARGE_BYTES
        done.part *= GB / LARGE_BYTES
        done.rate *= LARGE_BYTES / 1e6
        done.p50 = None
        return done

    bench.table(title, "s; a second: MB", contestants, measure, scale=1,
                aim=aim)


def kept(bench, world, sandbox, rivals):
    """Requests of 1 KB on connections that are kept."""
    seen = [ours(world, sandbox, NAME), rivals.nginx_reverse(),
            rivals.haproxy_mint(), rivals.squid_bump(), rivals.mitmproxy()]
    count = bench.count(8000)
    aim = Aim(1.15, "nginx reverse proxy", RECORDER)
    bench.table("inspected, a request on a kept connection, HTTP/1.1", "us",
                seen, lambda c, _: c.load(NAME, "kept", count, 2, SMALL),
                aim=aim)
    # HTTP/2 on both sides, where they can: nginx speaks HTTP/1.1 to origins,
    # squid to guests, too.
    two = [ours(world, sandbox, NAME_H2), rivals.nginx_reverse(),
           rivals.haproxy_mint(), rivals.mitmproxy_h2()]
    log = f"{world.folder}/h2load.log"
    for streams in (1, 16):
        bench.table(f"inspected, a request on a kept connection, HTTP/2, "
                    f"{streams} at once", "us", two,
                    lambda c, _, m=streams: c.h2load(NAME_H2, count, 2, m,
                                                     SMALL, log), aim=aim)


def connections(bench, world, sandbox, rivals):
    """New connections: names seen, sessions resumed, names never seen."""
    seen = [ours(world, sandbox, NAME), rivals.nginx_reverse(),
            rivals.haproxy_mint(), rivals.squid_bump(), rivals.mitmproxy()]
    count = bench.count(600)
    bench.table("inspected, a new connection and a request", "us", seen,
                lambda c, _: c.load(NAME, "conn", count, 2, SMALL),
                aim=Aim(1.1, "nginx reverse proxy", RECORDER))
    bench.table("inspected, the same with a resumed TLS session", "us",
                seen[:3], lambda c, _: c.load(NAME, "resumed", count, 2, SMALL))
    fresh = [ours(world, sandbox, NEW), rivals.haproxy_mint(),
             rivals.squid_bump(NEW), rivals.mitmproxy(NEW)]
    few = bench.count(200)
    bench.table("inspected, a name never seen", "us", fresh,
                lambda c, i: c.load(NEW, "conn", few, 2, SMALL, i * few),
                aim=Aim(1, "haproxy generate-certificates", RECORDER))


def bulk(bench, world, sandbox, rivals):
    """Large downloads, and what searching them for the credential costs."""
    seen = [ours(world, sandbox, NAME), rivals.nginx_reverse(),
            rivals.haproxy_mint(), rivals.squid_bump(), rivals.mitmproxy()]
    for c in seen:
        c.pace = 1 if c.pace == 1 else 4
    downloads(bench, "inspected, a GB", seen, lambda c: NAME,
              Aim(1, "nginx reverse proxy"))
    hosts = {"searched for a credential": NAME, "without a credential": PLAIN}
    downloads(bench, "search of an answer, a GB",
              [ours(world, sandbox, host, label=label)
               for label, host in hosts.items()],
              lambda c: hosts[c.name], Aim(1.15, "without a credential"))
