"""Processes die, policies change, disks fill: the answer stays no, or comes back."""
import errno
import json
import os
import re
import signal
import subprocess
import threading
import time

from harness import shell
from harness.claims import claim, contains, equal, lacks, until
from harness.origins import Nginx
from harness.world import World

NAMES = {"web.example.com": "10.201.0.10", "pass.example.com": "10.201.0.13",
         "vault.example.com": "10.201.0.10"}

POLICY = """\
[policy]
version = 1

[allow web]
host = web.example.com

[allow pinned]
host = pass.example.com
tls  = passthrough

[allow vault]
host       = vault.example.com
credential = vault
"""

NARROW = """\
[policy]
version = 1

[allow web]
host = web.example.com
"""

CREDENTIAL = """
[credential vault]
kind  = static
value = file:{file}
host  = vault.example.com
apply = header:x-token
grant = * user:root
"""

# Long enough for all that works; what waits for a process that stands still
# waits for as long.
LIMITS = """
[limits]
connect-timeout = 5s
"""

CHILDREN = ("dialler", "broker", "recorder", "api", "ca")

_world = {}


def world():
    if not _world:
        w = World(NAMES, start=False)
        token = w.file("token", "canary-of-the-lifecycle\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(CREDENTIAL.format(file=token) + LIMITS)
        w.start()
        cert, key = w.authority.issue(*NAMES)
        w.own(Nginx(w.net, f"{w.folder}/nginx", f"""
          server {{ listen 10.201.0.10:443 ssl; listen 10.201.0.13:443 ssl;
            ssl_certificate {cert}; ssl_certificate_key {key};
            root {w.folder}/www;
            location / {{ return 200 "origin $http_x_token\\n"; }}
            location /slow {{ limit_rate 20k; }} }}"""))
        os.makedirs(f"{w.folder}/www/slow")
        with open(f"{w.folder}/www/slow/file", "wb") as f:
            f.write(b"x" * (10 << 20))
        _world.update(w=w, s=w.sandbox(POLICY))
    return _world["w"], _world["s"]


def status(w):
    return json.loads(w.cli("status", "--json").ok().out)


def pid_of(w, role):
    for process in status(w)["processes"]:
        if process["role"] == role:
            return process["pid"]
    raise AssertionError(f"no {role} in {status(w)}")


def gate_pid(w, s):
    return json.loads(w.cli("show", s.name, "--json").ok().out)["gate_pid"]


def works(s, host="web.example.com"):
    got = s.curl("--max-time", "3", f"https://{host}/")
    return got.code == 0 and got.out.startswith("origin")


def is_back(w, role, old):
    """Another process of that role serves."""
    got = w.cli("status", "--json")
    return got.code == 0 and any(
        p["role"] == role and p["pid"] not in (0, old)
        for p in json.loads(got.out)["processes"])


def all_work(w, s):
    """A pooled origin, one that is dialled anew, and one with a credential."""
    passed = s.run(["curl", "-sS", "--cacert", w.authority.ca, "--max-time",
                    "3", "https://pass.example.com/"])
    lent = s.curl("--max-time", "3", "https://vault.example.com/")
    return works(s) and passed.out.startswith("origin") and "***" in lent.out


class Flood:
    """The guest sends whatever it can, and somebody watches outside."""

    SENDER = """
import socket, threading, time
def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    while True:
        for to in (("10.201.0.10", 9), ("10.201.0.1", 53), ("8.8.8.8", 53)):
            try: s.sendto(b"x" * 64, to)
            except OSError: pass
        time.sleep(0.002)
def tcp():
    while True:
        for to in (("198.18.0.1", 443), ("10.201.0.10", 443), ("100.64.0.1", 3128)):
            s = socket.socket(); s.settimeout(0.2)
            try: s.connect(to); s.send(b"x" * 64)
            except OSError: pass
            s.close()
threading.Thread(target=udp, daemon=True).start()
tcp()
"""

    def __init__(self, w, s):
        self.files = []
        self.captures = []
        # The guest's own namespace shows that there was a flood to see.
        for place, argv in (("guest", s.guest.plain), ("host", w.host.plain),
                            ("root", list)):
            path = f"{w.folder}/{place}.pcap"
            self.files.append(path)
            self.captures.append(subprocess.Popen(
                argv(["tcpdump", "-Z", "root", "-U", "-i", "any", "-w", path,
                      "src host 100.64.0.2"]),
                stderr=subprocess.DEVNULL))
        until(lambda: all(os.path.exists(f) and os.path.getsize(f) > 0
                          for f in self.files), 10, "tcpdump captures")
        self.sender = subprocess.Popen(
            s.guest.argv(["python3", "-c", self.SENDER]),
            start_new_session=True)
        until(lambda: os.path.getsize(self.files[0]) > 20000, 10,
              "the guest floods")

    def stop(self):
        """Frames of the guest seen outside its namespace."""
        shell.stop(self.sender)
        for capture in self.captures:
            shell.stop(capture)
        # A pcap file without packets is its header of 24 bytes.
        return sum(os.path.getsize(f) - 24 for f in self.files[1:])


@claim("two sandboxes with the same addresses work at once and do not meet")
def _():
    w, s = world()
    other = w.sandbox(NARROW)
    assert works(s) and works(other)
    equal(s.info["guest_ip"], other.info["guest_ip"])
    got = other.curl("-i", "https://pass.example.com/")
    contains(got.out, "no-rule", repr(got))
    other.rm().ok()
    assert works(s)


@claim("kill -9 of each process in turn, under traffic: no packet gets out, all comes back")
def _():
    w, s = world()
    assert works(s)
    flood = Flood(w, s)
    took = []
    try:
        for role in CHILDREN:
            old = pid_of(w, role)
            os.kill(old, signal.SIGKILL)
            began = time.monotonic()
            until(lambda: is_back(w, role, old) and all_work(w, s), 20,
                  f"all works after the {role} was killed: {w.log_text()[-2000:]}")
            took.append(f"{role} {time.monotonic() - began:.1f}")
        os.kill(gate_pid(w, s), signal.SIGKILL)
        began = time.monotonic()
        until(lambda: works(s), 20, "a request works after the gate was killed")
        took.append(f"gate {time.monotonic() - began:.1f}")
    finally:
        leaked = flood.stop()
    equal(leaked, 0, "bytes of the guest's frames seen outside its namespace")
    s.audited(event="lifecycle", reason="gate-restart")
    return "seconds until a request works again: " + ", ".join(took)


@claim("the supervisor is killed: the sandbox works on, and a new one adopts it")
def _():
    w, s = world()
    before = gate_pid(w, s)
    flood = Flood(w, s)
    try:
        os.kill(w.daemon.pid, signal.SIGKILL)
        w.daemon.wait()
        assert works(s), "the gate works without its supervisor"
        w.start()
        equal(gate_pid(w, s), before, "the gate that was adopted")
        assert works(s)
    finally:
        leaked = flood.stop()
    equal(leaked, 0, "bytes of the guest's frames seen outside its namespace")


@claim("gate and supervisor are killed together: the next one puts it right")
def _():
    w, s = world()
    gate = gate_pid(w, s)
    os.kill(w.daemon.pid, signal.SIGKILL)
    w.daemon.wait()
    os.kill(gate, signal.SIGKILL)
    w.start()
    until(lambda: works(s), 20, "a request works")


@claim("a foreign `nft flush ruleset` opens nothing, and the rules come back")
def _():
    w, s = world()
    name = f"tapward-{s.name}"
    flood = Flood(w, s)
    try:
        for _ in range(5):
            shell.run(["ip", "netns", "exec", name, "nft", "flush",
                       "ruleset"]).ok()
            until(lambda: "ingress" in shell.run(
                ["ip", "netns", "exec", name, "nft", "list", "ruleset"]).out,
                5, "the ruleset is back")
    finally:
        leaked = flood.stop()
    equal(leaked, 0, "bytes of the guest's frames seen outside its namespace")
    until(lambda: works(s), 10, "a request works")


@claim("the namespace holds lo and the device, no route but its own, and nothing else")
def _():
    _, s = world()
    run = lambda *argv: shell.run(["ip", "netns", "exec", f"tapward-{s.name}",
                                   *argv]).ok().out
    links = [line.split(":")[1].strip().split("@")[0]
             for line in run("ip", "-o", "link").splitlines()]
    equal(len(links), 2, str(links))
    for line in run("ip", "route", "show", "table", "main").splitlines():
        contains(line, "100.64.0.", line)
    equal(run("sysctl", "-n", "net.ipv4.ip_forward").strip(), "0")
    equal(run("ip", "-6", "addr").strip(), "")


@claim("a reload that tightens ends a tunnel and a request within a second")
def _():
    w, s = world()
    part = f"{w.folder}/part"
    tunnel = subprocess.Popen(s.guest.argv(
        ["curl", "-sS", "--cacert", w.authority.ca, "-N", "-o", part,
         "https://pass.example.com/slow/file"]), stderr=subprocess.DEVNULL)
    until(lambda: os.path.exists(part) and os.path.getsize(part) > 0, 10,
          "bytes come through the tunnel")
    began = time.monotonic()
    s.reload(NARROW).ok()
    tunnel.wait(5)
    took = time.monotonic() - began
    assert took < 1, f"{took:.2f} s"
    assert tunnel.returncode != 0, "the tunnel was cut"
    got = s.curl("-i", "https://pass.example.com/")
    contains(got.out, "no-rule", repr(got))
    got = s.reload("[policy]\nversion = 1\nhots = x\n")
    assert got.code != 0, repr(got)
    contains(got.err, ".ini:3", repr(got))
    assert works(s), "the old policy stays"
    s.reload(POLICY).ok()
    return f"tunnel ended after {took * 1000:.0f} ms"


@claim("a gate that is ended again and again cannot keep its policy: each reload takes, and the next gate has it")
def _():
    w, s = world()
    ended = set()
    stop = threading.Event()

    def end_it():
        while not stop.is_set():
            pid = gate_pid(w, s)
            if pid and pid not in ended:
                ended.add(pid)
                os.kill(pid, signal.SIGKILL)

    ender = threading.Thread(target=end_it)
    ender.start()
    took = 0
    try:
        until(lambda: len(ended) >= 3, 20, "the gate is ended as it comes")
        for number in range(12):
            began = time.monotonic()
            s.reload(POLICY if number % 2 else NARROW).ok()
            took = max(took, time.monotonic() - began)
        s.reload(NARROW).ok()
    finally:
        stop.set()
        ender.join()
    until(lambda: works(s), 20, "a gate stays")
    got = s.curl("-i", "https://pass.example.com/")
    contains(got.out, "no-rule", repr(got))
    s.reload(POLICY).ok()
    got = s.curl("--cacert", w.authority.ca, "https://pass.example.com/")
    contains(got.out, "origin", repr(got))
    return f"{len(ended)} gates ended, longest reload {took * 1000:.0f} ms"


@claim("a reload that comes while a gate is being replaced waits for that, and holds")
def _():
    w, s = world()
    before = gate_pid(w, s)
    dialler = pid_of(w, "dialler")
    got = []
    reload = threading.Thread(target=lambda: got.append(s.reload(NARROW)))
    os.kill(dialler, signal.SIGSTOP)
    try:
        os.kill(before, signal.SIGKILL)
        until(lambda: gate_pid(w, s) not in (0, before), 20,
              "another gate waits for the dialler")
        reload.start()
        reload.join(0.3)
        assert reload.is_alive(), f"it was answered: {got}"
    finally:
        os.kill(dialler, signal.SIGCONT)
    reload.join(20)
    got[0].ok()
    contains(s.curl("-i", "https://pass.example.com/").out, "no-rule")
    s.reload(POLICY).ok()


@claim("row 118: the broker stands still: credential-unavailable, never a bare request")
def _():
    w, s = world()
    # The origin echoes the token; the guest sees that it was there.
    got = s.curl("-i", "https://vault.example.com/")
    contains(got.out, "origin ****", repr(got))
    broker = pid_of(w, "broker")
    fresh = w.sandbox(POLICY)
    os.kill(broker, signal.SIGSTOP)
    try:
        got = fresh.curl("-i", "--max-time", "30", "https://vault.example.com/")
        contains(got.out, "credential-unavailable", repr(got))
        lacks(got.out, "origin")
        assert works(fresh)
    finally:
        os.kill(broker, signal.SIGCONT)
    until(lambda: "origin ****" in fresh.curl(
        "https://vault.example.com/").out, 20, "a credential again")
    fresh.rm().ok()


@claim("the resolver is down: resolve-failed, no other resolver is asked")
def _():
    w, _ = world()
    fresh = w.sandbox("[policy]\nversion = 1\n\n[allow x]\n"
                      "host = unseen.example.com\n")
    w.resolver.close()
    try:
        got = fresh.curl("-i", "--max-time", "30", "https://unseen.example.com/")
        contains(got.out, "resolve-failed", repr(got))
    finally:
        w.resolver.start()
    fresh.rm().ok()


@claim("--ttl ends a sandbox, whatever its owner does")
def _():
    w, _ = world()
    fresh = w.sandbox(NARROW, None, "--ttl", "2s")
    until(lambda: w.cli("show", fresh.name).code != 0, 10, "it ended")
    lacks(shell.run(["ip", "netns", "list"]).out, f"tapward-{fresh.name}")


@claim("rm while a tunnel and an exchange are open: each leaves its record, with its bytes and why it ended")
def _():
    w, _ = world()
    fresh = w.sandbox(POLICY)
    parts = {"pass.example.com": f"{w.folder}/part1",
             "web.example.com": f"{w.folder}/part2"}
    running = [subprocess.Popen(fresh.guest.argv(
        ["curl", "-sS", "--cacert", ca, "-N", "-o", parts[host],
         f"https://{host}/slow/file"]), stderr=subprocess.DEVNULL)
        for host, ca in (("pass.example.com", w.authority.ca),
                         ("web.example.com", fresh.ca))]
    for part in parts.values():
        until(lambda p=part: os.path.exists(p) and os.path.getsize(p) > 0, 10,
              "bytes come")
    gate = gate_pid(w, fresh)
    began = time.monotonic()
    fresh.rm().ok()
    took = time.monotonic() - began
    for process in running:
        process.kill()  # its device is gone, and nobody tells it
        process.wait()
    tunnel = w.audited(fresh.name, event="connect", host="pass.example.com",
                       reason="gate-restart")
    assert tunnel["down"] > 0, tunnel
    request = w.audited(fresh.name, event="request", host="web.example.com",
                        path="/slow/file", reason="gate-restart")
    assert request["down"] > 0 and request["status"] == 200, request
    until(lambda: not os.path.exists(f"/proc/{gate}"), 2, "its gate is gone")
    return f"rm took {took * 1000:.0f} ms"


@claim("a gate that stands still is gone within a second of rm, and its sandbox's name is free at once")
def _():
    w, _ = world()
    fresh = w.sandbox(NARROW)
    gate = gate_pid(w, fresh)
    os.kill(gate, signal.SIGSTOP)
    fresh.rm().ok()
    w.cli("create", fresh.name, "--policy", fresh.policy).ok()
    until(lambda: not os.path.exists(f"/proc/{gate}"), 2, "its gate is gone")
    got = json.loads(w.cli("show", fresh.name, "--json").ok().out)
    equal(got["state"], "running")
    w.cli("rm", fresh.name).ok()


@claim("tapwardd stands still: every command says so and ends, and works when it goes on")
def _():
    w, s = world()
    env = dict(os.environ, TAPWARD_TIMEOUT="2")
    w.daemon.send_signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        running = [subprocess.Popen(
            [f"{w.tree}/bin/tapward", "--socket", w.socket, *argv], env=env,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for argv in (["show", s.name], ["list"], ["env", s.name], ["log"],
                         ["log", "--follow"], ["reload", s.name, "--policy", s.policy],
                         ["create", "never", "--policy", s.policy],
                         ["exec", s.name, "--", "true"], ["stop", s.name],
                         ["rm", "never"])]
        for process in running:
            _, err = process.communicate(timeout=20)
            equal(process.returncode, 69, f"{process.args}: {err}")
            contains(err, "has not answered for 2 s", str(process.args))
        took = time.monotonic() - began
    finally:
        w.daemon.send_signal(signal.SIGCONT)
    until(lambda: w.cli("list").code == 0, 10, "it goes on")
    w.cli("rm", "never")
    assert works(s), "the sandbox too"
    return f"{len(running)} commands in {took:.1f} s"


@claim("a full disk under the audit log stops new exchanges; that is recorded when there is room")
def _():
    w = World(NAMES, start=False)
    with w:
        os.makedirs(f"{w.folder}/log")
        shell.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tapward-test",
                   f"{w.folder}/log"]).ok()
        w.closers.insert(0, lambda: shell.run(["umount", f"{w.folder}/log"]))
        w.start()
        cert, key = w.authority.issue("web.example.com")
        w.own(Nginx(w.net, f"{w.folder}/nginx", f"""
          server {{ listen 10.201.0.10:443 ssl; ssl_certificate {cert};
            ssl_certificate_key {key};
            location / {{ return 200 "origin\\n"; }} }}"""))
        s = w.sandbox(NARROW)
        assert works(s)
        ballast = os.open(f"{w.folder}/log/ballast", os.O_WRONLY | os.O_CREAT)
        try:
            while os.write(ballast, b"x" * 512) > 0:
                pass
        except OSError as e:
            equal(e.errno, errno.ENOSPC)
        finally:
            os.close(ballast)

        def refused():
            got = s.curl("-i", "--max-time", "5", "https://web.example.com/")
            return "audit-unavailable" in got.out

        until(refused, 20, "audit-unavailable")
        contains(w.cli("status").out, "CANNOT WRITE")
        os.unlink(f"{w.folder}/log/ballast")
        until(lambda: works(s), 20, "a request works again")
        # What was refused meanwhile is written down now, or counted as lost.
        until(lambda: w.audit(reason="audit-unavailable"), 10,
              "records of the refusals")
        w.cli("log", "--verify").ok()


