"""How microVMs end: killed at each stage, by their limits, by their guests."""
import contextlib
import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import termios
import time
from concurrent.futures import ThreadPoolExecutor

from harness.claims import claim, contains, equal, lacks, until
from harness.vm import BOOT_S, VmWorld

_world = {}
_count = [0]


def world():
    """The one world of these claims, without what a failed one left in it."""
    if not _world:
        _world.update(w=VmWorld(), runs=[])
    w = _world["w"]
    for run in _world["runs"]:
        if run.process.poll() is None:
            run.process.kill()
            run.process.communicate()
    _world["runs"].clear()
    if w.daemon.poll() is not None:
        w.start()
    return w


def machine():
    """A guest that goes on, made anew when a claim has ended it."""
    w = world()
    name = _world.get("name")
    if name is None or w.cli("exec", name, "--", "true").code != 0:
        if name is not None:
            w.cli("rm", name)
        name = _world["name"] = create(w)
    return w, name


def create(w):
    """The name of a guest that goes on."""
    _count[0] += 1
    name = f"guest{_count[0]}"
    w.cli("create", name, "--policy", w.policy, "--image", "default",
          "--memory", "256M", "--disk", "64M", timeout=BOOT_S).ok()
    return name


def vm_of(w, name):
    return json.loads(w.cli("show", name, "--json").ok().out)["vm"]


def rss_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(f.read().split("VmRSS:")[1].split()[0])


def namespaces(w):
    """Those of this world's runs, by the names that Run gives them."""
    return sorted(n for n in os.listdir("/run/netns")
                  if n.startswith(f"tapward-run-{w.id}-"))


class Run:
    """`tapward run`, watched through its stages."""

    def __init__(self, w, *options, command="echo started; exec sleep 600"):
        self.w = w
        _count[0] += 1
        self.name = f"run-{w.id}-{_count[0]}"
        _world["runs"].append(self)
        self.process = w.vm_start("--name", self.name, *options, "--", "sh", "-c", command)

    def create(self):
        until(lambda: self.name in self.w.names(), 30, "its sandbox is there", 0.005)

    def spawned(self):
        until(self.w.newborn, 30, "tapward-vm is there", 0.001)

    def boot(self):
        until(lambda: self.w.processes("qemu-system-x86"), 30,
              "QEMU is there", 0.005)

    def ready(self):
        until(self.is_ready, BOOT_S, "the guest is ready")

    def is_ready(self):
        return self.state() == "ready"

    def state(self):
        got = self.w.cli("show", self.name, "--json")
        vm = json.loads(got.out)["vm"] if got.code == 0 else None
        return vm["state"] if vm is not None else None

    def known(self):
        """run was told that it boots: before, a dead tapwardd ends both."""
        until(lambda: self.state() in ("booting", "ready"), 30,
              "its guest boots")

    def command(self):
        line = b""
        fd = self.process.stdout.fileno()
        while not line.endswith(b"started\n"):
            assert select.select([fd], [], [], BOOT_S)[0], "no output"
            got = os.read(fd, 100)
            assert got, self.process.stderr.read()
            line += got

    def ended(self, seconds=10):
        """Its status, and what it said."""
        try:
            _, err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("run goes on") from None
        return self.process.returncode, err.decode()


def upload(w):
    """One that takes longer than any test waits."""
    path = f"{w.folder}/large"
    with open(path, "wb") as f:
        f.truncate(8 << 30)
    return "--upload", f"{path}:/tmp/large"


def nothing_left(w):
    began = time.monotonic()
    w.gone()
    until(lambda: not namespaces(w), 5 - (time.monotonic() - began),
          f"no namespace is left: {namespaces(w)}")
    return time.monotonic() - began


STAGES = ("create", "boot", "ready", "copy", "command")


