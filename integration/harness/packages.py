"""Two builds of the Debian packages of one tree: one, and as the next version."""
import os
import shutil
import subprocess
import tempfile

from . import shell
from .claims import Skip, equal
from .world import BUILD, close_at_end, closed

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
THIS, NEXT = "0.1.0", "0.1.1"
NAMES = ("tapward", "tapward-guest")
ARCH = shell.run(["dpkg", "--print-architecture"]).out.strip()

_state = {}


class Folder:
    """For the packages, until the tests end."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="tapward-packages-")
        close_at_end(self)

    def close(self):
        closed(self)
        _state.clear()
        shutil.rmtree(self.path)


def built():
    """The folders of the two."""
    if "built" in _state:
        return _state["built"]
    for program in ("dpkg-buildpackage", "dh", "lintian"):
        if not shutil.which(program):
            raise Skip(f"{program} is not here (debhelper, lintian)")
    _state["folder"] = Folder()
    builds = {}
    for name, more in (("one", []), ("next", ["--version", NEXT])):
        out = f"{_state['folder'].path}/{name}"
        env = {**os.environ, "DEB_BUILD_OPTIONS": "noautodbgsym"}
        builds[out] = subprocess.Popen(
            [f"{ROOT}/tools/package", "--build", BUILD, "--out", out, *more],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)
    for out, process in builds.items():
        _, err = process.communicate(timeout=180)
        equal(process.returncode, 0, f"{out}: {err.decode()}")
    _state["built"] = list(builds)
    return _state["built"]


def debs(place):
    return sorted(f"{place}/{f}" for f in os.listdir(place) if f.endswith(".deb"))


def all_debs():
    return [deb for place in built() for deb in debs(place)]


def apt_argv(version, *options):
    """What they depend on is there; the machine has no network."""
    return ["apt-get", "-qq", "-y", "--no-install-recommends", *options,
            "install", *(f"/shared/{name}_{version}_{ARCH}.deb"
                         for name in NAMES)]