@claim("1,000 sandboxes made and removed leave no namespace, process, fd or file")
def _():
    w, s = world()
    name = f"cycle{w.id}"
    rounds = int(os.environ.get("TAPWARD_TEST_ROUNDS", "1000"))
    tap = {"name": name, "device": "tap", "policy": NARROW,
           "policy_name": "cycle.ini"}

    def cycle():
        equal(w.ask("POST", "/v1/sandboxes", tap), 201)
        equal(w.ask("DELETE", f"/v1/sandboxes/{name}"), 200)

    def held():
        return {
            "fds": len(os.listdir(f"/proc/{w.daemon.pid}/fd")),
            "namespaces": sorted(n for n in os.listdir("/run/netns")
                                 if n in (f"tapward-{name}", s.info["name"])),
            # A gate that waits in the pool is named by its uid.
            "files": sorted(re.sub(r"g\.[0-9]+$", "g.UID", f"{base}/{name}")
                            for base, _, names in os.walk(f"{w.folder}/run")
                            for name in names),
            "ca": sorted(os.listdir(f"{w.folder}/state/ca"))
            if os.path.isdir(f"{w.folder}/state/ca") else [],
            "processes": len([1 for pid in filter(
                str.isdigit, os.listdir("/proc")) if is_ours(w, pid)]),
        }

    def settled():
        until(lambda: status(w)["pool_ready"] == status(w)["pool_size"], 20,
              "the pool is full")
        return held()

    cycle()
    before = settled()
    began = time.monotonic()
    for _ in range(rounds):
        cycle()
    took = time.monotonic() - began
    until(lambda: settled() == before, 20, f"{before} again, not {settled()}")
    return f"{took / rounds * 1000:.1f} ms for one create and rm"


def is_ours(w, pid):
    """A process with a uid of this world's range."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            uid = int(re.search(r"^Uid:\t(\d+)", f.read(), re.M)[1])
    except OSError:
        return False
    return 0 <= uid - w.uid_first < 4096


@claim("the world of the lifecycle ends and leaves nothing")
def _():
    w, _ = world()
    w.close()
    _world.clear()
