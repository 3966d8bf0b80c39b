"""A boot of this machine's root with systemd as process 1, in a container.

What it writes is in memory and gone with it; its network is its own.
"""
import os
import signal
import subprocess
import tempfile

from . import shell
from .claims import Skip, until
from .machine import Machine
from .world import close_at_end, closed

# / itself is refused as an image, a bind mount of it is not. Its own mount
# namespace, so that nothing is left of that.
START = """\
mount --make-rprivate / && mkdir -p "$1/root" && mount --bind / "$1/root" &&
exec systemd-nspawn --quiet --boot --directory="$1/root" --volatile=overlay \
  --private-network --register=no --keep-unit --console=pipe \
  --system-call-filter=@memlock \
  --link-journal=no --machine="$2" --bind="$1/shared:/shared" \
  systemd.unit=basic.target
"""


class Boot(Machine):
    """shared: a folder of this machine that the container has at /shared."""

    def __init__(self):
        if not os.path.exists("/usr/bin/systemd-nspawn"):
            raise Skip("systemd-nspawn is not here (package systemd-container)")
        self.folder = tempfile.mkdtemp(prefix="tapward-boot-")
        self.shared = f"{self.folder}/shared"
        os.mkdir(self.shared)
        os.chmod(self.shared, 0o755)
        self.log = f"{self.folder}/log"
        close_at_end(self)
        self.process = shell.start(
            ["unshare", "--mount", "sh", "-ec", START, "-", self.folder,
             f"twt{os.getpid() % 100000}"], self.log)
        self.leader = until(self.find_leader, 20, "systemd is started")
        until(lambda: self.run(["systemctl", "is-active", "basic.target"]).code
              == 0, 60, "the boot is over")
        # The host's says that nothing may be started by a package.
        self.run(["rm", "-f", "/usr/sbin/policy-rc.d"]).ok()

    def find_leader(self):
        """systemd-nspawn's child: process 1 there."""
        if self.process.poll() is not None:
            with open(self.log, encoding="utf-8", errors="replace") as f:
                raise AssertionError(f"the boot ended: {f.read()[-2000:]}")
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(path, encoding="ascii") as f:
            children = f.read().split()
        for child in children:
            with open(f"/proc/{child}/comm", encoding="ascii") as f:
                if f.read().strip() == "systemd":
                    return int(child)
        return None

    def argv(self, argv):
        return ["nsenter", f"--target={self.leader}", "--mount", "--uts",
                "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd",
                "env", "-i", "HOME=/root", "LANG=C.UTF-8",
                "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *argv]

    def run(self, argv, timeout=60):
        return shell.run(self.argv(argv), timeout=timeout)

    def close(self):
        closed(self)
        if self.process.poll() is None:
            try:
                # SIGRTMIN+4 is poweroff; a container's end needs less.
                os.kill(self.leader, signal.SIGKILL)
            except ProcessLookupError:
                pass
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                pass
        shell.stop(self.process)
        shell.run(["rm", "-rf", self.folder])
