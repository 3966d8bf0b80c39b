"""The Debian packages and the units on Debian's own kernel with systemd as
process 1, where nothing is a container's. test_service.py has the rest."""
import re
import shutil
import tempfile

from harness import packages, service, shell
from harness.claims import claim, equal
from harness.debian_guest import DebianGuest

# What apt and the steps run there.
PACKAGES = ("apt", "curl", "debianutils", "diffutils", "dnsmasq-base", "dpkg",
            "gzip", "hostname", "init-system-helpers", "libc-bin", "login",
            "nginx-light", "openssl", "passwd", "perl-base", "tar")

_state = {}


def depends():
    """What the packages of the tree depend on, beside each other."""
    names = set()
    for deb in packages.debs(packages.built()[0]):
        got = shell.run(["dpkg-deb", "-f", deb, "Depends"]).ok()
        # Of those that would do the first.
        names |= {re.split(r"[(|]", part)[0].strip()
                  for part in got.out.split(",")}
    return sorted(names - {"", *packages.NAMES})


def guest():
    if "guest" not in _state:
        folder = tempfile.mkdtemp(prefix="tapward-test-service-")
        try:
            service.prepare(folder)
            _state["guest"] = DebianGuest((*PACKAGES, *depends()),
                                          {"/shared": folder})
        finally:
            shutil.rmtree(folder)
    return _state["guest"]


@claim("it boots: 6.1, systemd is process 1")
def _():
    g = guest()
    equal(g.sh("systemctl is-system-running --wait; cat /proc/1/comm",
               timeout=120).out, "running\nsystemd\n")
    return f"{g.sh('uname -r').out.strip()}, {g.boot_s:.0f} s"


service.register(guest, service.installs, service.serves_members, service.equips,
                 service.restarts_broker, service.restarts, service.upgrades,
                 service.leaves)


@claim("the guest is gone")
def _():
    guest().close()
    _state.clear()
