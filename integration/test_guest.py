"""tapward-agent as PID 1 of a real guest. The claims share one guest but for
those that say how a guest begins or ends."""
import hashlib
import os
import struct
import time

from harness import frames
from harness.claims import claim, contains, equal, lacks, until
from harness.guest import CONFIG, Guest

CA = "-----BEGIN CERTIFICATE-----\nTEST\n-----END CERTIFICATE-----\n"
MORE = {"tapward/ca.pem": CA,
        "tapward/env": "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt\n"
                       "HTTP_PROXY=http://10.0.2.2:3128\n"}
_shared = []


def count(guest, name):
    """Processes of the guest whose command line begins so."""
    return int(guest.says(f"ps -o args | grep -c '^{name}' || true"))



def shared():
    if not _shared:
        guest = Guest(more=MORE)
        guest.boot_seconds = guest.ready()
        _shared.append(guest)
    return _shared[0]


@claim("a guest boots to its agent's HELLO")
def _():
    guest = shared()
    lacks(guest.console(), "tapward-agent", "the agent has nothing to complain of")
    return f"{guest.boot_seconds:.1f} s from the start of QEMU"


@claim("its root is the image, and what is written is above it")
def _():
    g = shared()
    mounts = g.says("cat /proc/mounts")
    for part in ("overlay / overlay rw", "proc /proc proc", "sys /sys sysfs",
                 "dev /dev devtmpfs", "devpts /dev/pts devpts",
                 "shm /dev/shm tmpfs", "run /run tmpfs", "tmp /tmp tmpfs",
                 "cgroup2 /sys/fs/cgroup cgroup2"):
        contains(mounts, part)
    equal(g.says("echo new > /new && cat /new; ls / | tr '\\n' ' '"),
          "new\nbin dev etc home new proc run sys tmp usr ")
    equal(g.says("stat -c '%a %n' /tmp /dev/shm /dev/ptmx; "
                 "echo fd | cat /dev/stdin; ls /modules /init 2>&1 | wc -l"),
          "1777 /tmp\n1777 /dev/shm\n666 /dev/ptmx\nfd\n2\n")


@claim("it has its name, address, resolver and route, and no IPv6")
def _():
    g = shared()
    equal(g.says("hostname; cat /etc/hostname /etc/resolv.conf /etc/hosts"),
          "ci-7\nci-7\nnameserver 10.0.2.3\n127.0.0.1 localhost ci-7\n")
    addresses = g.says("ip addr")
    contains(addresses, "inet 10.0.2.15/24")
    contains(addresses, "inet 127.0.0.1/8")
    lacks(addresses, "inet6")
    contains(g.says("ip route"), "default via 10.0.2.2 dev eth0")


@claim("programs find the CA where they look for it, and the environment")
def _():
    g = shared()
    equal(g.says("cat /etc/ssl/certs/ca-certificates.crt"), f"A BUNDLE\n{CA}")
    equal(g.says("cat /usr/local/share/ca-certificates/tapward.crt"), CA)
    equal(g.says("echo $SSL_CERT_FILE $HTTP_PROXY $HOME $USER"),
          "/etc/ssl/certs/ca-certificates.crt http://10.0.2.2:3128 /root root\n")
    task = g.run("echo $A $HTTP_PROXY", env={"A": "1", "HTTP_PROXY": ""})
    equal(task.out, b"1\n")


@claim("a command's end is its own: code, signal, or why it did not start")
def _():
    g = shared()
    equal(g.run("exit 7").end, ("code", 7))
    equal(g.run("kill -SEGV $$").end, ("signal", 11))
    task = g.host.exec("no-such-command").wait()
    equal((task.end[0], task.text),
          ("not-found", '"no-such-command": no such command'))
    equal(g.host.exec("/etc/passwd").wait().end[0], "not-run")
    equal(g.run("true", user="nobody").text, 'no user "nobody" in this image')


