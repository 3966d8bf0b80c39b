"""A real microVM: QEMU with Debian's kernel, its tap from `tapward attach`."""
import glob
import json
import os
import shutil

from harness import shell
from harness.claims import Skip, claim, contains
from harness.guest import KERNEL, tsc_khz
from harness.origins import Nginx
from harness.world import TREE, World

MODULES = ("virtio_ring", "virtio", "virtio_mmio", "failover", "net_failover",
           "virtio_net")

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
/bin/busybox mkdir -p /proc /etc
mount -t proc proc /proc
for m in {modules}; do insmod /modules/$m.ko; done
ip link set eth0 up
ip addr add {guest_ip} dev eth0
ip route add default via {gateway}
echo nameserver {gateway} > /etc/resolv.conf
echo NAME $(nslookup plain.example.com {gateway} | tail -n 3)
echo ALLOWED $(wget -q -O - http://plain.example.com/hello)
echo DENIED $(wget -O - http://denied.example.com/x 2>&1)
echo LITERAL $(echo GET / | nc -w 3 10.201.0.10 80 2>&1; echo $?)
echo PING $(ping -c 1 -W 1 10.201.0.10 2>&1; echo $?)
echo GUEST-DONE
poweroff -f
"""

POLICY = """\
[policy]
version = 1

[allow web]
host   = plain.example.com
scheme = http
"""


def make_initrd(folder, info):
    root = f"{folder}/initrd"
    os.makedirs(f"{root}/bin")
    os.makedirs(f"{root}/modules")
    shutil.copy("/bin/busybox", f"{root}/bin/busybox")
    for name in MODULES:
        found = glob.glob(f"{KERNEL}/lib/modules/*/**/{name}.ko", recursive=True)
        shutil.copy(found[0], f"{root}/modules/{name}.ko")
    with open(f"{root}/init", "w", encoding="ascii") as f:
        f.write(INIT.format(modules=" ".join(MODULES), **info))
    os.chmod(f"{root}/init", 0o755)
    shell.run(["sh", "-c", f"cd {root} && find . | cpio -o -H newc --quiet | "
               f"gzip -1 > {folder}/initrd.gz"]).ok()
    return f"{folder}/initrd.gz"


@claim("a QEMU microVM on the tap reads what is allowed, and a reason for the rest")
def _():
    kernels = glob.glob(f"{KERNEL}/boot/vmlinuz-*")
    qemu = shutil.which("qemu-system-x86_64")
    if not kernels or not qemu or not os.path.exists("/bin/busybox"):
        raise Skip("no QEMU, busybox, or kernel in build/kernel: tools/check "
                   "brings them")
    w = World({"plain.example.com": "10.201.0.10"})
    with w:
        w.own(Nginx(w.net, f"{w.folder}/nginx", """
          server { listen 10.201.0.10:80;
            location / { return 200 "hello from the origin\\n"; } }"""))
        name = f"vm{w.id}"
        policy = w.file("vm.ini", POLICY)
        info = json.loads(w.cli("create", name, "--policy", policy,
                                "--json").ok().out)
        got = shell.run(
            [f"{TREE}/bin/tapward", "--socket", w.socket, "attach", name,
             "--fd", "5", "--", qemu, "-M", "microvm,acpi=on,pic=off,pit=off",
             "-accel", "tcg", "-cpu", "max", "-m", "256", "-nodefaults",
             "-no-user-config",
             "-display", "none", "-no-reboot", "-serial", "stdio", "-kernel",
             kernels[0], "-initrd", make_initrd(w.folder, info), "-append",
             "console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check "
             f"tsc_early_khz={tsc_khz()}",
             "-netdev", "tap,id=n0,fd=5", "-device",
             f"virtio-net-device,netdev=n0,mac={info['guest_mac']}"],
            timeout=180)
        contains(got.out, "GUEST-DONE", repr(got))
        contains(got.out, "ALLOWED hello from the origin", repr(got))
        denied = [line for line in got.out.splitlines()
                  if line.startswith("DENIED")][0]
        contains(denied, "403 no rule names this host", repr(got))
        for word in ("LITERAL", "PING"):
            line = [line for line in got.out.splitlines()
                    if line.startswith(word)][0]
            assert line.endswith("1"), repr(got)
        w.audited(name, event="request", verdict="allow", rule="web")
        w.audited(name, event="request", verdict="deny", reason="no-rule")
        w.audited(name, event="packet", reason="packet-tcp")
        w.audited(name, event="packet", reason="packet-icmp")
