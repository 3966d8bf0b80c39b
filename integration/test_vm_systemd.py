"""Debian 12's own kernel, 6.1, with systemd as PID 1 and cgroups of version 2.

There a chain that hangs on a device is gone with the device, and none can be
made before it; the machine that runs these tests may have another kernel. So
the tests of netfilter/ run in it, and the end-to-end claims that hang on what
a kernel does.
"""
import glob
import os
import re
import shutil

from harness import claims, debian_guest, shell
from harness.claims import claim, equal
from harness.debian_guest import DebianGuest, libraries
from harness.world import BUILD, TREE

HERE = os.path.dirname(os.path.abspath(__file__))
THERE = "/opt/tapward"
PACKAGES = ("ca-certificates", "curl", "dnsmasq-base", "dnsutils",
            "e2fsprogs", "iputils-ping", "netcat-openbsd", "nftables",
            "nginx-light", "openssl", "tcpdump")
UNITS = ("netns", "device", "ruleset", "ruleset_flood", "net_guest",
         "sandbox_net", "sandbox_mend")
# Patterns of labels, of modules whose names sort before this one's. Not all of
# them: emulation is six times slower.
CLAIMS = (
    "denials: [!p]*", "denials: p[!a]*",  # but the one that waits half a minute
    "tap: ", "names: row 26", "names: the world",
    "lifecycle: two sandboxes", "lifecycle: the supervisor is killed",
    "lifecycle: gate and supervisor", "lifecycle: a foreign",
    "lifecycle: the namespace holds", "lifecycle: a reload that tightens",
    "lifecycle: --ttl", "lifecycle: the world",
    "isolation: 100,000 UDP", "isolation: the world",
    "takeover: a taken gate")
# Before those of this file, which have the same words, are registered.
LABELS = [label for label, _ in claims.chosen(CLAIMS)]

_guest = {}


# A monitor that stands still: what is looked at is the group that it is in.
STAND_IN = b"#!/bin/sh\nexec sleep 1000\n"

CONFIG = b"""[daemon]
group = root
[ceiling]
policy = none
[limits]
vm-io-rate = 8MiB
vm-io-operations = 500
[vm]
accelerator = tcg
"""


def small_image(folder):
    """A store of images that start nothing, for a monitor that reads none."""
    for name in ("root", "kernel/boot", "kernel/lib/modules/0"):
        os.makedirs(f"{folder}/{name}")
    shutil.copy(shutil.which("busybox"), f"{folder}/kernel/boot/vmlinuz-0")
    debian_guest.guest.write(f"{folder}/kernel/lib/modules/0/modules.dep", "")
    shell.run([f"{TREE}/bin/tapward", "image", "build", "--from",
               f"dir:{folder}/root", "--kernel", f"{folder}/kernel"],
              env=dict(os.environ, TAPWARD_IMAGES=f"{folder}/store")).ok()
    return f"{folder}/store"


def is_program(path):
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


def guest():
    """With the installed tree, what was built for tests, and the tests."""
    if "g" in _guest:
        return _guest["g"]
    root = os.path.dirname(HERE)
    built = [path for path in glob.glob(f"{BUILD}/netfilter/test_*") +
             glob.glob(f"{BUILD}/integration/*") if is_program(path)]
    ours = [path for folder in ("bin", "sbin", "libexec/tapward")
            for path in glob.glob(f"{TREE}/{folder}/*") if is_program(path)]
    modules = {label.split(":")[0] for label in LABELS}
    # The headers have the numbers of messages, which the takeover sends.
    tests = [f"{HERE}/harness", f"{HERE}/run", *glob.glob(f"{root}/base/*.h"),
             *(f"{HERE}/test_{name}.py" for name in modules)]
    images = debian_guest.cached("small image", small_image) + "/store"
    _guest["g"] = DebianGuest(
        (*PACKAGES, *libraries(*ours, *built)),
        {f"{THERE}/tree": TREE, "/usr/bin/qemu-system-x86_64": STAND_IN,
         "/etc/tapward/tapward.ini": CONFIG, f"{THERE}/images": images,
         f"{THERE}/tapward.ini": b"[policy]\nversion = 1\n",
         **{f"{THERE}/build/{os.path.relpath(p, BUILD)}": p for p in built},
         **{f"{THERE}/{os.path.relpath(p, root)}": p for p in tests}})
    return _guest["g"]


@claim("it boots: 6.1, systemd is PID 1, cgroups are of version 2")
def _():
    g = guest()
    say = lambda script: g.run(["sh", "-c", script], timeout=120).ok().out
    equal(say("systemctl is-system-running --wait"), "running\n")
    equal(say("cat /proc/1/comm; stat -fc %T /sys/fs/cgroup"),
          "systemd\ncgroup2fs\n")
    version = say("uname -r").strip()
    assert version.startswith("6.1."), version
    return f"{version}, {g.boot_s:.0f} s"