def at_stage(w, stage):
    if stage == "copy":
        run = Run(w, *upload(w))
        run.ready()
        until(lambda: rss_kib(w.processes("tapward-vm")[0]) and
              sent(w) > 1 << 20, 60, "the copy has begun")
        return run
    run = Run(w)
    getattr(run, stage)()
    return run


def sent(w):
    """Bytes that tapward-vm has written, its frames among them."""
    with open(f"/proc/{w.processes('tapward-vm')[0]}/io",
              encoding="ascii") as f:
        return int(f.read().split("wchar: ")[1].split()[0])


@claim("kill -9 of `tapward run` at each stage: nothing is left within five seconds")
def _():
    w = world()
    took = []
    for stage in STAGES:
        run = at_stage(w, stage)
        run.process.kill()
        took.append(f"{stage} {nothing_left(w):.1f}")
        run.ended()
    return "seconds: " + ", ".join(took)


@claim("kill -9 of tapward-vm and of the monitor at each stage: run says so, nothing is left")
def _():
    w = world()
    took = []
    for name in ("tapward-vm", "qemu-system-x86"):
        for stage in STAGES[1:]:
            if stage == "ready":
                continue  # what runs then is what runs during a copy
            run = at_stage(w, stage)
            os.kill(w.processes(name)[0], signal.SIGKILL)
            took.append(f"{name} {stage} {nothing_left(w):.1f}")
            code, err = run.ended()
            equal(code, 125, err)
            contains(err, "ended" if name == "tapward-vm" else "signal 9",
                     f"{name} {stage}")
    return "seconds: " + ", ".join(took)


def kill_daemon(w):
    w.daemon.kill()
    w.daemon.wait()


@claim("kill -9 of tapwardd while it makes the sandbox or starts the guest: run ends, nothing is left")
def _():
    w = world()
    for stage in ("create", "spawned"):
        run = Run(w)
        getattr(run, stage)()
        kill_daemon(w)
        code, err = run.ended()
        assert code not in (0, None), err
        contains(err, "tapward", stage)
        until(lambda: not w.processes("tapward-vm", "qemu-system-x86"), 5,
              f"{stage}: no process is left {w.left()}")
        w.start()
        nothing_left(w)


@claim("kill -9 of tapwardd as it starts a guest that outlives its command: no guest without a sandbox")
def _():
    w = world()
    create = subprocess.Popen(
        [f"{w.tree}/bin/tapward", "--socket", w.socket, "create", "lone",
         "--policy", w.policy, "--image", "default"], env=w.env,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(w.newborn, 30, "tapward-vm is there", 0.001)
    kill_daemon(w)
    create.wait(10)
    w.start()
    vm = vm_of(w, "lone")
    if vm is None or vm["state"] == "ended":
        until(lambda: not w.left(), 5, f"nobody's guest: {w.left()}")
    w.cli("rm", "lone").ok()
    nothing_left(w)


@claim("kill -9 of tapwardd during boot, copy and command: the next adopts it, exec works, it ends with its run")
def _():
    w = world()
    run = Run(w, "--upload", f"{w.policy}:/tmp/p")
    for stage in ("known", "ready", "command"):
        getattr(run, stage)()
        kill_daemon(w)
        w.start()
        equal(w.names(), [run.name], stage)
    got = w.cli("exec", run.name, "--", "cat", "/tmp/p").ok()
    contains(got.out, "[allow web]")
    equal(run.process.poll(), None)
    run.process.kill()
    nothing_left(w)
    run.ended()


@claim("kill -9 of tapwardd during a copy: the copy goes on, the next adopts it, it ends with its run")
def _():
    w = world()
    run = at_stage(w, "copy")
    kill_daemon(w)
    before = sent(w)
    until(lambda: sent(w) > before + (1 << 20), 20, "the copy goes on")
    w.start()
    equal(w.names(), [run.name])
    before = sent(w)
    until(lambda: sent(w) > before + (1 << 20), 20, "and on")
    run.process.kill()
    nothing_left(w)
    run.ended()


def ending(w):
    """A run whose command is over, which waits for tapwardd to end all; that
    stands still until it is told to go on."""
    run = Run(w, command="echo started; read line; exit 5")
    run.command()
    w.daemon.send_signal(signal.SIGSTOP)
    run.process.stdin.write(b"x\n")
    run.process.stdin.flush()
    until(lambda: asks(run.process), 20, "run asks for its end")
    return run


def asks(process):
    """It has a connection to the control socket, beside its session."""
    folder = f"/proc/{process.pid}/fd"
    links = [os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder)]
    return len([link for link in links if link.startswith("socket:")]) > 1


