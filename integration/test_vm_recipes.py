"""docs/recipes.md is true: its blocks are run, in one world."""
import os
import re
import shutil

from harness import book, shell
from harness.claims import Skip, claim, contains, equal
from harness.vm import BOOT_S, KERNEL, VmWorld, store
from harness.world import TREE

HERE = os.path.dirname(os.path.abspath(__file__))
# What each recipe prints last, when it works.
PRINTS = {
    "An image": "tools",
    "An untrusted script, without a network": "done\n",
    "`npm ci` and the tests of a repository, with a report": "# pass 1\n",
    "Vetting an MCP server": '{"name":"add","description":"Adds."}\n',
    "An agent's work, as a patch": "const total = 1 + 2\n",
    "Checking an agent's branch": "42 checks, 0 failed\n",
    "QEMU by hand": "1\n",
    "Firecracker by hand": "network device ",
    "Cloud Hypervisor by hand": "network device ",
    "libvirt": "1\n",
}

STAND_INS = ("firecracker", "jailer", "cloud-hypervisor")
# What libvirt-daemon-system adds to these files: without that user the driver
# does not start, and the package's services have no business in a test.
LIBVIRT_USER = {
    "passwd": "libvirt-qemu:x:64055:64055::/nonexistent:/usr/sbin/nologin\n",
    "group": "libvirt-qemu:x:64055:\n"}

_world = {}


def recipes():
    """{heading: its blocks}"""
    parts = re.split(r"^## (.*)\n", book.read("docs/recipes.md"), flags=re.M)[1:]
    return {heading: book.blocks_of(text)
            for heading, text in zip(parts[::2], parts[1::2])}


def world():
    if not _world:
        w = VmWorld()
        _world["w"], _world["cwd"] = w, f"{w.folder}/recipes"
        os.makedirs(f"{_world['cwd']}/bin")
        for name in STAND_INS:
            os.symlink(f"{HERE}/harness/standin_by_hand.py",
                       f"{_world['cwd']}/bin/{name}")
        for name in ("vmlinux", "root.squashfs"):
            w.file(f"recipes/{name}", "")
        for name, line in LIBVIRT_USER.items():
            with open(f"/etc/{name}", encoding="utf-8") as f:
                text = f.read()
            w.file(f"recipes/{name}", text if "libvirt-qemu:" in text
                   else text + line)
    return _world["w"]


def libvirt_host():
    """What a host with libvirt has, for one shell: its user; and a /dev/kvm that
    this user may open, else libvirt asks QEMU anew what it can, for a minute."""
    lines = [f"mount --bind {name} /etc/{name}" for name in LIBVIRT_USER]
    if os.path.exists("/dev/kvm"):
        lines += ["mknod -m 666 kvm c 10 232", "mount --bind kvm /dev/kvm"]
    return "; ".join(lines)


def run(text):
    w, cwd = world(), _world["cwd"]
    argv = ["bash", "-euo", "pipefail", "-c", text]
    if "virsh" in text:
        argv = ["unshare", "--mount", "sh", "-ec",
                f'{libvirt_host()}; exec "$@"', "sh", *argv]
    return shell.run(argv, cwd=cwd, timeout=2 * BOOT_S, env=dict(
        os.environ, JAILER=f"{cwd}/jailer",
        PATH=f"{cwd}/bin:{TREE}/bin:{os.environ['PATH']}",
        TAPWARD_SOCKET=w.socket, TAPWARD_IMAGES=store(),
        KERNEL=os.path.abspath(KERNEL)))


def register(heading):
    @claim(f"recipe: {heading}")
    def _():
        for tool in ("jq", "git", "node", "npm", "virsh"):
            if not shutil.which(tool):
                raise Skip(f"no {tool}")
        for block in recipes()[heading]:
            if block.is_run():
                got = run(block.text)
                equal(got.code, 0, repr(got))
        contains(got.out, PRINTS[heading], repr(got))
        world().gone()


@claim("recipes: each is run here, or says by what else")
def _():
    run_here = {heading for heading, blocks in recipes().items()
                if any(b.is_run() for b in blocks)}
    equal(run_here, set(PRINTS))
    return "elsewhere: " + ", ".join(set(recipes()) - run_here)


for _heading in PRINTS:
    register(_heading)


@claim("the world of the recipes ends and leaves nothing")
def _():
    w = world()
    w.close()
    equal(w.left(), [])
    _world.clear()
