"""Rows of the benchmark about microVMs: one command in a fresh guest, beside
the same QEMU typed by hand with a script of busybox as its init."""
import calendar
import glob
import os
import re
import resource
import statistics
import subprocess
import threading
import time

from harness import debian_guest, guest, vm
from harness.claims import Skip
from harness.net import HOST_ADDRESS, ip
from harness.origins import Nginx

ORIGIN = "10.201.0.10"
BYTES = 64 << 20
URL = "http://plain.example.com/64m"

# What the agent does for `run`, and no more. The last word is the command.
INIT = """#!/bin/busybox sh
b=/bin/busybox
$b mkdir -p /proc /dev /low /up /new
$b mount -t devtmpfs dev /dev
$b mount -t proc proc /proc
for m in $($b cat /modules/order); do $b insmod /modules/$m; done
$b mount -t squashfs -o ro /dev/vda /low
$b mount -t tmpfs tmpfs /up
$b mkdir /up/data /up/work
$b mount -t overlay -o lowerdir=/low,upperdir=/up/data,workdir=/up/work o /new
$b mount --move /dev /new/dev
$b mount --move /proc /new/proc
$b ip link set lo up
$b ip link set eth0 up
$b ip addr add 100.64.0.2/30 dev eth0
$b ip route add default via 100.64.0.1
echo {hosts} >>/new/etc/hosts
$b chroot /new {command}
$b poweroff -f
"""


def image():
    """The folder of the image that `run` starts."""
    return os.path.dirname(glob.glob(f"{vm.store()}/**/root.squashfs",
                                     recursive=True)[0])


class ByHand:
    """A tap in the tests' host, routed to the origin; QEMU on it."""

    def __init__(self, world):
        self.world = world
        self.folder = f"{world.folder}/by-hand"
        os.mkdir(self.folder)
        host = world.host.name
        ip("-n", host, "tuntap", "add", "hand0", "mode", "tap")
        ip("-n", host, "addr", "add", "100.64.0.1/30", "dev", "hand0")
        ip("-n", host, "link", "set", "hand0", "up")
        world.host.run(["sysctl", "-qw", "net.ipv4.ip_forward=1"]).ok()
        ip("-n", world.net.name, "route", "add", "100.64.0.0/30", "via",
           HOST_ADDRESS)

    def argv(self, command):
        """As vmm/qemu.c has it, without jail and agent."""
        initrd = debian_guest.make_initrd(
            self.folder, f"{image()}/modules.cpio",
            INIT.format(command=command,
                        hosts=f"{ORIGIN} plain.example.com"))
        return self.world.host.plain([
            "qemu-system-x86_64", "-nodefaults", "-no-user-config",
            "-display", "none", "-no-reboot", "-M",
            "microvm,acpi=on,pic=off,pit=off", "-global",
            "virtio-mmio.force-legacy=false", "-accel",
            "tcg,thread=multi,tb-size=256", "-cpu", "max", "-m", "1024",
            "-smp", "1", "-kernel", f"{image()}/kernel", "-initrd", initrd,
            "-append", "console=ttyS0 quiet panic=-1 nokaslr mitigations=off "
            "audit=0 apparmor=0 8250.nr_uarts=1 no_timer_check tsc=reliable "
            f"tsc_early_khz={guest.tsc_khz()}",
            "-serial", "stdio", "-device", "virtio-serial-device",
            "-netdev", "tap,id=net,ifname=hand0,script=no,downscript=no",
            "-device", "virtio-net-device,netdev=net",
            "-blockdev", "driver=raw,node-name=root,read-only=on,"
            f"file.driver=file,file.filename={image()}/root.squashfs",
            "-device", "virtio-blk-device,drive=root"])