@claim("kill -9 of each while a run ends: nothing is left, and the command's status stands if run lives")
def _():
    w = world()
    took = []
    for name in ("tapward", "tapward-vm", "qemu-system-x86", "tapwardd"):
        run = ending(w)
        if name == "tapward":
            run.process.kill()
        elif name == "tapwardd":
            kill_daemon(w)
            w.start()
        else:
            os.kill(w.processes(name)[0], signal.SIGKILL)
        if name != "tapwardd":
            w.daemon.send_signal(signal.SIGCONT)
        code, err = run.ended()
        if name != "tapward":
            equal(code, 5, f"{name}: {err}")
        took.append(f"{name} {nothing_left(w):.1f}")
    return "seconds: " + ", ".join(took)


@claim("kill -9 of tapward-vm as it is born: run says so, nothing is left")
def _():
    w = world()
    run = Run(w)
    run.spawned()
    os.kill(w.newborn()[0], signal.SIGKILL)
    code, err = run.ended()
    equal(code, 125, err)
    contains(err, "tapward: ")
    nothing_left(w)


def vm_pid(w, name):
    """tapward-vm of a sandbox, once its monitor runs."""
    def runs():
        vm = vm_of(w, name)
        return vm and vm["state"] in ("booting", "ready") and vm["pid"]

    return until(runs, 30, "the monitor runs")


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(") ", 1)[1][0] not in "ZX"
    except OSError:
        return False


@claim("--max-duration holds when its run is stopped, and when tapward-vm is, which keeps it")
def _():
    w = world()
    runs = [Run(w, "--max-duration", "6s") for _ in range(2)]
    pids = []
    for run in runs:
        run.create()
        pids.append(vm_pid(w, run.name))
    os.kill(runs[0].process.pid, signal.SIGSTOP)
    os.kill(pids[1], signal.SIGSTOP)
    began = time.monotonic()
    for pid in pids:
        until(lambda p=pid: not lives(p), 25, "it ends all the same")
    took = time.monotonic() - began
    nothing_left(w)
    os.kill(runs[0].process.pid, signal.SIGCONT)
    code, err = runs[0].ended()
    equal(code, 125, err)
    contains(err, "--max-duration")
    equal(runs[1].ended()[0], 125)
    return f"both after {took:.0f} s"


@claim("--max-duration holds when tapwardd is dead, and over an adoption without any client")
def _():
    w = world()
    w.cli("create", "lone", "--policy", w.policy, "--image", "default",
          "--max-duration", "15s", timeout=BOOT_S).ok()
    lone = vm_pid(w, "lone")
    run = Run(w, "--max-duration", "6s")
    run.create()
    ours = vm_pid(w, run.name)
    kill_daemon(w)
    until(lambda: not lives(ours), 25, "it ends though there is no tapwardd")
    code, err = run.ended()
    equal(code, 125, err)
    contains(err, "--max-duration")
    w.start()
    until(lambda: not lives(lone), 25, "the adopted one ends")
    contains(until(lambda: vm_of(w, "lone")["reason"], 5, "it says why"),
             "max-duration")
    w.cli("rm", "lone").ok()
    nothing_left(w)


