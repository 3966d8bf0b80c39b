"""The Debian packages and the units, in a boot of this machine's root."""
import io
import json
import os
import signal
import subprocess
import tarfile

from harness import forbidden, service, shell
from harness.boot import Boot
from harness.claims import claim, contains, equal, lacks, until
from harness.packages import ARCH, ROOT, THIS, built, debs
from harness.service import (BROKER, UNIT, config, curl, drop_in, gate_pid,
                             role_pid, status)
from harness.world import TREE

UNITS = f"{TREE}/lib/systemd/system"
# Which the threshold of systemd-analyze takes in tenths.
SCORES = {UNIT: 5.8, BROKER: 1.5}
SUPERVISOR_FORBIDS = [
    "RestrictAddressFamilies packet", "RestrictAddressFamilies vsock",
    "RestrictNamespaces user", "RestrictNamespaces cgroup", "RestrictRealtime",
    "RestrictSUIDSGID", "LockPersonality", "SystemCallFilter clock",
    "SystemCallFilter debug", "SystemCallFilter keyring",
    "SystemCallFilter module", "SystemCallFilter raw-io",
    "SystemCallFilter reboot", "SystemCallFilter swap",
    "SystemCallFilter sethostname", "CapabilityBoundingSet nice",
    "NoNewPrivileges", "AmbientCapabilities"]

_state = {}


def boot():
    if "boot" not in _state:
        b = Boot()
        service.prepare(b.shared)
        _state["boot"] = b
    return _state["boot"]


def contents(deb):
    """What is in it: names, modes, times and bytes."""
    result = {}
    for what in ("--ctrl-tarfile", "--fsys-tarfile"):
        tar = subprocess.run(["dpkg-deb", what, deb], check=True,
                             capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(tar)) as members:
            for m in members:
                body = members.extractfile(m).read() if m.isfile() else m.linkname
                result[what, m.name] = (m.type, m.mode, m.mtime, m.uid, m.gid, body)
    return result


@claim("two builds of the packages differ in their version only, and lintian has nothing to say")
def _():
    sets = []
    for place in built():
        equal(len(debs(place)), 2, f"packages in {place}")
        sets.append([contents(deb) for deb in debs(place)])
    for one, following in zip(*sets):
        equal(sorted(one), sorted(following), "names")
        differ = {os.path.basename(key[1]) for key, what in one.items()
                  if what != following[key]}
        assert differ <= {"changelog.gz", "control", "md5sums"}, differ
    with open(f"{ROOT}/tools/packages", encoding="ascii") as f:
        wanted = {line.split()[1] for line in f if line.startswith("build\t")}
    with open(f"{ROOT}/packaging/debian/control", encoding="ascii") as f:
        named = f.read().split("Build-Depends:")[1].split("Standards")[0]
    # What is in build-essential need not be named.
    equal({p.strip() for p in named.split(",")} - {"debhelper-compat (= 13)"},
          wanted - {"gcc", "libc6-dev", "linux-libc-dev"}, "Build-Depends")
    got = shell.run(["lintian", "--allow-root", "--fail-on", "error,warning",
                     *debs(built()[0])], timeout=120)
    equal((got.code, got.out), (0, ""), repr(got))


@claim("systemd-analyze verify says nothing about the units; the broker's exposure is 1.5 at most, the supervisor's 5.8")
def _():
    names = sorted(os.listdir(UNITS))
    got = shell.run(["systemd-analyze", "verify",
                     *(f"{UNITS}/{name}" for name in names)],
                    env={**os.environ, "MANPATH": f"{TREE}/share/man",
                         "SYSTEMD_UNIT_PATH": f"{UNITS}:"})
    equal((got.code, got.both), (0, ""), repr(got))
    lines = []
    for unit, most in SCORES.items():
        score = shell.run(["systemd-analyze", "security", "--offline=yes",
                           f"--threshold={most * 10:.0f}", "--no-pager",
                           f"{UNITS}/{unit}"])
        equal(score.code, 0, score.out[-200:])
        lines.append(score.out.strip().splitlines()[-1].lstrip("→ "))
    return "; ".join(lines)


service.register(boot, service.installs, service.serves_members)


@claim("what the supervisor's unit forbids is refused when it is tried")
def _():
    out = forbidden.probe(boot(), UNIT, SUPERVISOR_FORBIDS)
    lacks(out, "OPEN", out)
    equal(out.count("shut"), len(SUPERVISOR_FORBIDS), out)
    # As many as the unit lists, or fewer where the container has fewer.
    count = bin(int(out.split("CapBnd ")[1].split()[0], 16)).count("1")
    assert count <= 13, out
    return f"{out.count('shut')} attempts"


@claim("each directive of the broker's unit holds: what it forbids is refused when it is tried")
def _():
    with open(f"{UNITS}/{BROKER}", encoding="utf-8") as f:
        equal(forbidden.untried(f.read(), forbidden.TRIES), set())
    out = forbidden.probe(boot(), BROKER, forbidden.TRIES,
                          ["BindReadOnlyPaths=/usr/bin/python3 /opt/forbidden.py"])
    lacks(out, "OPEN", out)
    equal(out.count("shut"), len(forbidden.TRIES), out)
    contains(out, "CapBnd 0000000000000000")
    return f"{out.count('shut')} attempts"


service.register(boot, service.equips)


