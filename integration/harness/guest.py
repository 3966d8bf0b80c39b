"""A real guest for tests: QEMU under TCG, Debian's kernel, our agent as PID 1,
and a root of busybox."""
import glob
import os
import shutil
import stat
import subprocess
import tempfile
import time

from . import frames, shell, world
from .claims import Skip

# tools/check unpacks Debian's cloud kernel there.
KERNEL = os.environ.get("TAPWARD_KERNEL", "build/kernel")
MODULES = ("virtio_ring", "virtio", "virtio_mmio", "failover", "net_failover",
           "virtio_net", "virtio_blk", "virtio_console", "squashfs", "overlay")
PORT = "tapward.agent"
MAC = "02:54:57:00:00:02"

PASSWD = """\
root:x:0:0:root:/root:/bin/sh
node:x:1000:1000:node:/home/node:/bin/sh
"""
GROUP = """\
root:x:0:
node:x:1000:
docker:x:999:node
"""
CONFIG = f"""\
address=10.0.2.15/24
gateway=10.0.2.2
dns=10.0.2.3
mac={MAC}
hostname=ci-7
root=tapward-root
port={PORT}
"""


def tsc_khz():
    """The host's TSC, which a guest under TCG sees: it cannot measure it when
    the machine is busy, and hangs trying."""
    with open("/proc/cpuinfo", encoding="ascii") as f:
        for line in f:
            if line.startswith("cpu MHz"):
                return int(float(line.split(":")[1]) * 1000)
    return 2000000


def need():
    """What a guest wants of this machine; its kernel."""
    kernels = glob.glob(f"{KERNEL}/boot/vmlinuz-*")
    wanted = ("qemu-system-x86_64", "mksquashfs", "mke2fs", "busybox")
    missing = [name for name in wanted if not shutil.which(name)]
    if not kernels or missing:
        raise Skip(f"missing: {missing or 'a kernel in build/kernel'}; "
                   "tools/check brings it")
    return kernels[0]


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def make_root(folder):
    """A squashfs of busybox and little else."""
    root = f"{folder}/root"
    os.makedirs(f"{root}/bin")
    shutil.copy(shutil.which("busybox"), f"{root}/bin/busybox")
    for name in shell.run(["busybox", "--list"]).ok().out.split():
        if name != "busybox":
            os.symlink("busybox", f"{root}/bin/{name}")
    write(f"{root}/etc/passwd", PASSWD)
    write(f"{root}/etc/group", GROUP)
    # No line end, as some bundles have it; a link, as resolv.conf often is.
    write(f"{root}/etc/ssl/certs/ca-certificates.crt", "A BUNDLE")
    os.symlink("/run/nowhere", f"{root}/etc/resolv.conf")
    os.makedirs(f"{root}/home/node")
    os.chown(f"{root}/home/node", 1000, 1000)
    shell.run(["mksquashfs", root, f"{folder}/root.squashfs", "-comp", "lz4",
               "-noappend", "-quiet", "-no-progress"]).ok()
    shutil.rmtree(root)
    return f"{folder}/root.squashfs"


def make_disk(folder, mib):
    path = f"{folder}/disk.ext4"
    with open(path, "wb") as f:
        f.truncate(mib << 20)
    shell.run(["mke2fs", "-q", "-t", "ext4", "-F", path]).ok()
    return path


def cpio(entries):
    """A newc archive of (path, mode, data)."""
    out = bytearray()
    for number, (path, mode, data) in enumerate(
            [*entries, ("TRAILER!!!", 0, b"")], 1):
        name = path.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        out += b"070701" + b"".join(b"%08x" % n for n in fields) + name
        out += b"\0" * (-len(out) % 4) + data
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def module_entries(names):
    """Modules of the kernel, for cpio()."""
    entries = []
    for name in names:
        found = glob.glob(f"{KERNEL}/lib/modules/*/**/{name}.ko", recursive=True)
        with open(found[0], "rb") as f:
            entries.append((f"modules/{name}.ko", stat.S_IFREG | 0o644, f.read()))
    return entries


