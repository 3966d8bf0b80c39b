"""One guest attacks its gate in every way it can afford; another must not notice.

Each claim holds the attack while it measures: requests of the other sandbox,
descriptors and memory of the attacked gate and of the services, the log; and
then that all of it was given back.
"""
import json
import os
import re
import subprocess
import threading

from harness import memory, shell
from harness.claims import claim, contains, until
from harness.origins import Nginx
from harness.steady import Steady
from harness.world import World

NAMES = {"web.example.com": "10.201.0.10"}

POLICY = """\
[policy]
version = 1

[allow web]
host = web.example.com

[allow plain]
host   = web.example.com
port   = 80
scheme = http
"""

# Shorter than the defaults, so that their end can be waited for.
LIMITS = """
[limits]
connections  = 256
head-timeout = 3s
tls-timeout  = 3s
idle-timeout = 3s
dns-rate     = 200
"""
CONNECTIONS = 256
DNS_RATE = 200
# Two descriptors a connection, and some pipes; the gate's own.
FDS_MAX = 2 * CONNECTIONS + 200
# The libraries, a connection's buffers, OpenSSL's.
RESIDENT_MAX = 192 << 20
# Longer than anything here takes on a slow machine, shorter than a stall.
LONGEST_S = 5

GUEST = r'''
import fcntl, json, os, random, resource, select, socket, ssl, struct, sys
import termios, threading, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
tls = ssl.create_default_context(cafile=sys.argv[2])
blind = ssl._create_unverified_context()
HOST = "web.example.com"
ADDRESS = socket.gethostbyname(HOST)
HEAD = b"GET %s HTTP/1.1\r\nHost: web.example.com\r\n"

def ready(**said):
    """Says what it has done, then holds it until it is told to end."""
    print(json.dumps(said), flush=True)
    sys.stdin.read()

def connect(port=443, seconds=5):
    s = socket.create_connection((ADDRESS, port), seconds)
    s.settimeout(seconds)
    return s

def connect_tls(seconds=5):
    return tls.wrap_socket(connect(443, seconds), server_hostname=HOST)

def many(count, make):
    made, failed = [], 0
    for _ in range(count):
        try:
            made.append(make())
        except OSError:
            failed += 1
    return made, failed

def ended(sockets):
    """How many of them the other side has ended."""
    count = 0
    for s in sockets:
        try:
            s.setblocking(False)
            if s.recv(65536) == b"":
                count += 1
        except (BlockingIOError, ssl.SSLWantReadError):
            pass
        except OSError:
            count += 1
    return count

def hold():
    made, failed = many(2000, lambda: connect(443, 2))
    ready(connected=len(made), failed=failed)

def slow(start, byte):
    """A byte a second on each, until the other side has ended them all."""
    made, failed = many(200, start)
    began = time.monotonic()
    alive = list(made)
    while alive and time.monotonic() - began < 30:
        for s in list(alive):
            try:
                s.settimeout(1)
                s.sendall(byte)
            except OSError:
                alive.remove(s)
        alive = [s for s in alive if not ended([s])]
        time.sleep(0.5)
    ready(made=len(made), alive=len(alive),
          seconds=round(time.monotonic() - began, 1))

def slow_heads():
    def start():
        s = connect_tls()
        s.sendall(HEAD % b"/" + b"X-Slow: ")
        return s
    slow(start, b"a")

def slow_handshakes():
    def start():
        s = connect()
        s.sendall(b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03")
        return s
    slow(start, b"a")

def unread(s):
    left = fcntl.ioctl(s.fileno(), termios.FIONREAD, bytes(4))
    return struct.unpack("i", left)[0]

def slow_reads():
    def start():
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(5)
        s.connect((ADDRESS, 443))
        s = tls.wrap_socket(s, server_hostname=HOST)
        s.sendall(HEAD % b"/big" + b"\r\n")
        return s
    made, failed = many(150, start)
    # The attack stands when no more fits: two looks see the same unread bytes.
    held, before, end = -1, -2, time.monotonic() + 20
    while held != before and time.monotonic() < end:
        time.sleep(0.5)
        before, held = held, sum(unread(s) for s in made)
    ready(reading=len(made), failed=failed)

def hello(name):
    out = ssl.MemoryBIO()
    try:
        blind.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        return out.read()

def in_threads(count, run):
    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    [t.start() for t in threads]
    [t.join() for t in threads]

def handshakes():
    first, count, end = hello(HOST), [0], time.monotonic() + 5
    def run(i):
        while time.monotonic() < end:
            try:
                s = connect()
                s.sendall(first)
                s.recv(100)
                s.close()
                count[0] += 1
            except OSError:
                pass
    in_threads(4, run)
    ready(handshakes=count[0])

def names():
    done, failed, began = [0], [0], time.monotonic()
    def run(i):
        for n in range(i, 5000, 8):
            try:
                s = blind.wrap_socket(connect(), server_hostname=f"n{n}.flood.example.com")
                s.close()
                done[0] += 1
            except OSError:
                failed[0] += 1
    in_threads(8, run)
    ready(minted=done[0], refused=failed[0],
          seconds=round(time.monotonic() - began, 1))

def dns():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setblocking(False)
    sent = answered = refused = 0
    end = time.monotonic() + 5
    while time.monotonic() < end:
        label = b"d%011d" % random.randrange(10**11)
        try:
            s.sendto(os.urandom(2) + b"\1\0\0\1\0\0\0\0\0\0\x0c" + label
                     + b"\5flood\7example\3com\0\0\1\0\1", ("100.64.0.1", 53))
            sent += 1
        except OSError:
            pass
        try:
            while data := s.recv(2000):
                if data[3] & 15 == 0:
                    answered += 1
                else:
                    refused += 1
        except OSError:
            pass
    ready(sent=sent, answered=answered, refused=refused)

def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sent = 0
    while sent < 100000:
        try:
            s.sendto(b"x" * 64, ("10.201.0.10", 1024 + sent % 60000))
        except OSError:
            pass
        sent += 1
    ready(sent=sent)

def huge_heads():
    sent, statuses = 0, {}
    for n in range(60):
        s = connect_tls()
        got = b""
        try:
            s.sendall(HEAD % b"/")
            for _ in range(1000):
                s.sendall(b"X-%d: " % n + b"h" * 8000 + b"\r\n")
                sent += 8000
        except OSError:
            pass
        try:
            got = s.recv(1000)
        except OSError:
            pass
        word = got.split(b"\r\n")[0].decode() or "closed"
        statuses[word] = statuses.get(word, 0) + 1
        s.close()
    ready(sent=sent, statuses=statuses)

def denials():
    """Requests that are refused, as fast as they are answered."""
    answered, lock, end = [0], threading.Lock(), time.monotonic() + 5
    one = b"GET /denied HTTP/1.1\r\nHost: denied.example.com\r\n\r\n"
    def run(i):
        s = connect(80)
        while time.monotonic() < end:
            s.sendall(one * 20)
            got = b""
            while got.count(b"\nTapward-Reason: ") < 20:
                got += s.recv(65536)
            with lock:
                answered[0] += 20
    in_threads(8, run)
    ready(denied=answered[0])

globals()[sys.argv[1]]()
'''

