"""A gate that was taken over: the kernel, floods, its end (test_takeover.py)."""
import os
import re
import socket
import struct
import time

from harness import memory, shell
from harness.claims import claim, contains, equal, lacks, until
from harness.steady import Steady
from harness.taken import (Died, audit_body, dial_body, lease_body, packet,
                           str16)
from harness.takeover import (KEPT, NARROW, Hostile, end, gate_pid,
                              nothing_reached, service_pids, status,
                              victim_works, world)


SOCK = (socket.AF_INET, socket.SOCK_STREAM, 0)
# Each would be a step out, and ends the process.
FORBIDDEN = [
    ("socket", *SOCK), ("socketpair", 1, 1, 0, "b:8"),
    ("connect", 3, b"\2\0\1\xbb\x0a\xc9\0\x42" + b"\0" * 8, 16),
    ("bind", 3, b"\2\0\1\xbb" + b"\0" * 12, 16), ("listen", 3, 5),
    ("open", b"/etc/passwd", 0), ("openat", -100, b"/dev/urandom", 0),
    ("openat2", -100, b"/", "b:24", 24), ("creat", b"/x", 0o644),
    ("execve", b"/bin/sh", 0, 0), ("execveat", 0, b"", 0, 0, 0x1000),
    ("fork",), ("clone", 17, 0), ("clone3", "b:88", 88), ("vfork",),
    ("ptrace", 16, 1, 0, 0), ("kill", 1, 9), ("tgkill", 1, 1, 9),
    ("tkill", 1, 9), ("pidfd_open", 1, 0), ("process_vm_readv", 1, 0, 0, 0, 0, 0),
    ("setuid", 0), ("prctl", 4, 1), ("seccomp", 0, 0, 0), ("chroot", b"/"),
    ("setns", 3, 0), ("unshare", 0x10000000), ("mount", 0, b"/", 0, 0, 0),
    ("memfd_create", b"x", 0), ("bpf", 0, 0, 0), ("userfaultfd", 0),
    ("io_uring_setup", 8, "b:128"), ("perf_event_open", "b:128", 0, -1, -1, 0),
    ("keyctl", 0, 0), ("open_by_handle_at", 3, "b:16", 0),
    ("ioctl", 0, 0x5401, 0), ("fcntl", 0, 1031, 1 << 20), ("dup2", 0, 9),
    ("mmap", 0, 4096, 7, 0x22, -1, 0), ("mprotect", 4096, 4096, 4),
    ("sendto", 3, b"x", 1, 0x20000000, b"\2\0\1\xbb\x0a\xc9\0\x42", 16),
    ("sendmsg", 3, "b:56", 0x20000000),
    ("0x40000029", *SOCK),  # the same call by the x32 ABI
    ("call32", 102, 1, 0, 0),
]


@claim("system calls that the gate has no need of end it, and it is replaced")
def _():
    w, _, victim = world()
    gate = gate_pid(w, victim)
    took = []
    for name, *args in FORBIDDEN:
        with Hostile() as taken:
            before = taken.pid()
            began = time.monotonic()
            try:
                got = taken.ask(name, *args) if name == "call32" \
                    else taken.call(name, *args)
                raise AssertionError(f"{name} {args}: {got}, and it lives")
            except Died:
                taken.renewed(before)
            took.append(time.monotonic() - began)
            taken.s.audited(event="lifecycle", reason="gate-restart")
    equal(gate_pid(w, victim), gate, "the other sandbox's gate")
    victim_works(victim)
    nothing_reached()
    return (f"{len(FORBIDDEN)} calls, a gate again after "
            f"{sorted(took)[len(took) // 2] * 1000:.0f} ms")


def sockaddr(address, port):
    return struct.pack("=H", socket.AF_INET) + struct.pack(">H", port) + \
        socket.inet_aton(address) + b"\0" * 8