def ticks(pid, first, last):
    """Seconds of CPU of all threads of a process: proc(5), fields of stat from
    utime (0) on: utime, stime, and those of children that it waited for."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            fields = f.read().rpartition(")")[2].split()[11:15]
    except OSError:
        return 0
    return sum(map(int, fields[first:last])) / os.sysconf("SC_CLK_TCK")


class Monitor(threading.Thread):
    """CPU seconds of a world's QEMU, read until it is gone: who waits for it
    is in a namespace of processes with it, and takes the figure along."""

    def __init__(self, world):
        super().__init__(daemon=True)
        self.world, self.is_over, self.seconds = world, threading.Event(), 0
        self.start()

    def run(self):
        pids = []
        while not self.is_over.wait(0.02):
            pids = pids or self.world.processes("qemu-system-x86")
            if pids:
                self.seconds = max(self.seconds, ticks(pids[0], 0, 2))

    def end(self):
        self.is_over.set()
        self.join()
        return self.seconds


class Run:
    """What one command took: seconds to what it says first and to its end, and
    of CPU. world: whose tapwardd and QEMU are counted too."""

    def __init__(self, argv, env=None, world=None, first=b"x"):
        cpu, monitor = self.cpu(world), world and Monitor(world)
        self.began_wall, began = time.time(), time.monotonic()
        process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        out, self.first = b"", None
        # A console is read as well, with what the kernel prints before.
        for line in process.stdout:
            out += line
            if self.first is None and line.strip() == first:
                self.first = time.monotonic() - began
        self.out = out.decode("utf-8", "replace")
        self.err = process.stderr.read().decode("utf-8", "replace")
        self.code = process.wait()
        self.seconds = time.monotonic() - began
        self.ended_wall = time.time()
        self.cpu_s = self.cpu(world) - cpu + (monitor.end() if monitor else 0)

    @staticmethod
    def cpu(world):
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        total = used.ru_utime + used.ru_stime
        return total + (ticks(world.daemon.pid, 0, 4) if world else 0)

    def ok(self):
        if self.code != 0:
            raise RuntimeError(f"{self.code}: {self.out}{self.err}"[:900])
        return self


def tapward(world, *command):
    """(the run, its sandbox's name)"""
    world.serial = getattr(world, "serial", 0) + 1
    name = f"bench-{world.serial}"
    run = Run([f"{world.tree}/bin/tapward", "--socket", world.socket, "run",
               "--name", name, "--policy", world.policy, "--memory", "1024M",
               "--", *command], world.env, world)
    return run.ok(), name


def wall(record):
    """Seconds of a record's time."""
    text, _, fraction = record["time"].rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S")) + \
        float(f"0.{fraction or 0}")


def stages(world, run, name):
    """{stage: seconds}, from the records of the sandbox; uptime is what the
    guest's kernel said when its command began, and when it began its init."""
    at = {r["detail"]: wall(r) for r in world.audit(name, event="lifecycle")}
    record = world.audited(name, event="run")
    ended = wall(record)
    began = ended - record["ms"] / 1000
    booting, ready = at["virtual machine booting"], at["virtual machine ready"]
    uptime, init = map(float, run.out.split())
    agent = uptime - init - (began - ready)
    return {"create": booting - run.began_wall,
            "boot": ready - booting - agent, "agent": agent,
            "command": ended - ready, "destroy": run.ended_wall - ended}


# When this command began and PID 1 did, in seconds of the kernel's clock.
SAY_CLOCKS = ("read up _ </proc/uptime; init=$(dmesg | sed -n "
              "'s/^\\[ *\\([0-9.]*\\)\\] Run .* as init process/\\1/p'); "
              "echo $up $init")


def machines(bench):
    title = "microVM"
    if not bench.wants(title):
        return
    try:
        world = vm.VmWorld()
    except Skip as e:
        print(f"\n{title}: left out: {e}")
        return
    with world:
        os.mkdir(f"{world.folder}/www")
        with open(f"{world.folder}/www/64m", "wb") as f:
            f.write(os.urandom(1 << 20) * (BYTES >> 20))
        world.own(Nginx(world.net, f"{world.folder}/nginx", f"""
          server {{ listen {ORIGIN}:80; root {world.folder}/www; }}"""))
        hand = ByHand(world)
        times(bench, world, hand)
        throughput(bench, world, hand)


def times(bench, world, hand):
    rounds = {"echo": [], "true": [], "hand echo": [], "hand true": []}
    split = []
    for _ in range(bench.rounds):
        for word in ("true", "echo"):
            argv = ["/bin/true"] if word == "true" else ["/bin/echo", "x"]
            rounds[word].append(tapward(world, *argv)[0])
            rounds[f"hand {word}"].append(
                Run(hand.argv(" ".join(argv))).ok())
        split.append(stages(world, *tapward(world, "sh", "-c", SAY_CLOCKS)))
    print(f"\nmicroVM, one command in a fresh one (s; median of "
          f"{bench.rounds}, the least)")
    least = {}
    for label, word, part in (
            ("tapward run, echo: first output", "echo", "first"),
            ("QEMU by hand, the same", "hand echo", "first"),
            ("tapward run, true: exit", "true", "seconds"),
            ("QEMU by hand, the same", "hand true", "seconds"),
            ("tapward run, true: CPU", "true", "cpu_s"),
            ("QEMU by hand, the same", "hand true", "cpu_s")):
        values = [getattr(r, part) for r in rounds[word]]
        least[word, part] = min(values)
        line(label, values)
    for stage in split[0]:
        line(f"  of it: {stage}", [s[stage] for s in split])
    aims(bench, least, min(s["destroy"] for s in split))


def line(label, values):
    print(f"  {label:34}{statistics.median(values):10.3f}"
          f"{min(values):10.3f}", flush=True)


def aims(bench, least, destroy):
    ratio = least["true", "seconds"] / least["hand true", "seconds"]
    for name, value, most in (("of QEMU's time", ratio, 1.05),
                              ("s to destroy", destroy, 0.1)):
        word = "met" if value <= most else "MISSED"
        print(f"  aim: at most {most:g} {name}: {value:.3f}, {word}",
              flush=True)
        if value > most:
            bench.missed.append(f"microVM, {name}")


def throughput(bench, world, hand):
    """Bytes that the guest's curl got in a second, by its own clock."""
    say = ["curl", "-s", "-o", "/dev/null", "-w", "speed=%{speed_download}",
           URL]
    print(f"\nmicroVM, guest to origin (MB/s; median, the most of "
          f"{bench.rounds})")
    speed = lambda run: float(
        re.search(r"speed=([0-9.]+)", run.out)[1]) / 1e6
    ours, theirs = [], []
    for _ in range(bench.rounds):
        ours.append(speed(tapward(world, *say)[0]))
        theirs.append(speed(Run(hand.argv(" ".join(say))).ok()))
    for label, values in (("tapward, plain HTTP", ours),
                          ("QEMU by hand, routed", theirs)):
        print(f"  {label:34}{statistics.median(values):10.1f}"
              f"{max(values):10.1f}", flush=True)