@claim("a reload takes good files, and refuses bad ones with their line")
def _():
    b = boot()
    old, good = status(b)["pid"], config(b)
    b.run(["systemctl", "reload", "tapward"], timeout=30).ok()
    for name, text, line in (
            ("tapward.ini", good + "bogus = 1\n", good.count("\n") + 1),
            ("ceiling.ini", "[policy]\nversion = 1\nnonsense = 1\n", 3)):
        b.file("/etc/tapward/tapward.ini", good.replace(
            "policy = none", "policy = /etc/tapward/ceiling.ini"))
        b.file(f"/etc/tapward/{name}", text)
        got = b.run(["systemctl", "reload", "tapward"], timeout=30)
        assert got.code != 0, f"{name}: a bad file was taken"
        contains(b.journal(UNIT)[-2000:], f"/etc/tapward/{name}:{line}:")
        contains(curl(b, "vault").out, "origin")
    b.file("/etc/tapward/tapward.ini", good)
    b.run(["systemctl", "reload", "tapward"], timeout=30).ok()
    equal(status(b)["pid"], old)


@claim("the journal has what happened by an id and by its sandbox, and says what to do")
def _():
    b = boot()

    def told(*match, form="json"):
        return b.run(["journalctl", "--no-pager", "-o", form, "-u", "tapward", "-x",
                      *match]).ok().out

    refused = [json.loads(r) for r in told("TAPWARD_EVENT=reload-refused").splitlines()]
    contains(refused[-1]["MESSAGE"], "/etc/tapward/ceiling.ini:3:")
    equal((refused[-1]["PRIORITY"], len(refused[-1]["MESSAGE_ID"])), ("3", 32))
    made = [json.loads(r) for r in told("TAPWARD_SANDBOX=ci").splitlines()]
    equal(made[0]["TAPWARD_EVENT"], "sandbox-created")
    heads = told("TAPWARD_EVENT=audit-head", form="cat")
    contains(heads, "head=")
    b.file("/run/heads", heads)
    contains(b.run(["tapward", "log", "--verify", "--anchor",
                    "/run/heads"]).ok().out, "anchors are of these records")
    # Of the catalog, which the package brings and systemd takes up.
    contains(told("TAPWARD_EVENT=reload-refused", form="short"),
             "What it said before stays in force.")
    return f"{len(refused)} refused, {len(made)} of one sandbox"


service.register(boot, service.restarts_broker, service.stops_broker,
                 service.restarts)


@claim("the watchdog replaces a hung dialler, broker, recorder and its gate")
def _():
    b = boot()
    drop_in(b, UNIT, "[Service]\nWatchdogSec=8\n")
    b.run(["systemctl", "restart", "tapward"], timeout=60).ok()
    for role in ("dialler", "broker", "recorder"):
        old = role_pid(b, role)
        main = b.pid(UNIT)
        assert old, f"no {role}"
        b.run(["kill", f"-{int(signal.SIGSTOP)}", str(old)]).ok()
        until(lambda: role_pid(b, role) not in (0, old), 20,
              f"another {role}: {b.journal(UNIT)[-1500:]}")
        told = b.unit(UNIT, "WatchdogTimestampMonotonic")
        until(lambda: b.unit(UNIT, "WatchdogTimestampMonotonic") != told, 20,
              "a round in which all answer")
        equal(b.pid(UNIT), main, f"the supervisor went on: {b.journal(UNIT)[-2500:]}")
    old = gate_pid(b, "tapward-watchdog")
    b.run(["kill", f"-{int(signal.SIGSTOP)}", str(old)]).ok()
    until(lambda: gate_pid(b, "tapward-watchdog") not in (0, old), 20,
          "another gate")
    until(lambda: "origin" in curl(b, "vault").out, 15, "a request")


service.register(boot, service.upgrades, service.downgrades)


def older(b):
    """A package of an older version, which notes other things of a sandbox."""
    deb = f"{b.shared}/tapward_{THIS}_{ARCH}.deb"
    tree = f"{b.folder}/older"
    shell.run(["dpkg-deb", "-R", deb, tree]).ok()
    for name, old, new in (
            ("control", f"Version: {THIS}", "Version: 0.0.9"),
            ("control", f"(= {THIS})", f"(>= {THIS})"),
            ("preinst", '= "tapward-state 2"', '= "tapward-state 1"')):
        with open(f"{tree}/DEBIAN/{name}", "r+", encoding="utf-8") as f:
            text = f.read()
            contains(text, old, name)
            f.seek(0)
            f.write(text.replace(old, new))
            f.truncate()
    shell.run(["dpkg-deb", "-Znone", "-b", tree, f"{b.shared}/older.deb"]).ok()


@claim("a downgrade that could not take the sandboxes up is refused and says why, and nothing is touched")
def _():
    b = boot()
    older(b)
    before = gate_pid(b, "ci"), b.pid(BROKER)
    got = b.run(["apt-get", "-qq", "-y", "--allow-downgrades", "install",
                 "/shared/older.deb"], timeout=120)
    assert got.code != 0, repr(got)
    contains(got.both, f"was made by version {THIS}")
    contains(got.both, "nothing was changed. End the sandboxes")
    equal(b.sh("dpkg-query -W -f '${Status} ${Version}' tapward").out,
          f"install ok installed {THIS}")
    until(lambda: status(b) is not None, 20, "the service answers")
    equal(gate_pid(b, "ci"), before[0], "its gate")
    contains(curl(b, "vault").out, "origin")


service.register(boot, service.leaves)


@claim("the container is gone with all that was in it")
def _():
    _state.pop("boot").close()