@claim("output and errors are apart, and every byte is what it was")
def _():
    every = bytes(range(256))
    task = shared().run("cat; printf 'e\\000\\377' >&2; exit 3", stdin=every)
    equal((task.end, bytes(task.out), bytes(task.err)),
          (("code", 3), every, b"e\0\xff"))


@claim("100 MB go in and come out by digest")
def _():
    g = shared()
    block = os.urandom(1 << 20)
    data = block * 100
    sink = frames.Digest()
    began = time.monotonic()
    task = g.host.exec("cat", stdin=data, sink=sink).wait(300)
    took = time.monotonic() - began
    equal(task.end, ("code", 0))
    equal(sink.length, len(data))
    equal(sink.hash.hexdigest(), hashlib.sha256(data).hexdigest())
    return f"{len(data) / took / 1e6:.0f} MB/s each way"


@claim("eight commands run at once, and one that is not read holds up none")
def _():
    g = shared()
    slow = g.host.sh("yes", sink=lambda data: None)
    g.host.until(lambda: slow.pid, 30)
    slow.take = lambda kind, channel, body: frames.Task.take(
        slow, kind, channel, body) if kind != frames.DATA else None
    tasks = [g.host.sh(f"read x; echo {i} $x; exit {i}", stdin=None)
             for i in range(8)]
    g.host.until(lambda: all(t.pid for t in tasks), 60)
    for t in tasks:
        t.send(b"go\n")
    for i, t in enumerate(tasks):
        t.wait()
        equal((t.end, bytes(t.out)), (("code", i), b"%d go\n" % i))
    slow.reset()
    equal(slow.wait().end, ("signal", 9))


@claim("a terminal has its size, is told of a new one, and interrupts")
def _():
    g = shared()
    t = g.host.sh("stty size; trap 'stty size' WINCH; trap 'exit 6' INT; "
                  "tty; while :; do sleep 0.1; done", tty=(40, 100), stdin=None)
    t.wait_out(b"/dev/pts/0\r\n")
    equal(bytes(t.out), b"40 100\r\n/dev/pts/0\r\n")
    t.resize(50, 132)
    t.wait_out(b"50 132\r\n")
    t.send(b"\x03")
    equal(t.wait().end, ("code", 6))


@claim("a signal reaches the group, and a reset all that it ever started")
def _():
    g = shared()
    t = g.host.sh("trap 'echo got; exit 3' TERM; echo up; "
                  "while :; do sleep 0.1; done")
    t.wait_out(b"up\n")
    t.signal(15)
    equal((t.wait().end, bytes(t.out)), (("code", 3), b"up\ngot\n"))
    t = g.host.sh("setsid sleep 4711 & (setsid sleep 4711 &) & echo up; wait")
    t.wait_out(b"up\n")
    until(lambda: count(g, "sleep 4711") == 2)
    t.reset()
    equal(t.wait().end, ("signal", 9))
    equal(count(g, "sleep 4711"), 0)
    for _ in range(10):  # in one write: its process is just forked
        t = g.host.sh("trap '' TERM; sleep 4713")
        t.reset()
        equal(t.wait().end, ("signal", 9))


@claim("what a command leaves running does not keep it from ending")
def _():
    g = shared()
    equal(g.says("sleep 4712 & echo $!; cat /proc/$!/cgroup | tail -n 1 | "
                 "cut -d/ -f2").split()[1], "tapward")
    equal(count(g, "sleep 4712"), 1)


@claim("a command is another user when told, with his groups, home and folder")
def _():
    g = shared()
    equal(g.says("id -u; id -G; pwd; echo $HOME", user="node"),
          "1000\n1000 999\n/home/node\n/home/node\n")
    equal(g.says("id -u; id -g; pwd", user="5:6", cwd="/etc"), "5\n6\n/etc\n")
    equal(g.run("echo x > /x", user="node").end, ("code", 1))