def sockets_of(taken, pid):
    """Its internet sockets: {descriptor}."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        if os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:"):
            rc, room = taken.call("getsockopt", fd, socket.SOL_SOCKET, 39,
                                  "b:4", struct.pack("=I", 4))
            if rc == "0" and struct.unpack("=I", room)[0] == socket.AF_INET:
                found.add(int(fd))
    return found


# A flag by which sendto() and sendmsg() connect a TCP socket.
MSG_FASTOPEN = 0x20000000
QUERY = b"\1\1\1\0\0\1\0\0\0\0\0\0\4evil\7example\3com\0\0\1\0\1"


@claim("calls that the gate needs do not turn its sockets elsewhere")
def _():
    w, taken, victim = world()
    pid = taken.pid()
    reason, dialled = taken.dial("plain.example.com", 80, "http")
    equal(reason, "")
    own = sockets_of(taken, pid)
    assert dialled in own and len(own) >= 6, own
    for fd in sorted(own):
        for to in (sockaddr("10.201.0.66", 443), sockaddr("10.201.0.53", 53),
                   b"\0" * 16, sockaddr("10.201.0.66", 443)):
            taken.call("sendto", fd, QUERY, len(QUERY), socket.MSG_DONTWAIT,
                       to, 16)
        for level, option in ((socket.SOL_SOCKET, 36),   # SO_MARK
                              (socket.SOL_SOCKET, 33),   # SO_RCVBUFFORCE
                              (socket.SOL_TCP, 19)):     # TCP_REPAIR
            got, _ = taken.call("setsockopt", fd, level, option,
                                struct.pack("=I", 1), 4)
            assert got in ("EPERM", "EOPNOTSUPP", "ENOPROTOOPT"), \
                f"setsockopt {level} {option} on {fd}: {got}"
    equal(taken.call("mmap", 0, 4 << 30, 3, 0x22, -1, 0)[0], "ENOMEM")
    nothing_reached()
    victim_works(victim)


@claim("a dialled connection that has ended is not a socket to dial with")
def _():
    """A socket that was connected without waiting is, to the kernel, still
    connecting; once closed, MSG_FASTOPEN would connect it anew, from the
    network of the host."""
    with Hostile() as taken:
        _, fd = taken.dial("short.example.com", 80, "http")
        until(lambda: taken.call("read", fd, "b:512", 512)[0] == "ECONNRESET",
              10, "the origin has reset it")
        try:
            for _ in range(3):
                taken.call("sendto", fd, b"x", 1, MSG_FASTOPEN | 0x40,
                           sockaddr("10.201.0.66", 443), 16)
        except Died:
            pass
        nothing_reached()


FLOOD_MS = {"dialler": 2500, "broker": 2500, "supervisor": 2500,
            # Long enough to go above the rate at which records are taken.
            "recorder": 8000}


@claim("floods of each channel: others are served, memory and log stay bounded")
def _():
    w, _, victim = world()
    pids = dict(service_pids(w), tapwardd=w.daemon.pid)
    before = {role: (memory.fds(pid), memory.resident(pid))
              for role, pid in pids.items()}
    log = f"{w.folder}/log/audit.jsonl"
    size = os.path.getsize(log)
    said = []
    steady = Steady(w, victim, "other.example.com", "/x")
    floods = [
        ("dialler", packet("MSG_DIAL", 7, dial_body("evil.example.com", 443, 0)), 0),
        ("dialler", packet("MSG_DIAL_CANCEL", 7), 0),
        ("broker", packet("MSG_LEASE_REQUEST", 7, lease_body(
            "vault", "other.example.com", path="/" + "x" * 8000)), 0),
        ("broker", packet("MSG_LEASE_REQUEST", 7, lease_body(
            "shared", "open.example.com", path="/v1/x")), 0),
        ("recorder", packet("MSG_AUDIT", 0, audit_body(
            "request", host="x" * 255, path="y" * 1024, detail="z" * 256)), 0),
        ("recorder", packet("MSG_AUDIT", 0, audit_body("dns"), fds=1), 16),
        ("supervisor", packet("MSG_GATE_POLICY_ACK", 7, str16("0" * 64)), 0),
    ]
    try:
        for which, data, fds in floods:
            with Hostile() as taken:
                try:
                    sent, _, error = taken.ask("flood", which,
                                               FLOOD_MS[which], fds,
                                               data.hex())
                except Died:
                    # Of answers that nobody asked for the first is too many.
                    equal(which, "supervisor", "who ends the gate")
                    sent, error = "a few", "ended"
                began = time.monotonic()
                status(w)
                answered = time.monotonic() - began
                assert answered < 5, f"status took {answered:.1f} s"
                said.append(f"{which} {sent} ({error})")
                steady.more(1)
        steady.more()
    finally:
        steady.close()
    said.append(steady.stop(limit=5))
    for role, pid in pids.items():
        until(lambda: memory.fds(pid) <= before[role][0] + 4, 10,
              f"descriptors of {role} are back")
        grown = memory.resident(pid) - before[role][1]
        assert grown < 64 << 20, f"{role} grew by {grown >> 20} MiB"
    equal(dict(service_pids(w), tapwardd=w.daemon.pid), pids)
    # A burst of 20,000 and 2,000 a second of the longest records there are.
    grown = os.path.getsize(log) - size
    assert grown < 40000 * 2500 + 10000 * 600, f"the log grew by {grown >> 20} MiB"
    until(lambda: [r for r in w.audit(event="lifecycle")
                   if r.get("detail", "").startswith("overflow")], 10,
          f"the remainder is counted in a record after {said}")
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    nothing_reached()
    return "; ".join(said) + f"; log {grown >> 20} MiB"


@claim("allowed dials without end: the dialler holds a bounded number, and drops them with the gate")
def _():
    w, _, victim = world()
    dialler = service_pids(w)["dialler"]
    before = memory.fds(dialler)
    steady = Steady(w, victim, "other.example.com", "/x")
    most = 0
    try:
        with Hostile() as taken:
            body = dial_body("plain.example.com", 80, 1)
            for number in range(1, 4001):
                word = taken.ask("send", "dialler", 0,
                                 packet("MSG_DIAL", number, body).hex())[0]
                # Its answers wait, so it is not read.
                assert word.isdigit() or word == "EAGAIN", word
                if number % 100 == 0:
                    most = max(most, memory.fds(dialler))
            steady.more()
            most = max(most, memory.fds(dialler))
    finally:
        steady.close()
    # As many as it may dial at once, and those of the other.
    assert most < before + 100, f"descriptors of the dialler: {before}, {most}"
    until(lambda: memory.fds(dialler) <= before + 4, 20,
          "descriptors of the dialler are back")
    return f"descriptors {before}, at most {most}; {steady.stop(limit=5)}"


@claim("a narrower policy that it says yes to, refuses or hangs at holds all the same")
def _():
    w, _, victim = world()
    took = []
    for word in ("lie", "refuse", "hang"):
        with Hostile() as taken:
            equal(taken.dial("plain.example.com", 80, "http")[0], "")
            equal(taken.lease("shared", "open.example.com", path="/v1/x")[0], "")
            taken.ask("policy", word)
            before = taken.pid()
            began = time.monotonic()
            taken.s.reload(NARROW).ok()
            took.append(f"{word} {time.monotonic() - began:.1f} s")
            # One that does not take it is replaced, by a hostile one again.
            if word != "lie":
                taken.renewed(before)
            equal(taken.dial("plain.example.com", 80, "http")[0], "no-rule", word)
            equal(taken.lease("shared", "open.example.com", path="/v1/x")[0],
                  "credential-misuse", word)
    victim_works(victim)
    nothing_reached()
    return ", ".join(took)


@claim("it sees no other sandbox: not its network, not its memory, not its names")
def _():
    w, taken, victim = world()
    pid, other = taken.pid(), gate_pid(w, victim)
    assert os.readlink(f"/proc/{pid}/ns/net") != \
        os.readlink(f"/proc/{other}/ns/net")
    equal(os.stat(f"/proc/{pid}/environ").st_uid, 0, "it is not dumpable")
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        mine = re.search(r"Uid:\t(\d+)", f.read()).group(1)
    with open(f"/proc/{other}/status", encoding="ascii") as f:
        assert mine != re.search(r"Uid:\t(\d+)", f.read()).group(1)
    with Hostile() as fresh:
        found, looked = memory.holds(
            fresh.pid(), b"other.example.com", b"allow other",
            *(v.encode() for v in KEPT.values()))
        equal(found, [], "of the other sandbox in its memory")
        assert looked > 1 << 20, looked
    for fd in os.listdir(f"/proc/{pid}/fd"):
        to = os.readlink(f"/proc/{pid}/fd/{fd}")
        assert to.startswith(("socket:", "anon_inode:", "/memfd:", "/dev/null",
                              "pipe:", w.log)), f"descriptor {fd} is {to}"


@claim("the hostile sandbox is removed under fire, and nothing of it stays")
def _():
    w, taken, victim = world()
    pid = taken.pid()
    taken.s.rm().ok()
    until(lambda: not os.path.exists(f"/proc/{pid}"), 10, "its gate is gone")
    lacks(shell.run(["ip", "netns", "list"]).out, f"tapward-{taken.s.name}")
    victim_works(victim)
    nothing_reached()
    end()