@claim("there a chain of a device is gone with it: what these tests are for")
def _():
    rules = ("table netdev t { chain c { type filter hook ingress device d0 "
             "priority 0; policy drop; }; }")
    got = guest().run(["sh", "-ec", f"""
      ip netns add x
      x() {{ ip netns exec x "$@"; }}
      x nft '{rules}' 2>/dev/null && echo made before its device
      x ip link add d0 type veth peer name d1
      x nft '{rules}'
      x nft list chain netdev t c >/dev/null
      x ip link del d0
      x nft list chain netdev t c >/dev/null 2>&1 && echo still there
      ip netns del x; echo done"""]).ok()
    equal(got.out, "done\n", repr(got))


def unit(name):
    def check():
        got = guest().run([f"{THERE}/build/netfilter/test_{name}"],
                          timeout=240).ok()
        passed = re.search(r"\[  PASSED  \] (\d+) test", got.both)
        assert passed and " SKIPPED " not in got.both, repr(got)
        return f"{passed.group(1)} tests"
    claim(f"root.{name}")(check)


for unit_name in UNITS:
    unit(unit_name)


RESULT = re.compile(r"(ok|FAILED|skipped) +(.*?)(?: \([0-9.]+ s\)|$)")


class Inside:
    """integration/run, in the guest; what it prints is read as it is asked
    for."""

    def __init__(self):
        argv = [f"{THERE}/integration/run", "--tree", f"{THERE}/tree",
                "--build", f"{THERE}/build"]
        for pattern in CLAIMS:
            argv += ["--only", pattern]
        self.lines = guest().lines(argv, timeout=900)
        self.results = {}  # label: [word, all that was printed of it]
        self.last = [None, ""]

    def read(self):
        """One line; False at the end."""
        line = next(self.lines, None)
        if line is None:
            return False
        found = RESULT.match(line.rstrip())
        if found:
            self.last = [found[1], ""]
            self.results[found[2]] = self.last
        self.last[1] += line
        return True

    def wait(self, label):
        """How this claim ended: its word, and its text."""
        while label not in self.results:
            if not self.read():
                raise AssertionError(f"it was not run there: {self.last[1]}")
        got = self.results[label]
        # Why it failed follows, up to the next one.
        while got[0] == "FAILED" and got is self.last and self.read():
            pass
        return got

    def finish(self):
        """Then the guest takes other commands."""
        while self.read():
            pass


def inside():
    if "inside" not in _guest:
        _guest["inside"] = Inside()
    return _guest["inside"]


def end_to_end(label):
    def check():
        word, text = inside().wait(label)
        equal(word, "ok", text)
    claim(label)(check)


for inner_label in LABELS:
    end_to_end(inner_label)


@claim("a machine's group is below the service's own; its limits stand in it, and it goes with the service")
def _():
    inside().finish()
    got = guest().run(["sh", "-ec", f"""
      truncate -s 64M /disk; mke2fs -q -t ext4 /disk
      mkdir -p /var/lib/tapward; mount -o loop /disk /var/lib/tapward
      systemd-run -q --unit=tapwardd -p Type=notify -p Delegate=yes \\
        {THERE}/tree/sbin/tapwardd --foreground
      export PATH={THERE}/tree/bin:$PATH TAPWARD_IMAGES={THERE}/images
      tapward create one --policy {THERE}/tapward.ini --image default \\
        --disk 8M --memory 256M >/dev/null 2>&1 &
      n=0
      until tapward show one --json 2>/dev/null | grep -q booting; do
        n=$((n + 1)); [ $n -lt 300 ]; done
      group=/sys/fs/cgroup$(cut -d: -f3 /proc/$(pgrep -x sleep)/cgroup)
      echo ${{group%.*}}
      cd $group
      for f in memory.max cpu.max pids.max io.max; do cat $f; done
      tapward show one --json | grep -o cgroup-v.
      cd /
      systemctl stop tapwardd
      ls -d $group /sys/fs/cgroup/system.slice/tapwardd.service 2>&1 |
        grep -v 'No such' || echo gone
      umount /var/lib/tapward; rm -r /var/lib/tapward /disk"""],
                      timeout=120).ok()
    lines = got.out.splitlines()
    equal(lines[:4], [
        "/sys/fs/cgroup/system.slice/tapwardd.service/tapward-vm",
        str((256 + 768) << 20), "100000 100000", "512"], repr(got))
    words = set(lines[4].split()[1:])
    equal(words, {"rbps=8388608", "wbps=8388608", "riops=500", "wiops=500"})
    equal(lines[5:], ["cgroup-v2", "gone"], repr(got))


@claim("the guest is left as it was found: no device, namespace or process")
def _():
    word, text = inside().wait("leaks: the tests leave nothing behind")
    equal(word, "ok", text)
    guest().close()
    _guest.clear()
