"""A Debian machine for tests: kernel 6.1 under QEMU, systemd as PID 1, cgroups
of version 2, and this machine's own packages as its root.

    guest = DebianGuest(["python3", "nftables"], {"/opt/x": folder})
    guest.run(["systemctl", "is-system-running"])

The root is a squashfs of packages below one of what a test adds, and above
both a tmpfs: a guest writes wherever it likes, and nothing of it stays. One that
has apt knows what is installed. It has no network but what it makes itself.
Commands go one at a time through a serial port to debian_agent.py.
"""
import glob
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import tempfile
import time

from . import guest, shell, world
from .claims import Skip
from .machine import Machine
from .packages import ARCH

HERE = os.path.dirname(os.path.abspath(__file__))
# What systemd, the agent and module loading themselves want.
PACKAGES = ("bash", "coreutils", "findutils", "grep", "iproute2", "kmod",
            "mount", "procps", "python3", "sed", "systemd", "systemd-sysv",
            "util-linux")
# Where the agent, and units that start it, are in the guest.
AGENT = "/usr/lib/tapward-test/debian_agent.py"
PORT = "tapward.test"
# Modules a network host loads when they are asked for.
MODULES = ("kernel/net", "kernel/lib", "kernel/crypto",
           "kernel/drivers/net/tun.ko", "kernel/drivers/net/veth.ko",
           "kernel/drivers/net/dummy.ko", "kernel/drivers/block/loop.ko",
           "kernel/fs/ext4", "kernel/fs/mbcache.ko", "kernel/fs/jbd2")

INIT = """#!/bin/busybox sh
b=/bin/busybox
$b mkdir -p /proc /sys /dev /low /more /up /new
$b mount -t devtmpfs dev /dev
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
for m in $($b cat /modules/order); do $b insmod /modules/$m; done
for d in /sys/block/vd*; do
	case $($b cat $d/serial) in
	tapward-root) $b mount -t squashfs -o ro /dev/${d##*/} /low ;;
	tapward-more) $b mount -t squashfs -o ro /dev/${d##*/} /more ;;
	esac
done
$b mount -t tmpfs -o mode=755 tmpfs /up
$b mkdir /up/data /up/work
$b mount -t overlay -o lowerdir=/more:/low,upperdir=/up/data,workdir=/up/work overlay /new
$b umount /sys /proc
$b mount --move /dev /new/dev
exec $b switch_root /new /lib/systemd/systemd
"""

UNIT = f"""\
[Unit]
Description=Runs what a test asks for
# The whole of a boot, as a service of a package would find it.
After=multi-user.target
[Service]
ExecStart=/usr/bin/python3 {AGENT} {PORT}
Delegate=yes
TasksMax=infinity
LimitNOFILE=524288
[Install]
WantedBy=multi-user.target
"""

# Units that wait for what a test's machine has not, or cost seconds.
MASKED = ("serial-getty@ttyS0.service", "getty.target", "systemd-firstboot.service",
          "systemd-pcrphase.service", "systemd-pcrphase-sysinit.service",
          "systemd-repart.service", "systemd-update-utmp.service",
          "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer",
          "e2scrub_all.timer", "e2scrub_reap.service", "fstrim.timer",
          "nginx.service", "dnsmasq.service")

_cache = {}


def cached(key, make):
    """make(folder), once for each key; the folder is gone at the end."""
    if key not in _cache:
        folder = tempfile.mkdtemp(prefix="tapward-test-debian-")
        world.close_at_end(Folder(folder))
        make(folder)
        _cache[key] = folder
    return _cache[key]


class Folder:
    """Something to close: a folder that is to go."""

    def __init__(self, path):
        self.path = path

    def close(self):
        world.closed(self)
        shutil.rmtree(self.path, ignore_errors=True)
        for key in [k for k, v in _cache.items() if v == self.path]:
            del _cache[key]


def base(packages):
    """The folder with root.squashfs, kernel and modules.cpio."""
    build = f"{world.TREE}/libexec/tapward/tapward-image-build"
    return cached(packages, lambda folder: shell.run(
        [build, folder, "host", guest.KERNEL, *packages], timeout=300).ok())