@claim("Ctrl-C goes to the command; a second one ends run; so it does where nobody reads; nothing is left")
def _():
    w = world()
    run = Run(w, command="trap 'echo caught; exit 9' INT; echo started; "
              "while :; do sleep 0.1; done")
    run.command()
    os.kill(run.process.pid, signal.SIGINT)
    equal(run.process.stdout.read(), b"caught\n")
    equal(run.ended()[0], 9)
    nothing_left(w)

    run = Run(w, command="trap 'echo caught' INT; echo started; "
              "while :; do sleep 0.1; done")
    run.command()
    os.kill(run.process.pid, signal.SIGINT)
    equal(run.process.stdout.readline(), b"caught\n")
    equal(run.process.poll(), None)
    os.kill(run.process.pid, signal.SIGINT)
    equal(run.ended()[0], 130)
    nothing_left(w)

    run = Run(w, command="trap '' INT; echo started; exec yes")
    run.command()
    until(lambda: blocked(run.process), 20, "run has output that none reads")
    for _ in range(2):
        os.kill(run.process.pid, signal.SIGINT)
        until(lambda: not pending(run.process), 5, "the signal is read")
    equal(run.process.wait(10), 130)
    run.process.stdout.close()
    run.process.stderr.close()
    nothing_left(w)


def pending(process):
    if process.poll() is not None:
        return 0
    with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
        return int(f.read().split("ShdPnd:")[1].split()[0], 16)


def blocked(process):
    """Its standard output holds all that a pipe does."""
    held = struct.unpack("i", fcntl.ioctl(
        process.stdout, termios.FIONREAD, b"\0" * 4))[0]
    return held >= 61440


@claim("--keep: the sandbox and its guest go on, and their next command sees the first one's files")
def _():
    w = world()
    got = w.vm_run("--keep", "--name", "kept", "--", "sh", "-c",
                   "echo x >/srv/x")
    equal(got.code, 0, repr(got))
    contains(got.err, "kept goes on; tapward rm kept ends it")
    equal(w.cli("exec", "kept", "--", "cat", "/srv/x").ok().out, "x\n")
    w.cli("rm", "kept").ok()
    nothing_left(w)