_world = {}


def world():
    if not _world:
        w = World(NAMES, start=False)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(LIMITS)
        w.start()
        cert, key = w.authority.issue(*NAMES)
        w.own(Nginx(w.net, f"{w.folder}/nginx", f"""
          server {{ listen 10.201.0.10:443 ssl; listen 10.201.0.10:80;
            ssl_certificate {cert}; ssl_certificate_key {key};
            root {w.folder}/www;
            location / {{ return 200 "origin\\n"; }}
            location /big {{ }} }}"""))
        os.mkdir(f"{w.folder}/www")
        with open(f"{w.folder}/www/big", "wb") as f:
            f.truncate(64 << 20)
        w.file("guest.py", GUEST)
        _world.update(w=w, s=w.sandbox(POLICY, f"attacker-{w.id}"),
                      other=w.sandbox(POLICY, f"other-{w.id}"))
    return _world["w"], _world["s"], _world["other"]


def gate_pid(w, s):
    return json.loads(w.cli("show", s.name, "--json").ok().out)["gate_pid"]


def status(w):
    return json.loads(w.cli("status", "--json").ok().out)


class Watch:
    """The most that processes had while it ran: {name: [fds, resident]}."""

    def __init__(self, pids):
        self.pids, self.most = pids, {name: [0, 0] for name in pids}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def look(self):
        for name, pid in self.pids.items():
            try:
                now = memory.fds(pid), memory.resident(pid)
            except FileNotFoundError:
                continue  # who died is found by whoever asks for it
            self.most[name] = [max(a, b) for a, b in zip(self.most[name], now)]

    def run(self):
        while not self.over.wait(0.05):
            self.look()

    def stop(self):
        self.over.set()
        self.thread.join()
        return self.most