@claim("files go in and come out by digest")
def _():
    g = shared()
    data = os.urandom(20 << 20)
    equal(g.host.copy(frames.PUT, "/new-dir/file",
                      frames.archive_of_file(data, 0o640)).wait(120).end,
          ("code", 0))
    equal(g.says("sha256sum < /new-dir/file; stat -c %a /new-dir/file"),
          f"{hashlib.sha256(data).hexdigest()}  -\n640\n")
    back = g.host.copy(frames.GET, "/new-dir/file").wait(120)
    equal(back.end, ("code", 0))
    equal(hashlib.sha256(back.out[-len(data) - 1:-1]).digest(),
          hashlib.sha256(data).digest())
    task = g.host.copy(frames.PUT, "/new-dir/file",
                       frames.archive_of_file(b"x")).wait()
    equal((task.end[0], task.text), ("failed", '".": File exists'))


@claim("the guest's clock is what the host says")
def _():
    g = shared()
    g.host.put(frames.frame(frames.CLOCK, body=struct.pack(">Q", 10**15)))
    got = int(g.says("date +%s"))
    assert 10**9 <= got < 10**9 + 60, got
    g.host.put(frames.frame(frames.CLOCK,
                            body=struct.pack(">Q", int(time.time() * 1e6))))


@claim("a fork bomb does not keep the agent from answering, or from ending it")
def _():
    g = shared()
    bomb = g.host.sh("f() { f & f & wait; }; f", sink=lambda data: None)
    g.host.until(lambda: len(bomb.err) > 0, 60, bomb)  # can't fork
    equal(g.host.exec("echo", "here").wait(60).out, b"here\n")
    bomb.reset()
    equal(bomb.wait(60).end, ("signal", 9))
    until(lambda: int(g.says("ps | wc -l")) < 100, 30, "all of it is gone")


@claim("a command that takes all memory ends with that as its reason")
def _():
    g = shared()
    equal(g.says("cat /proc/1/oom_score_adj /proc/self/oom_score_adj"),
          "-1000\n0\n")
    task = g.host.exec("dd", "if=/dev/zero", "of=/dev/null", "bs=200M",
                       "count=1").wait(120)
    equal((task.end, task.limit), (("signal", 9), "memory"))
    task = g.run("dd if=/dev/zero of=/tmp/full bs=1M; rm /tmp/full; echo well")
    contains(task.err, b"No space left on device")
    equal(task.out, b"well\n")


@claim("POWEROFF ends the machine")
def _():
    g = shared()
    g.host.sh("trap '' TERM; sleep 1000")
    g.host.put(frames.frame(frames.POWEROFF))
    began = time.monotonic()
    try:
        g.host.until(lambda: False, 60, "the end of the port")
    except EOFError:
        pass
    g.ended()
    took = time.monotonic() - began
    equal(g.process.returncode, 0)
    lacks(g.console(), "Kernel panic")
    g.close()
    _shared.clear()
    return f"{took:.1f} s"


@claim("with a disk, what is written is on it and not in memory")
def _():
    with Guest(disk_mib=400, more={}) as g:
        g.ready()
        equal(g.says("df -m / | tail -n 1 | awk '{ print ($2 > 300) }'"), "1\n")
        lacks(g.says("cat /proc/mounts"), " /tmp ")
        equal(g.says("stat -c %a /tmp"), "1777\n")
        # more than its memory
        equal(g.says("dd if=/dev/zero of=/tmp/big bs=1M count=200 2>&1 && "
                     "stat -c %s /tmp/big | tail -n 1").splitlines()[-1],
              str(200 << 20))
        # no CA was brought: none is there
        equal(g.says("cat /etc/ssl/certs/ca-certificates.crt"), "A BUNDLE")


@claim("a guest that cannot be made says why, and ends")
def _():
    config = CONFIG.replace("root=tapward-root", "root=tapward-other")
    with Guest(config=config) as rootless, Guest(config=CONFIG + "rot=x\n") as g:
        g.ended(90)
        contains(g.console(), "configuration: /tapward/config:8: no such key")
        rootless.ended(90)
        contains(rootless.console(), 'tapward-agent: err agent root: no disk '
                                     '"tapward-other"')