@claim("a command that ends while tapwardd is dead: its status stands, and the next one has its record")
def _():
    w, name = machine()
    run = subprocess.Popen(
        [f"{w.tree}/bin/tapward", "--socket", w.socket, "exec", name, "--",
         "sh", "-c", "echo started; read line; exit 6"], env=w.env,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    equal(run.stdout.readline(), b"started\n")
    kill_daemon(w)
    run.communicate(b"x\n", timeout=20)
    equal(run.returncode, 6)
    w.start()
    until(lambda: [r for r in w.audit(name, event="run")
                   if r["detail"].startswith("exit code 6; image ")], 10,
          "its record is there")


@claim("kill -9 of exec: what it ran in the guest ends, the guest goes on")
def _():
    w, name = machine()
    run = subprocess.Popen(
        [f"{w.tree}/bin/tapward", "--socket", w.socket, "exec", name,
         "--no-input", "--", "sh", "-c",
         "echo $$ >/srv/pid; echo started; exec sleep 600"],
        stdout=subprocess.PIPE, env=w.env)
    equal(run.stdout.readline(), b"started\n")
    run.kill()
    run.communicate()
    until(lambda: w.cli("exec", name, "--", "sh", "-c",
                        "kill -0 $(cat /srv/pid)").code == 1, 10, "it ended")


@claim("a guest that floods its console, or writes what nobody reads: memory flat, others are served")
def _():
    w, name = machine()
    vm = w.processes("tapward-vm")[0]
    before = rss_kib(vm)
    flood = subprocess.Popen(
        [f"{w.tree}/bin/tapward", "--socket", w.socket, "exec", name,
         "--no-input", "--", "sh", "-c",
         "yes 'a flood of the console' >/dev/ttyS0 & exec yes"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=w.env)
    try:
        until(lambda: blocked(flood), 30, "the flood is on")
        peak = before
        for _ in range(8):
            got = w.cli("exec", name, "--", "echo", "here", timeout=60)
            equal(got.out, "here\n", repr(got))
            peak = max(peak, rss_kib(vm))
    finally:
        flood.kill()
        flood.communicate()
    assert peak - before < 8192, f"{before} KiB became {peak}"
    return f"{before} KiB before, at most {peak} under it"


@claim("--max-output ends a command that writes too much, and says so")
def _():
    w, name = machine()
    got = w.cli("exec", name, "--max-output", "100K", "--", "yes", timeout=60)
    equal((got.code, len(got.out)), (125, 102400), got.err)
    contains(got.err, "it wrote more than --max-output")


@claim("a command that eats all memory or forks without end: its reason, and exec works on")
def _():
    w, name = machine()
    got = w.cli("exec", name, "--", "python3", "-c",
                "x = [b'x' * (48 << 20) for _ in range(99)]", timeout=150)
    equal(got.code, 137, repr(got))
    contains(got.err, "ran out of memory")
    bomb = subprocess.Popen(
        [f"{w.tree}/bin/tapward", "--socket", w.socket, "exec", name,
         "--no-input", "--timeout", "6", "--", "bash", "-c",
         "f() { f | f & }; f; echo started; sleep 600"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=w.env)
    equal(bomb.stdout.readline(), b"started\n")
    began = time.monotonic()
    got = w.cli("exec", name, "--", "true", timeout=90)
    during = time.monotonic() - began
    assert got.code == 0 or (got.code == 125 and "guest" in got.err), repr(got)
    bomb.stdout.close()
    equal(bomb.wait(60), 124)
    until(lambda: w.cli("exec", name, "--", "true", timeout=60).code == 0, 60,
          "exec works after it")
    return f"exec during the fork bomb: {got.code} in {during:.1f} s"


@claim("a guest that floods its agent's channel with what is no frame is ended, with the reason, memory flat")
def _():
    notes = []
    for what, says in (("noise", "the guest's agent sent no frame"),
                       ("flood", "the guest's agent sent DATA")):
        w, name = machine()
        vm = w.processes("tapward-vm")[0]
        before = peak = rss_kib(vm)
        run = w.hostile(name, what)

        def watch():
            nonlocal peak
            with contextlib.suppress(OSError, IndexError):
                peak = max(peak, rss_kib(vm))
            return run.poll() is not None

        until(watch, 60, "it is ended", 0.01)
        _, err = run.communicate()
        equal(run.returncode, 125, err)
        contains(err.decode(), says)
        until(lambda: not w.processes("tapward-vm", "qemu-system-x86"), 5,
              "it is ended")
        contains(vm_of(w, name)["reason"], says)
        notes.append(f"{what}: {before} KiB, at most {peak}")
        assert peak - before < 8192, notes[-1]
    return "; ".join(notes)


@claim("a guest whose agent never answers again: --timeout and stop hold, and it is ended with a reason")
def _():
    w, name = machine()
    silent = {name: w.hostile(name, "silence")}
    # What the one is given to answer is waited for while the other one stops.
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(until, lambda: w.cli(
            "exec", name, "--timeout", "1", "--", "true", timeout=60).code == 125,
            60, "it answers no more")
        other = create(w)
        silent[other] = w.hostile(other, "silence")
        vm = vm_pid(w, other)
        w.cli("stop", other).ok()
        until(lambda: not lives(vm), 12, "stop holds")
        late.result()
    contains(vm_of(w, name)["reason"], "of being told to")
    for run in silent.values():
        _, err = run.communicate(timeout=20)
        equal(run.returncode, 125, err)
    until(lambda: not w.processes("tapward-vm", "qemu-system-x86"), 5,
          "both are ended")
    w.cli("rm", other).ok()


@claim("the world of ends ends and leaves nothing")
def _():
    w = world()
    w.close()
    equal(w.left(), [])
    lacks(" ".join(namespaces(w)), "run-")
    _world.clear()
