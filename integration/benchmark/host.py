"""Rows of the benchmark about a host: creating sandboxes, memory, and how
many names a ceiling may hold."""
import json
import statistics
import subprocess
import time

from harness.claims import until

from . import field
from .measure import pss_kb

RULES = """
table netdev t {
  chain in {
    type filter hook ingress device "tap0" priority 0; policy drop;
    ether type arp accept
    ether saddr 02:00:00:00:00:02 ip saddr 100.64.0.2 accept
  }
}
table ip t {
  chain pre {
    type filter hook prerouting priority -150; policy drop;
    tcp dport { 80, 443 } tproxy to :3129 meta mark set 1 accept
    udp dport 53 tproxy to :53 meta mark set 1 accept
  }
}
"""

HOLD = """
import socket, ssl, sys
name, ca, count = sys.argv[1:4]
c = ssl.create_default_context(cafile=ca)
kept = []
for i in range(int(count)):
    s = c.wrap_socket(socket.create_connection((name, 443), 10),
                      server_hostname=name)
    s.sendall(b"GET /1k HTTP/1.1\\r\\nHost: " + name.encode() + b"\\r\\n\\r\\n")
    got = b""
    while len(got) < 1024: got += s.recv(65536)
    kept.append(s)
print("holding", flush=True)
sys.stdin.read()
"""


def by_hand(world):
    """What a person would type, without any proxy."""
    rules = world.file("hand.nft", RULES)
    ip = lambda *argv: subprocess.run(["ip", *argv], check=True)
    ip("netns", "add", "twbench")
    ip("-n", "twbench", "link", "set", "lo", "up")
    ip("-n", "twbench", "tuntap", "add", "tap0", "mode", "tap")
    ip("-n", "twbench", "addr", "add", "100.64.0.1/30", "dev", "tap0")
    ip("-n", "twbench", "rule", "add", "fwmark", "1", "lookup", "100")
    ip("-n", "twbench", "route", "add", "local", "default", "dev", "lo",
       "table", "100")
    subprocess.run(["ip", "netns", "exec", "twbench", "nft", "-f", rules],
                   check=True)
    ip("-n", "twbench", "link", "set", "tap0", "up")


def creates(bench, world):
    title = "create to ready"
    if not bench.wants(title):
        return
    policy = world.file("create.ini", field.POLICY)
    tapward, typed = [], []
    for _ in range(max(5, 20 // bench.scale)):
        # From the pool: it is filled again meanwhile.
        began = time.monotonic()
        world.cli("create", "timed", "--policy", policy).ok()
        tapward.append(time.monotonic() - began)
        world.cli("rm", "timed").ok()
        began = time.monotonic()
        by_hand(world)
        typed.append(time.monotonic() - began)
        subprocess.run(["ip", "netns", "del", "twbench"], check=True)
    ours, theirs = (statistics.median(t) * 1e3 for t in (tapward, typed))
    print(f"\n{title} (ms of wall time, median of {len(tapward)})")
    print(f"  {'tapward create, from the pool':34}{ours:10.2f}")
    print(f"  {'ip and nft by hand, no proxy':34}{theirs:10.2f}")
    print(f"  aim: at most 5 ms: {'met' if ours <= 5 else 'MISSED'}", flush=True)
    if ours > 5:
        bench.missed.append(title)


def gate_pid(world, sandbox):
    return field.pids_of(world, sandbox)["gate"]


def settled(pid):
    """Its memory once connections that rest have given back their buffers."""
    seen = [pss_kb([pid])]

    def is_steady():
        seen.append(pss_kb([pid]))
        return len(seen) > 8 and max(seen[-8:]) - min(seen[-8:]) <= 8

    until(is_steady, 20, "memory settles", every=0.25)
    return seen[-1]


def memory(bench, world, sandbox):
    """An idle sandbox, and what a held connection adds to its gate."""
    title = "memory"
    if not bench.wants(title):
        return
    status = json.loads(world.cli("status", "--json").ok().out)
    print("\nmemory (kB, proportional set size)")
    idle = world.sandbox(field.POLICY)
    print(f"  {'gate of an idle sandbox':34}"
          f"{pss_kb([gate_pid(world, idle)]):10d}")
    for process in status["processes"]:
        print(f"  {process['role']:34}{pss_kb([process['pid']]):10d}")
    for kind, name, ca, most in (
            ("passthrough", field.PASS, world.authority.ca, 1),
            ("inspected", field.NAME, sandbox.ca, 40)):
        held = hold(world, sandbox, name, ca) / 100
        print(f"  {'a held ' + kind + ' connection':34}{held:10.1f}"
              f"   aim: at most {most}: {'met' if held <= most else 'MISSED'}",
              flush=True)
        if held > most:
            bench.missed.append(f"{title}, {kind}")


def hold(world, sandbox, name, ca):
    """kB that a hundred connections add."""
    pid = gate_pid(world, sandbox)
    before = settled(pid)
    holder = subprocess.Popen(
        sandbox.guest.argv(["python3", "-c", HOLD, name, ca, "100"]),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdout.readline()
    added = settled(pid) - before
    holder.communicate(b"")
    return added


def names(bench):
    """A ceiling of ten names against one of a million."""
    title = "names in a ceiling"
    if not bench.wants(title):
        return
    print(f"\n{title}: seconds to start, us of CPU for a connection")
    for count in (10, 1000000):
        one_ceiling(bench, count)


def one_ceiling(bench, count):
    hosts = "".join(f"host = h{i}.names{i % 1000}.example.com\n"
                    for i in range(count))
    ceiling = (f"[policy]\nversion = 1\n\n[allow these]\nhost = {field.PASS}\n"
               f"{hosts}tls = passthrough\n")
    began = time.monotonic()
    world, _, _ = field.make_world(ceiling, pool=1)
    took = time.monotonic() - began
    with world:
        s = world.sandbox(f"[policy]\nversion = 1\n\n[allow x]\nhost = "
                          f"{field.PASS}\ntls = passthrough\n")
        c = field.ours(world, s, field.PASS)
        cost = statistics.median(
            c.load(field.PASS, "conn", bench.count(500), 2, field.SMALL).cpu
            for _ in range(bench.rounds)) * 1e6
        pids = field.pids_of(world, s)
        print(f"  {count:34}{took:10.2f}{cost:10.1f}"
              f"   gate {pss_kb([pids['gate']])} kB,"
              f" dialler {pss_kb([pids['dialler']])} kB", flush=True)