class Attack:
    """What the attacker's guest does, for as long as it is held."""

    def __init__(self, w, s, name, *argv, seconds=90):
        self.w, self.s = w, s
        self.gate = gate_pid(w, s)
        self.pids = {p["role"]: p["pid"] for p in status(w)["processes"]
                     if p["role"] in ("dialler", "broker", "recorder", "api")}
        self.pids["tapwardd"] = w.daemon.pid
        self.before = {role: memory.fds(pid) for role, pid in self.pids.items()}
        self.gate_before = memory.fds(self.gate)
        self.log_before = os.path.getsize(f"{w.folder}/log/audit.jsonl")
        self.watch = Watch(dict(self.pids, gate=self.gate))
        self.steady = Steady(w, _world["other"], "web.example.com", "/x")
        self.out = f"{w.folder}/attack.out"
        with open(self.out, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(
                s.guest.argv(["/usr/bin/python3", f"{w.folder}/guest.py", name,
                              s.ca, *argv]), stdin=subprocess.PIPE, stdout=out,
                stderr=subprocess.STDOUT, env=s.env, start_new_session=True)
        self.name, self.seconds = name, seconds

    def __enter__(self):
        try:
            until(self.is_ready, self.seconds, f"the attack {self.name} is on")
            self.said = json.loads(self.text().splitlines()[-1])
            self.steady.more()
        except BaseException:
            self.abandon()
            raise
        return self

    def __exit__(self, kind, value, trace):
        self.abandon()

    def text(self):
        with open(self.out, encoding="utf-8") as f:
            return f.read()

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the attacker ended: {self.text()}")
        return self.text().endswith("}\n")

    def abandon(self):
        self.process.stdin.close()
        shell.stop(self.process)
        self.watch.stop()
        self.steady.close()

    def end(self, *, log_max):
        """Ends it, and holds what every attack must leave true."""
        self.abandon()
        served = self.steady.stop(LONGEST_S)
        most = self.watch.most
        assert self.gate == gate_pid(self.w, self.s), "the gate lives on"
        assert most["gate"][0] <= FDS_MAX, f"the gate's most: {most['gate']}"
        for role in (*self.pids, "gate"):
            assert most[role][1] <= RESIDENT_MAX, f"{role}'s most: {most[role]}"
        grown = os.path.getsize(f"{self.w.folder}/log/audit.jsonl") \
            - self.log_before
        assert grown <= log_max, f"the log grew by {grown} bytes"
        until(lambda: memory.fds(self.gate) <= self.gate_before + 6, 30,
              f"the gate's descriptors are back: {self.gate_before} before, "
              f"at most {most['gate'][0]}, now {memory.fds(self.gate)}")
        for role, pid in self.pids.items():
            until(lambda: memory.fds(pid) <= self.before[role] + 4, 30,
                  f"descriptors of {role} are back")
        until(lambda: self.s.curl("https://web.example.com/x").code == 0, 15,
              "the attacker is served again")
        return (f"{json.dumps(self.said)}; {served}; gate at most "
                f"{most['gate'][0]} descriptors, {most['gate'][1] >> 20} MiB; "
                f"log {grown >> 10} KiB")


MIB = 1 << 20


@claim("2,000 connections held: capped, the other sandbox is served, all is freed")
def _():
    w, s, _ = world()
    with Attack(w, s, "hold") as attack:
        assert attack.said["connected"] + attack.said["failed"] == 2000
        until(lambda: w.audit(s.name, reason="limit-connections"), 10,
              "the cap is in the log")
        return attack.end(log_max=4 * MIB)


@claim("200 heads, a byte a second: ended by the time-out, not by the guest")
def _():
    w, s, _ = world()
    with Attack(w, s, "slow_heads") as attack:
        assert attack.said["made"] >= 150, attack.said
        assert attack.said["alive"] == 0, attack.said
        return attack.end(log_max=MIB)


@claim("200 handshakes, a byte a second: ended by the time-out")
def _():
    w, s, _ = world()
    with Attack(w, s, "slow_handshakes") as attack:
        assert attack.said["made"] >= 150, attack.said
        assert attack.said["alive"] == 0, attack.said
        return attack.end(log_max=MIB)


@claim("150 answers of 64 MiB that the guest does not read: memory stays bounded")
def _():
    w, s, _ = world()
    with Attack(w, s, "slow_reads") as attack:
        assert attack.said["reading"] >= 100, attack.said
        return attack.end(log_max=MIB)


@claim("half handshakes as fast as they go")
def _():
    w, s, _ = world()
    with Attack(w, s, "handshakes") as attack:
        assert attack.said["handshakes"] > 200, attack.said
        return attack.end(log_max=32 * MIB)


@claim("row 99: 5,000 distinct names in TLS: certificates are made at the bounded rate")
def _():
    w, s, _ = world()
    with Attack(w, s, "names") as attack:
        said = attack.said
        assert said["minted"] + said["refused"] == 5000, said
        # 50 a second, and as many at the start.
        assert 50 <= said["minted"] <= 50 * (said["seconds"] + 3), said
        until(lambda: w.audit(s.name, reason="limit-mint"), 10, "limit-mint")
        return attack.end(log_max=16 * MIB)


@claim("a flood of DNS questions: answered at the bounded rate, none goes upstream")
def _():
    w, s, _ = world()
    with Attack(w, s, "dns") as attack:
        assert attack.said["sent"] > 5000, attack.said
        # Five seconds, and a burst of one.
        assert 0 < attack.said["answered"] <= DNS_RATE * 8, attack.said
        assert not [q for q in w.resolver.queries() if "flood" in q]
        until(lambda: w.audit(s.name, reason="limit-dns"), 15,
              "the remainder is in the log")
        return attack.end(log_max=4 * MIB)


def counted_packets(s, name):
    got = shell.run(["ip", "netns", "exec", f"tapward-{s.name}", "nft", "list",
                     "counter", "inet", "tapward", name]).ok()
    return int(re.search(r"packets (\d+)", got.out).group(1))


@claim("100,000 UDP packets: each is counted, the log holds a bounded number of them")
def _():
    w, s, _ = world()
    before = len(w.audit(s.name, event="packet"))
    counted = counted_packets(s, "packet-udp")
    with Attack(w, s, "udp") as attack:
        assert counted_packets(s, "packet-udp") - counted >= 100000
        records = len(w.audit(s.name, event="packet")) - before
        # Ten a second for each reason, and a burst.
        assert 1 <= records <= 400, records
        return f"{records} records; {attack.end(log_max=MIB)}"


@claim("heads of 8 MB: refused where the limit is, in bounded memory")
def _():
    w, s, _ = world()
    with Attack(w, s, "huge_heads") as attack:
        # What the sockets took before the answer came, and what is dropped
        # so that it does come.
        assert attack.said["sent"] < 60 * 3 * MIB, attack.said
        assert list(attack.said["statuses"]), attack.said
        for word in attack.said["statuses"]:
            assert "limit-head" in word or word == "closed", attack.said
        s.audited(reason="limit-head")
        return attack.end(log_max=MIB)


def accounted(w, s):
    """Requests to the denied host that are in the log, or counted there."""
    total = 0
    for r in w.audit(s.name):
        count = re.search(r"overflow: (\d+)|lost (\d+)", r.get("detail", ""))
        if r.get("host") == "denied.example.com":
            total += 1
        elif r["event"] == "lifecycle" and count:
            total += int(count.group(1) or count.group(2))
    return total


@claim("denials as fast as they are answered: each is in the log or counted in it")
def _():
    w, s, _ = world()
    with Attack(w, s, "denials") as attack:
        denied = attack.said["denied"]
        assert denied > 30000, attack.said
        said = attack.end(log_max=40 * MIB)
    until(lambda: accounted(w, s) >= denied, 20,
          f"{denied} denials are accounted for, not {accounted(w, s)}", 1)
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    return said


@claim("the world of the attacks ends and leaves nothing")
def _():
    w, s, _ = world()
    s.rm().ok()
    w.close()
    _world.clear()