def make_initrd(folder, config, more=()):
    """What tapward-vm brings a guest: vmm/agent/config.h."""
    with open(f"{world.TREE}/libexec/tapward/tapward-agent", "rb") as f:
        entries = [("init", stat.S_IFREG | 0o755, f.read())]
    entries += [(name, stat.S_IFDIR | 0o755, b"")
                for name in ("modules", "tapward")]
    entries += module_entries(MODULES)
    files = {"modules/order": "".join(f"{m}.ko\n" for m in MODULES),
             "tapward/config": config, **dict(more)}
    entries += [(name, stat.S_IFREG | 0o644, text.encode())
                for name, text in files.items()]
    with open(f"{folder}/initrd", "wb") as f:
        f.write(cpio(entries))
    return f"{folder}/initrd"


class Guest:
    """Boots; `with` ends it. host is its frames.Host."""

    def __init__(self, config=CONFIG, more=(), disk_mib=0, memory_mib=256):
        kernel = need()
        self.folder = tempfile.mkdtemp(prefix="tapward-test-guest-")
        self.process = None
        world.close_at_end(self)
        if disk_mib:
            config += "disk=tapward-disk\n"
        ours, theirs = frames.pair()
        argv = self.argv(kernel, make_initrd(self.folder, config, more),
                         memory_mib, theirs.fileno())
        if disk_mib:
            argv += self.drive("disk", make_disk(self.folder, disk_mib), "off")
        self.began = time.monotonic()
        with open(f"{self.folder}/console", "wb") as console:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                pass_fds=[theirs.fileno()], start_new_session=True)
        theirs.close()
        self.host = frames.Host(ours)

    @staticmethod
    def drive(name, path, readonly):
        return ["-drive", f"id={name},file={path},format=raw,if=none,"
                f"readonly={readonly},cache=unsafe", "-device",
                f"virtio-blk-device,drive={name},serial=tapward-{name}"]

    def argv(self, kernel, initrd, memory_mib, fd):
        return [
            "qemu-system-x86_64", "-M", "microvm,acpi=on,pic=off,pit=off",
            "-accel", "tcg", "-cpu", "max", "-m", str(memory_mib),
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-global", "virtio-mmio.force-legacy=false", "-serial", "stdio",
            "-kernel", kernel, "-initrd", initrd, "-append",
            "console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check "
            f"tsc_early_khz={tsc_khz()}",
            "-netdev", "user,id=n0,restrict=on",
            "-device", f"virtio-net-device,netdev=n0,mac={MAC}",
            "-chardev", f"socket,id=agent,fd={fd}",
            "-device", "virtio-serial-device",
            "-device", f"virtserialport,chardev=agent,name={PORT}",
            *self.drive("root", make_root(self.folder), "on")]

    def console(self):
        with open(f"{self.folder}/console", encoding="utf-8",
                  errors="replace") as f:
            return f.read()

    def ready(self, seconds=90):
        """Waits for the agent; seconds from QEMU's start to its HELLO."""
        try:
            self.host.until(lambda: self.host.hello_at is not None, seconds)
        except (AssertionError, EOFError) as e:
            raise AssertionError(f"no agent: {self.console()}") from e
        return self.host.hello_at - self.began

    def run(self, script, **more):
        """The task of a script, when it is over."""
        return self.host.sh(script, **more).wait()

    def says(self, script, **more):
        """What a script prints, when it ends well."""
        task = self.run(script, **more)
        if task.end != ("code", 0):
            raise AssertionError(f"{script}: {task!r}")
        return task.out.decode()

    def ended(self, seconds=30):
        """Waits for QEMU to end by itself; seconds that took."""
        began = time.monotonic()
        self.process.wait(seconds)
        return time.monotonic() - began

    def close(self):
        world.closed(self)
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.host.sock.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
