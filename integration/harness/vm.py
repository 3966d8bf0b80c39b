"""Worlds whose guests are real microVMs, started by `tapward run`."""
import atexit
import glob
import json
import os
import shutil
import subprocess
import tempfile

from . import hostile_guest, shell
from .claims import Skip, until
from .world import TREE, World

KERNEL = os.environ.get("TAPWARD_KERNEL", "build/kernel")
# A boot takes 3 s on an idle machine, and many times that on a busy one.
BOOT_S = 150

_images = {}


def store():
    """The folder of the tests' images, gone when they end."""
    if "folder" not in _images:
        _images["folder"] = tempfile.mkdtemp(prefix="tapward-test-images-")
        atexit.register(shutil.rmtree, _images["folder"], ignore_errors=True)
    return _images["folder"]


def image(tag="default", *packages):
    """Builds it from this machine's packages, once."""
    if not shutil.which("qemu-system-x86_64"):
        raise Skip("no QEMU")
    if not glob.glob(f"{KERNEL}/boot/vmlinuz-*"):
        raise Skip("no kernel in build/kernel: tools/check unpacks one")
    if tag not in _images:
        shell.run([f"{TREE}/bin/tapward", "image", "build", "--kernel", KERNEL,
                   "--tag", tag, *packages], timeout=300,
                  env=dict(os.environ, TAPWARD_IMAGES=store())).ok()
        _images[tag] = True
    return tag


POLICY = """\
[policy]
version = 1

[allow web]
host   = plain.example.com
scheme = http
"""


class VmWorld(World):
    def __init__(self, names=None, **kwargs):
        image()
        # A /dev/kvm under which no guest boots is no rarity in a VM.
        kwargs["more"] = kwargs.get("more", "") + "[vm]\naccelerator = tcg\n"
        super().__init__(names or {"plain.example.com": "10.201.0.10"},
                         **kwargs)
        self.policy = self.file("vm.ini", POLICY)
        self.env = dict(os.environ, TAPWARD_IMAGES=store())

    def cli(self, *argv, **kwargs):
        kwargs.setdefault("env", getattr(self, "env", None))
        return super().cli(*argv, **kwargs)

    def vm_run(self, *argv, **kwargs):
        """tapward run OPTIONS -- CMD, with the world's policy."""
        kwargs.setdefault("timeout", BOOT_S)
        return self.cli("run", "--policy", self.policy, *argv, **kwargs)

    def vm_start(self, *argv, **kwargs):
        """The same, going on; returns the Popen."""
        return subprocess.Popen(
            [f"{self.tree}/bin/tapward", "--socket", self.socket, "run",
             "--policy", self.policy, *argv], env=self.env,
            start_new_session=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)

    def hostile(self, name, *what):
        """A guest that was broken into (hostile_guest.py), as a Popen; its
        agent is stopped, and says nothing of its own any more."""
        self.cli("put", name, "--merge", hostile_guest.__file__,
                 "/srv/h.py").ok()
        told = len(self.audit(name, event="dns", host=hostile_guest.STOPPED))
        process = subprocess.Popen(
            [f"{self.tree}/bin/tapward", "--socket", self.socket, "exec", name,
             "--", "python3", "/srv/h.py", *what], env=self.env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        assert process.stdout.readline() == b"ready\n", process.communicate()
        process.stdin.write(b"go\n")
        process.stdin.flush()
        until(lambda: process.poll() is not None or told < len(self.audit(
            name, event="dns", host=hostile_guest.STOPPED)), 60,
              "the agent is stopped")
        return process

    def processes(self, *names):
        """Pids of this world's processes of these names."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/status", encoding="ascii") as f:
                    text = f.read()
            except OSError:
                continue
            name = text.split("\n")[0].split("\t")[1]
            uid = int(text.split("Uid:\t")[1].split()[0])
            if name in names and self.uid_first <= uid < self.uid_first + 4096:
                found.append(int(pid))
        return found

    def newborn(self):
        """tapward-vm as soon as it is there, under whatever name yet."""
        found = []
        path = f"/proc/{self.daemon.pid}/task/{self.daemon.pid}/children"
        with open(path, encoding="ascii") as f:
            children = f.read().split()
        for pid in children:
            try:
                with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                    name = f.read().strip()
            except OSError:
                continue
            if name.isdigit() or name == "tapward-vm":
                found.append(int(pid))
        return found

    def left(self):
        """What of virtual machines is still there."""
        what = [f"process {p}" for p in self.processes(
            "tapward-vm", "qemu-system-x86")]
        what += glob.glob(f"{self.folder}/state/vm/*")
        what += [p for base in glob.glob("/sys/fs/cgroup/*")
                 for p in glob.glob(f"{base}/**/tapward-vm.*", recursive=True)
                 if self.uid_first <= int(p.rsplit(".", 1)[1])
                 < self.uid_first + 4096]
        what += [f"peer {p}" for p in glob.glob(f"{self.folder}/run/peer/v.*")]
        return what

    def names(self):
        """The sandboxes that tapwardd knows."""
        return sorted(s["name"] for s in json.loads(
            self.cli("list", "--json").ok().out))

    def gone_but(self, name, seconds=5):
        """Nothing is left but the sandbox of this name and its machine."""
        until(lambda: self.names() == [name], seconds,
              f"only {name} is left: {self.names()}")
        until(lambda: len(self.processes("tapward-vm")) == 1, seconds,
              f"one machine is left: {self.left()}")

    def gone(self, seconds=5):
        """Nothing of any virtual machine is left, nor its sandbox."""
        until(lambda: not self.left() and
              "run-" not in self.cli("list").out, seconds,
              f"nothing is left: {self.left()} {self.cli('list').out}")


class VmSandbox:
    """A sandbox whose guest is a microVM; run() is a command in it, like
    harness.sandbox.Sandbox."""

    def __init__(self, world, policy, name, *more, tag="default"):
        self.world, self.name = world, name
        self.policy = world.file(f"{name}.ini", policy)
        self.store = dict(os.environ, TAPWARD_IMAGES=store())
        created = world.cli("create", name, "--policy", self.policy, "--image",
                            tag, "--json", *more, timeout=BOOT_S,
                            env=self.store).ok()
        self.info = json.loads(created.out)
        self.env = {}

    def run(self, argv, cwd=None, env=None, timeout=60):
        options = ["--workdir", cwd] if cwd else []
        for name, value in (env or {}).items():
            options += ["--env", f"{name}={value}"]
        return self.world.cli("exec", self.name, *options, "--", *argv,
                              timeout=timeout)

    def curl(self, *argv, **kwargs):
        return self.run(["curl", "-sS", "--max-time", "20", *argv], **kwargs)

    def put(self, path, to):
        self.world.cli("put", self.name, "--merge", path, to).ok()

    def get(self, path, to):
        self.world.cli("get", self.name, path, to).ok()

    def audited(self, **want):
        return self.world.audited(self.name, **want)
