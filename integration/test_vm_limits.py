"""What a microVM may take of its host: said in `show`, and kept."""
import json
import os
import re
import time

from harness.claims import claim, contains, equal
from harness.vm import VmWorld

LIMITS = """
[limits]
vm-io-rate       = 8MiB
vm-io-operations = 500
vm-processes     = 200
vm-console       = 4KiB
sandboxes        = 3
"""
RATE = 8 << 20
OPERATIONS = 500

_world = {}


def machine():
    """One with a disk, in a world of these limits."""
    if not _world:
        w = VmWorld(more=LIMITS)
        name = f"limits{w.id}"
        w.cli("create", name, "--policy", w.policy, "--image", "default",
              "--disk", "96M", "--memory", "256M", timeout=150).ok()
        _world.update(w=w, name=name)
    return _world["w"], _world["name"]


def show(w, name):
    return json.loads(w.cli("show", name, "--json").ok().out)["vm"]


def says(w, name, script, timeout=90):
    return w.cli("exec", name, "--", "sh", "-c", script,
                 timeout=timeout).ok().out


@claim("show says each limit of a machine")
def _():
    w, name = machine()
    vm = show(w, name)
    want = {"cpus": 1, "memory_mib": 256, "disk_mib": 96, "io_bytes": RATE,
            "io_operations": OPERATIONS, "processes": 200,
            "console_bytes": 4096}
    equal({key: vm.get(key) for key in want}, want)


def groups(pid):
    """{controller: folder} of the control groups of a process."""
    found = {}
    with open(f"/proc/{pid}/cgroup", encoding="ascii") as f:
        for line in f:
            _, names, path = line.rstrip("\n").split(":", 2)
            for name in names.split(","):
                found[name] = path
    return found


def group_file(pid, controller, name):
    with open("/proc/self/mountinfo", encoding="ascii") as f:
        for line in f:
            fields, _, rest = line.partition(" - ")
            kind, _, options = rest.split(" ", 2)
            if kind == "cgroup" and controller in re.split(r"[,\s]", options):
                place = fields.split(" ")[4]
                break
    with open(f"{place}{groups(pid)[controller]}/{name}",
              encoding="ascii") as f:
        return int(f.read())


@claim("the monitor is in the groups that keep its memory, CPU and processes")
def _():
    w, name = machine()
    kind = show(w, name)["limits"]
    pid = w.processes("qemu-system-x86")[0]
    if kind != "cgroup-v1":
        return f"left to vm_systemd: this host has {kind}"
    contains(groups(pid)["memory"], "/tapward-vm.")
    equal(group_file(pid, "memory", "memory.limit_in_bytes"),
          (256 + 768) << 20)
    equal(group_file(pid, "cpu", "cpu.cfs_quota_us"), 100000)
    equal(group_file(pid, "pids", "pids.max"), 200)
    return kind


@claim("a disk moves vm-io-rate bytes a second and no more, and who waits for it waits alone")
def _():
    w, name = machine()
    # The bytes, not what the guest's cache takes of them.
    script = ("cd /; begin=$(date +%s%N); dd if=/dev/zero of=f bs=1M count=40 "
              "oflag=direct 2>&1; echo took $(($(date +%s%N) - begin))")
    began = time.monotonic()
    out = says(w, name, script)
    took = int(out.rpartition("took ")[2]) / 1e9
    rate = (40 << 20) / took
    # A tenth of a second's worth may go at once.
    assert RATE * 0.5 < rate < RATE * 1.15, out
    equal(says(w, name, "rm /f; echo served"), "served\n")
    return (f"{rate / (1 << 20):.1f} MiB/s of 8, {took:.1f} s of "
            f"{time.monotonic() - began:.1f} s")


@claim("small requests to a disk are counted one by one: vm-io-operations a second")
def _():
    w, name = machine()
    out = says(w, name, "cd /; dd if=/dev/zero of=f bs=4k count=1 2>/dev/null; "
               "begin=$(date +%s%N); dd if=/dev/zero of=f bs=512 count=1500 "
               "oflag=direct conv=notrunc 2>/dev/null; "
               "echo took $(($(date +%s%N) - begin)); rm f")
    took = int(out.rpartition("took ")[2]) / 1e9
    assert 1500 / took < OPERATIONS * 1.25, out
    return f"{1500 / took:.0f} a second of {OPERATIONS}"


@claim("vm-console bytes of the console are kept, its last ones")
def _():
    w, name = machine()
    says(w, name, "i=0; while [ $i -lt 300 ]; do i=$((i + 1)); "
         "echo line $i of what nobody reads; done >/dev/ttyS0")
    w.cli("stop", name).ok()
    w.gone(30)
    lines = show(w, name)["console"]
    assert sum(len(line) + 1 for line in lines) <= 4096, lines
    assert any("line 300 of" in line for line in lines), lines
    assert not any(re.search(r"line 1\b", line) for line in lines), lines


@claim("one sandbox more than [limits] sandboxes is refused with that reason, and made when one has gone")
def _():
    w, name = machine()
    more = [f"more{w.id}-{n}" for n in range(3)]
    for one in more[:2]:
        w.cli("create", one, "--policy", w.policy).ok()
    got = w.cli("create", more[2], "--policy", w.policy)
    assert got.code != 0, repr(got)
    contains(got.err, "[limits] sandboxes")
    w.cli("rm", more[0]).ok()
    w.cli("create", more[2], "--policy", w.policy).ok()


@claim("the world of the limits ends and leaves nothing")
def _():
    w, _ = machine()
    w.close()
    equal(w.left(), [])
    assert not os.path.exists(w.folder)
    _world.clear()
