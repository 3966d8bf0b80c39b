"""Firecracker and Cloud Hypervisor, by stand-ins that speak their APIs and run
QEMU: neither program is in Debian, and both need KVM."""
import json
import os
import shutil

from harness.claims import Skip, claim, contains, equal
from harness.vm import VmWorld

PLACE = "/usr/local/bin"
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness",
                      "standin.py")


class StandIns:
    """Both programs, and a /dev/kvm that can be opened, while it is open."""

    def __enter__(self):
        self.made = []
        for name in ("firecracker", "cloud-hypervisor"):
            path = f"{PLACE}/{name}"
            if shutil.which(name):
                raise Skip(f"{name} is installed: its own tests are to be run")
            shutil.copy(SOURCE, path)
            os.chmod(path, 0o755)
            self.made.append(path)
        if not os.path.exists("/dev/kvm"):
            os.mknod("/dev/kvm", 0o600 | 0o020000, os.makedev(1, 3))
            self.made.append("/dev/kvm")
        return self

    def __exit__(self, kind, value, trace):
        for path in self.made:
            os.unlink(path)


def drive(driver):
    """Boots, runs a command, powers off; returns what `show` says then."""
    with StandIns(), VmWorld() as w:
        name = f"m{w.id}"
        w.cli("create", name, "--policy", w.policy, "--image", "default",
              "--driver", driver, "--disk", "64M", "--memory", "512M",
              timeout=180).ok()
        vm = json.loads(w.cli("show", name, "--json").ok().out)["vm"]
        equal((vm["driver"], vm["disk_mib"]), (driver, 64))
        got = w.cli("exec", name, "--", "sh", "-c",
                    "echo in the guest; df -m / | tail -1; exit 5", timeout=120)
        equal(got.code, 5, repr(got))
        contains(got.out, "in the guest")
        w.cli("stop", name).ok()
        w.gone(30)
        return json.loads(w.cli("show", name, "--json").ok().out)["vm"]


@claim("firecracker: its API in its order, the tap by name, the agent by vsock")
def _():
    vm = drive("firecracker")
    calls = [line for line in vm["console"] if line.startswith("PUT ")]
    equal(calls, ["PUT /machine-config", "PUT /boot-source", "PUT /drives/root",
                  "PUT /drives/disk", "PUT /network-interfaces/eth0",
                  "PUT /vsock", "PUT /actions"])


@claim("cloud-hypervisor: its API in its order, the tap as a descriptor")
def _():
    vm = drive("cloud-hypervisor")
    calls = [line for line in vm["console"] if line.startswith("PUT ")]
    equal(calls, ["PUT /api/v1/vm.create", "PUT /api/v1/vm.add-net",
                  "PUT /api/v1/vm.boot"])


@claim("a monitor that is not installed, or has no KVM, is told as what it is")
def _():
    with VmWorld() as w:
        got = w.vm_run("--driver", "firecracker", "--", "true")
        equal(got.code, 125, repr(got))
        contains(got.err, "firecracker is not installed")
        got = w.vm_run("--require-kvm", "--", "true")
        if os.path.exists("/dev/kvm"):
            return
        equal(got.code, 125, repr(got))
        contains(got.err, "no KVM that can be used")
        w.gone()
