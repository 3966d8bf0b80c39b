"""The world of the benchmark: one host, one origin, and tapward in it."""
import json
import os

from harness.origins import Nginx
from harness.world import World

from .measure import Contestant

# With a credential, at an origin of HTTP/1.1 and at one of HTTP/2; without one,
# passed through, and names never seen before.
NAME = "bench.example.com"
NAME_H2 = "h2.example.com"
PLAIN = "plain.example.com"
PASS = "pass.example.com"
NEW = "n#.new.example.com"
ORIGIN, ORIGIN_H2 = "10.201.0.10", "10.201.0.11"
SMALL, LARGE = "/1k", "/64m"
LARGE_BYTES = 64 << 20

POLICY = f"""\
[policy]
version = 1

[allow inspected]
host       = {NAME}, {NAME_H2}
method     = GET
credential = bench

[allow plain]
host   = {PLAIN}, *.new.example.com
method = GET

[allow passed]
host = {PASS}
tls  = passthrough
"""

CREDENTIAL = f"""
[limits]
mint-rate = 10000
[credential bench]
kind  = static
value = file:{{token}}
host  = {NAME}, {NAME_H2}
apply = bearer
grant = * user:root
"""

SERVER = """
ssl_certificate {cert}; ssl_certificate_key {key};
ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:a:1m;
sendfile on; root {folder}/www;
server {{ listen {origin}:443 ssl; }}
server {{ listen {origin_h2}:443 ssl http2; }}
"""


def make_world(ceiling=None, pool=8):
    """(world, certificate, key), with nginx as the origin of every name."""
    world = World({NAME: ORIGIN, NAME_H2: ORIGIN_H2, PLAIN: ORIGIN,
                   PASS: ORIGIN, "*.new.example.com": ORIGIN},
                  start=False, pool=pool, ceiling=ceiling)
    token = world.file("token", "benchmark-token-of-nobody\n", 0o600)
    with open(world.config, "a", encoding="ascii") as f:
        f.write(CREDENTIAL.format(token=token))
    os.makedirs(f"{world.folder}/www")
    for name, size in ((SMALL, 1024), (LARGE, LARGE_BYTES)):
        with open(f"{world.folder}/www{name}", "wb") as f:
            f.write(os.urandom(1 << 20)[:size] * max(1, size >> 20))
    cert, key = world.authority.issue(NAME, NAME_H2, PLAIN, PASS,
                                      "*.new.example.com")
    world.own(Nginx(world.net, f"{world.folder}/nginx", SERVER.format(
        origin=ORIGIN, origin_h2=ORIGIN_H2, cert=cert, key=key,
        folder=world.folder)))
    # Thousands of connections a minute: a search for a free port must not be
    # what is measured.
    world.host.run(["sysctl", "-qw", "net.ipv4.ip_local_port_range=1024 65000",
                    "net.ipv4.tcp_tw_reuse=1"]).ok()
    world.start()
    return world, cert, key


def pids_of(world, sandbox):
    """{role: pid} of the gate of this sandbox and of those it hangs on."""
    status = json.loads(world.cli("status", "--json").ok().out)
    show = json.loads(world.cli("show", sandbox.name, "--json").ok().out)
    return {"gate": show["gate_pid"],
            **{p["role"]: p["pid"] for p in status["processes"]
               if p["role"] in ("dialler", "broker", "recorder")}}


def ours(world, sandbox, name, *, explicit=False, label="tapward"):
    """tapward as a contestant: its gate and the processes behind it."""
    ca = world.authority.ca if name == PASS else sandbox.ca
    if explicit:
        to = "100.64.0.1:3128"
    else:
        asked = name.replace("#", "0")
        to = sandbox.run(["dig", "+short", asked]).ok().out.split()[0] + ":443"
    return Contestant(label, sandbox.guest.plain, to, ca,
                      lambda: list(pids_of(world, sandbox).values()),
                      authority=f"{name}:443" if explicit else None,
                      aside=lambda: [pids_of(world, sandbox)["recorder"]])