def libraries(*programs):
    """The packages that own the libraries of programs."""
    paths = {word for line in shell.run(["ldd", *programs]).out.splitlines()
             for word in line.split() if word.startswith("/lib")}
    # dpkg knows some as they were before /lib and /usr/lib were one.
    owners = shell.run(["dpkg-query", "-S", *paths,
                        *(f"/usr{path}" for path in paths)]).out
    return sorted({line.split(":")[0] for line in owners.splitlines()})


def squash(folder, path):
    shell.run(["mksquashfs", folder, path, "-comp", "lz4", "-noappend",
               "-all-root", "-quiet", "-no-progress"], timeout=120).ok()


def place_modules(root):
    """The kernel's modules that a test may want, and their index."""
    found = [f"{guest.KERNEL}/{lib}/modules/{version}"
             for lib in ("lib", "usr/lib")
             if os.path.isdir(f"{guest.KERNEL}/{lib}/modules")
             for version in os.listdir(f"{guest.KERNEL}/{lib}/modules")][0]
    to = f"{root}/usr/lib/modules/{os.path.basename(found)}"
    for name in MODULES:
        path = f"{found}/{name}"
        os.makedirs(os.path.dirname(f"{to}/{name}"), exist_ok=True)
        if os.path.isdir(path):
            shutil.copytree(path, f"{to}/{name}", dirs_exist_ok=True)
        elif os.path.exists(path):
            shutil.copy(path, f"{to}/{name}")
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        shutil.copy(f"{found}/{name}", f"{to}/{name}")
    shell.run(["depmod", "-b", f"{root}/usr", os.path.basename(found)]).ok()


def place_units(root):
    units = f"{root}/etc/systemd/system"
    os.makedirs(f"{units}/multi-user.target.wants")
    guest.write(f"{units}/debian-agent.service", UNIT)
    os.symlink("../debian-agent.service",
               f"{units}/multi-user.target.wants/debian-agent.service")
    os.symlink("/lib/systemd/system/multi-user.target",
               f"{units}/default.target")
    for name in MASKED:
        os.symlink("/dev/null", f"{units}/{name}")
    guest.write(f"{root}/etc/machine-id", "0123456789abcdef" * 2 + "\n")
    guest.write(f"{root}/etc/resolv.conf", "")
    guest.write(f"{root}/etc/hostname", "debian-guest\n")
    guest.write(f"{root}/etc/hosts", "127.0.0.1 localhost debian-guest\n")


def place_database(root, names):
    """dpkg's, as if it had installed these packages of this machine."""
    there = f"{root}/var/lib/dpkg"
    for name in ("info", "triggers", "updates"):
        os.makedirs(f"{there}/{name}")
    ours = re.compile(rf"^Architecture: ({ARCH}|all)$", re.MULTILINE)
    with open("/var/lib/dpkg/status", encoding="utf-8") as f:
        known = {text.split("\n", 1)[0].removeprefix("Package: "): text
                 for text in f.read().split("\n\n") if ours.search(text)}
    guest.write(f"{there}/status", "\n\n".join(known[n] for n in names) + "\n\n")
    for name in names:
        for path in (glob.glob(f"/var/lib/dpkg/info/{name}.list") or
                     glob.glob(f"/var/lib/dpkg/info/{name}:*.list")):
            shutil.copy(path, f"{there}/info")


def make_initrd(folder, modules, init=INIT):
    """Busybox and a script for it, behind an image's modules."""
    with open(modules, "rb") as f:
        data = f.read()
    with open(shutil.which("busybox"), "rb") as f:
        busybox = f.read()
    data += b"\0" * (-len(data) % 4) + guest.cpio([
        ("bin", stat.S_IFDIR | 0o755, b""),
        ("bin/busybox", stat.S_IFREG | 0o755, busybox),
        ("init", stat.S_IFREG | 0o755, init.encode())])
    with open(f"{folder}/initrd", "wb") as f:
        f.write(data)
    return f"{folder}/initrd"


