"""A real guest on a sandbox's tap, whose root is this machine's own.

QEMU under emulation boots Debian's kernel; the root comes by virtiofs, which
can only read it, and what the guest writes is in its memory. So every program
that is here is there, without an image. Commands go as in debian_guest.py.
"""
import os
import socket
import stat
import subprocess
import tempfile
import time

from . import guest, world
from .claims import Skip
from .debian_guest import HERE, PORT, DebianGuest

VIRTIOFSD = "/usr/lib/qemu/virtiofsd"
MODULES = ("virtio_ring", "virtio", "virtio_mmio", "failover", "net_failover",
           "virtio_net", "virtio_console", "fuse", "virtiofs", "overlay")
TAG = "root"

INIT = f"""#!/bin/busybox sh
b=/bin/busybox
$b mkdir -p /proc /low /up /new
for m in {" ".join(MODULES)}; do $b insmod /modules/$m.ko; done
$b mount -t virtiofs -o ro {TAG} /low
$b mount -t tmpfs -o mode=755 tmpfs /up
$b mkdir /up/data /up/work
$b mount -t overlay -o lowerdir=/low,upperdir=/up/data,workdir=/up/work overlay /new
$b mount -t proc proc /new/proc
$b mount -t sysfs sys /new/sys
$b mount -t devtmpfs dev /new/dev
$b mkdir -p /new/dev/shm
for d in run dev/shm; do $b mount -t tmpfs -o mode=1777 tmpfs /new/$d; done
$b ip link set lo up
$b ip link set eth0 up
$b ip addr add {{guest_ip}} dev eth0
$b ip route add default via {{gateway}}
$b rm -f /new/etc/resolv.conf
echo "nameserver {{dns}}" >/new/etc/resolv.conf
exec $b chroot /new /usr/bin/python3 {HERE}/debian_agent.py {PORT}
"""


def make_initrd(folder, info):
    entries = [("bin", stat.S_IFDIR | 0o755, b""),
               ("modules", stat.S_IFDIR | 0o755, b"")]
    with open("/bin/busybox", "rb") as f:
        entries.append(("bin/busybox", stat.S_IFREG | 0o755, f.read()))
    entries += guest.module_entries(MODULES)
    entries.append(("init", stat.S_IFREG | 0o755, INIT.format(**info).encode()))
    with open(f"{folder}/initrd", "wb") as f:
        f.write(guest.cpio(entries))
    return f"{folder}/initrd"


class SharedGuest(DebianGuest):
    """Boots in the sandbox of this name in w; info is what create told."""

    def __init__(self, w, name, info, memory_mib=1536, cpus=2):
        kernel = guest.need()
        if not os.path.exists(VIRTIOFSD):
            raise Skip("no virtiofsd: tools/check installs it")
        self.process = self.server = None
        self.folder = tempfile.mkdtemp(prefix="tapward-test-shared-")
        world.close_at_end(self)
        self.serve()
        self.sock, theirs = socket.socketpair()
        tap = 5 if theirs.fileno() != 5 else 6
        argv = [f"{world.TREE}/bin/tapward", "--socket", w.socket, "attach",
                name, "--fd", str(tap), "--",
                *self.machine(kernel, info, memory_mib, cpus, theirs.fileno(),
                              tap)]
        self.began = time.monotonic()
        with open(f"{self.folder}/console", "wb") as console:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                pass_fds=[theirs.fileno()], start_new_session=True)
        theirs.close()
        self.stream = self.sock.makefile("rb")
        self.expect("ready", 180)
        self.boot_s = time.monotonic() - self.began

    def serve(self):
        """virtiofsd for QEMU to connect to, where / is read-only."""
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{self.folder}/fs")
            listener.listen(1)
            with open(f"{self.folder}/virtiofsd", "wb") as log:
                self.server = subprocess.Popen(
                    ["unshare", "--mount", "sh", "-ec",
                     'mount -o remount,bind,ro /; exec "$@"', "sh", VIRTIOFSD,
                     f"--fd={listener.fileno()}", "-o",
                     "source=/,sandbox=chroot,cache=always"],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    pass_fds=[listener.fileno()], start_new_session=True)

    def machine(self, kernel, info, memory_mib, cpus, fd, tap):
        return [
            "qemu-system-x86_64", "-M",
            "microvm,acpi=on,pic=off,pit=off,memory-backend=memory", "-object",
            f"memory-backend-memfd,id=memory,size={memory_mib}M,share=on",
            "-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max", "-smp", str(cpus),
            "-m", str(memory_mib), "-nodefaults", "-no-user-config",
            "-display", "none", "-no-reboot", "-serial", "stdio", "-global",
            "virtio-mmio.force-legacy=false", "-kernel", kernel, "-initrd",
            make_initrd(self.folder, info), "-append", "console=ttyS0 quiet "
            "panic=-1 tsc=reliable no_timer_check "
            f"tsc_early_khz={guest.tsc_khz()} audit=0 mitigations=off nokaslr "
            "apparmor=0", "-netdev", f"tap,id=n0,fd={tap}", "-device",
            f"virtio-net-device,netdev=n0,mac={info['guest_mac']}",
            "-chardev", f"socket,id=fs,path={self.folder}/fs", "-device",
            f"vhost-user-fs-device,chardev=fs,tag={TAG}",
            "-chardev", f"socket,id=test,fd={fd}",
            "-device", "virtio-serial-device",
            "-device", f"virtserialport,chardev=test,name={PORT}"]

    def close(self):
        super().close()
        if self.server is not None:
            self.server.kill()
            self.server.wait()
            self.server = None
