#!/usr/bin/python3
"""The command lines of Firecracker, its jailer and Cloud Hypervisor, as its
name says, for those who start them by hand; standin.py has their APIs.

An option or a field that the documents do not have is refused, and each file
that is named must be there. Then the tap is opened as they open it, by name and
as the jailer's user or by its descriptor, and given to a QEMU that says which
network device it has, and ends. The jailer makes its device files and changes
root; here it changes the folder only, since QEMU is not in it.
"""
import argparse
import json
import os
import re
import stat
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import standin  # noqa: E402

# Firecracker's docs/getting-started.md: one of each, or a list of them.
SECTIONS = {"machine-config": "/machine-config", "boot-source": "/boot-source",
            "drives": "/drives/*", "vsock": "/vsock",
            "network-interfaces": "/network-interfaces/*"}


def refuse(text):
    sys.exit(f"{standin.NAME}: {text}")


def show_device(tap, mac):
    """What QEMU has on this tap."""
    os.set_inheritable(tap, True)
    got = subprocess.run(
        ["/usr/bin/qemu-system-x86_64", "-M", "microvm", "-accel", "tcg", "-m",
         "64", "-nodefaults", "-display", "none", "-S", "-qmp", "stdio",
         "-netdev", f"tap,id=n0,fd={tap}", "-device",
         f"virtio-net-device,netdev=n0,mac={mac}"], close_fds=False,
        input='{"execute":"qmp_capabilities"}{"execute":"query-rx-filter"}'
              '{"execute":"quit"}', text=True, check=True,
        stdout=subprocess.PIPE, timeout=60)
    print("network device", re.search(r'"main-mac": "([0-9a-f:]+)"',
                                      got.stdout)[1])


def firecracker(parser):
    parser.add_argument("--config-file", required=True)
    parser.add_argument("--no-api", action="store_true", required=True)
    with open(parser.parse_args().config_file, encoding="ascii") as f:
        config = json.load(f)
    for section, value in config.items():
        if section not in SECTIONS:
            refuse(f"unknown section {section}")
        required, optional = standin.FIRECRACKER[SECTIONS[section]]
        for part in value if isinstance(value, list) else [value]:
            if required - part.keys() or part.keys() - required - optional:
                refuse(f"{section}: {sorted(part)}")
    for path in (config["boot-source"]["kernel_image_path"],
                 *(d["path_on_host"] for d in config["drives"])):
        with open(path, "rb"):
            pass
    net = config["network-interfaces"][0]
    show_device(standin.tap_by_name(net["host_dev_name"], "dev/net/tun"),
                net["guest_mac"])


def jailer(parser):
    for name in ("id", "exec-file", "uid", "gid", "netns"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--chroot-base-dir", default="/srv/jailer")
    parser.add_argument("rest", nargs="+")
    args = parser.parse_args()
    if not re.fullmatch("[A-Za-z0-9-]{1,64}", args.id):
        refuse(f"--id {args.id}")
    name = os.path.basename(args.exec_file)
    os.chdir(f"{args.chroot_base_dir}/{name}/{args.id}/root")
    os.makedirs("dev/net")
    os.mknod("dev/net/tun", 0o600 | stat.S_IFCHR, os.makedev(10, 200))
    os.chown("dev/net/tun", int(args.uid), int(args.gid))
    os.execvp("nsenter", ["nsenter", f"--net={args.netns}", "setpriv",
                          f"--reuid={args.uid}", f"--regid={args.gid}",
                          "--clear-groups", "--inh-caps=-all",
                          args.exec_file, *args.rest])


def cloud_hypervisor(parser):
    for name in ("kernel", "disk", "cmdline", "cpus", "memory", "net"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("serial", "console"):
        parser.add_argument(f"--{name}", choices=("off", "null", "tty"))
    args = parser.parse_args()
    pairs = {}
    for option, known in (("disk", "path readonly"), ("cpus", "boot max"),
                          ("memory", "size shared"), ("net", "fd mac tap")):
        pairs[option] = dict(word.split("=", 1) for word in
                             getattr(args, option).split(","))
        strange = pairs[option].keys() - set(known.split())
        if strange:
            refuse(f"--{option}: unknown {sorted(strange)}")
    for path in (args.kernel, pairs["disk"]["path"]):
        with open(path, "rb"):
            pass
    show_device(int(pairs["net"]["fd"]), pairs["net"]["mac"])


if __name__ == "__main__":
    {"firecracker": firecracker, "jailer": jailer,
     "cloud-hypervisor": cloud_hypervisor}[standin.NAME](
        argparse.ArgumentParser(prog=standin.NAME, allow_abbrev=False))