class DebianGuest(Machine):
    """Boots; the agent answers when the constructor returns.

    packages: of this machine, with all they need. files: {path in the guest:
    file or folder here, or bytes}, over them.
    """

    slower = 4  # emulation is, six times

    def __init__(self, packages, files, memory_mib=1024, cpus=2):
        guest.need()
        if not os.path.exists("/lib/systemd/systemd"):
            raise Skip("no systemd: tools/check installs it")
        self.process = None
        self.folder = tempfile.mkdtemp(prefix="tapward-test-debian-")
        world.close_at_end(self)
        self.base = base((*PACKAGES, *packages))
        self.place(files)
        self.sock, theirs = socket.socketpair()
        argv = self.argv(memory_mib, cpus, theirs.fileno())
        self.began = time.monotonic()
        with open(f"{self.folder}/console", "wb") as console:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                pass_fds=[theirs.fileno()], start_new_session=True)
        theirs.close()
        self.stream = self.sock.makefile("rb")
        self.boot_s = None
        self.expect("ready", 180)
        self.boot_s = time.monotonic() - self.began

    def place(self, files):
        root = f"{self.folder}/more"
        os.mkdir(root)
        place_modules(root)
        place_units(root)
        with open(f"{self.base}/packages", encoding="ascii") as f:
            names = f.read().split()
        if "apt" in names:
            place_database(root, names)
        for path, what in {AGENT: f"{HERE}/debian_agent.py", **files}.items():
            to = root + path
            os.makedirs(os.path.dirname(to), exist_ok=True)
            if isinstance(what, bytes):
                with open(to, "wb") as f:
                    f.write(what)
                os.chmod(to, 0o755 if what.startswith(b"#!") else 0o644)
            elif os.path.isdir(what):
                shutil.copytree(what, to, symlinks=True, dirs_exist_ok=True)
            else:
                shutil.copy(what, to)
        squash(root, f"{self.folder}/more.squashfs")
        shutil.rmtree(root)

    def argv(self, memory_mib, cpus, fd):
        return [
            "qemu-system-x86_64", "-M", "microvm,acpi=on,pic=off,pit=off",
            "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(cpus),
            "-m", str(memory_mib), "-nodefaults", "-no-user-config",
            "-display", "none", "-no-reboot", "-serial", "stdio", "-global",
            "virtio-mmio.force-legacy=false", "-kernel", f"{self.base}/kernel",
            "-initrd", make_initrd(self.folder, f"{self.base}/modules.cpio"),
            "-append", "console=ttyS0 quiet panic=-1 tsc=reliable "
            f"no_timer_check tsc_early_khz={guest.tsc_khz()} audit=0 "
            "mitigations=off nokaslr apparmor=0 "
            "systemd.unified_cgroup_hierarchy=1 systemd.show_status=no",
            "-chardev", f"socket,id=test,fd={fd}",
            "-device", "virtio-serial-device",
            "-device", f"virtserialport,chardev=test,name={PORT}",
            *guest.Guest.drive("root", f"{self.base}/root.squashfs", "on"),
            *guest.Guest.drive("more", f"{self.folder}/more.squashfs", "on")]

    def console(self):
        with open(f"{self.folder}/console", encoding="utf-8",
                  errors="replace") as f:
            return f.read()

    def expect(self, key, seconds):
        """The agent's next message, which has this key; None: any."""
        self.sock.settimeout(seconds)
        try:
            line = self.stream.readline()
            message = json.loads(line)
        except (OSError, ValueError) as e:
            raise AssertionError(f"no {key} from the guest in {seconds} s: "
                                 f"{self.console()[-3000:]}") from e
        assert key is None or key in message, message
        return message

    def run(self, argv, timeout=60, cwd="/", env=None):
        """A command as root, outside of any unit's limits; a shell.Result.
        It is killed with all it started after timeout seconds."""
        self.ask({"argv": argv, "timeout": timeout, "cwd": cwd,
                  "env": env or {}})
        got = self.expect("code", timeout + 60)
        return shell.Result(argv, got["code"], got["out"], got["err"])

    def lines(self, argv, timeout=60):
        """The lines that a command writes, one by one as it writes them. The
        guest takes no other command until the last was read."""
        self.ask({"argv": argv, "timeout": timeout, "cwd": "/", "env": {},
                  "lines": True})
        while True:
            got = self.expect(None, timeout + 60)
            if "code" in got:
                return
            yield got["line"]

    def ask(self, request):
        self.sock.settimeout(30)
        self.sock.sendall(json.dumps(request).encode() + b"\n")

    def close(self):
        world.closed(self)
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.stream.close()
            self.sock.close()
            self.process = None
        shutil.rmtree(self.folder, ignore_errors=True)
