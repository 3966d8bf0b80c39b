"""Credentials that a helper program on the host says, run as nobody else."""
import os
import re

from harness import canary
from harness.claims import claim, contains, equal, lacks, until
from harness.origins import HeadsOrigin
from harness.world import World

ORIGIN = "10.201.0.32"
NAMES = {f"{name}.example.com": ORIGIN for name in ("raw", "git", "slow")}

POLICY = "[policy]\nversion = 1\n" + "".join(f"""
[allow {name}]
host       = {name}.example.com
credential = {name}
""" for name in ("raw", "git", "slow"))

CREDENTIAL = """
[credential {name}]
kind     = exec
command  = {command}
protocol = {protocol}
host     = {name}.example.com
apply    = {apply}
grant    = ci-* user:root
"""

# What it runs as, what it can see, and what it was given.
RAW = """#!/bin/sh
cat {secret} 2>/dev/null && exit 9
[ -e /proc/self/fd/5 ] && exit 8
[ -z "$TAPWARD_LOG$SHELL" ] || exit 7
grep -q '^NoNewPrivs:.1' /proc/self/status || exit 6
grep -q '^CapEff:.0*$' /proc/self/status || exit 5
echo "canary-on-standard-error" >&2
printf 'token-%s-%s\\n' "$(id -u)" "$1"
"""
GIT = """#!/bin/sh
[ "$1" = get ] || exit 1
while read -r line && [ -n "$line" ]; do asked="$asked $line"; done
[ "$asked" = " protocol=https host=git.example.com" ] || exit 2
printf 'username=oct\\npassword=of-the-git-helper\\n'
"""
SLOW = """#!/bin/sh
tail -f /dev/null &
tail -f /dev/null
"""

_world = {}


def world():
    if not _world:
        w = World(NAMES, start=False)
        secret = w.file("secret-of-root", "canary-of-root\n", 0o600)
        commands = {
            "raw": w.file("raw", RAW.format(secret=secret), 0o755) + " an-argument;id",
            "git": w.file("git", GIT, 0o755),
            "slow": w.file("slow", SLOW, 0o755)}
        with open(w.config, "a", encoding="ascii") as f:
            for name, command in commands.items():
                f.write(CREDENTIAL.format(
                    name=name, command=command,
                    protocol="git" if name == "git" else "raw",
                    apply="basic:nobody" if name == "git" else "bearer"))
        origin = w.own(HeadsOrigin(w, ORIGIN, *NAMES))
        w.start()
        _world.update(w=w, origin=origin, s=w.sandbox(POLICY, "ci-exec"))
    return _world["w"], _world["origin"], _world["s"]


@claim("helper: it runs as a uid of its own, with nothing but its arguments, and what it says is the token")
def _():
    w, origin, s = world()
    equal(s.curl("https://raw.example.com/").out, "ok\n", w.log_text())
    found = re.search(r"authorization: Bearer token-(\d+)-an-argument;id\r\n",
                      origin.heads[-1], re.I)
    assert found, origin.heads[-1]
    assert w.uid_first <= int(found.group(1)) < w.uid_first + 16, found.group(1)
    lacks(w.log_text(), "canary-on-standard-error")
    lacks(w.log_text(), "token-")


@claim("helper: a credential helper of git is asked as git asks, and its user counts")
def _():
    w, origin, s = world()
    equal(s.curl("https://git.example.com/").out, "ok\n", w.log_text())
    contains(origin.heads[-1].lower(),
             "authorization: basic b2n0om9mlxrozs1naxqtagvscgvy\r\n")


@claim("helper: one that does not end is killed with all it has started, and the guest reads that it is slow")
def _():
    w, origin, s = world()
    del origin.heads[:]
    got = s.curl("-i", "https://slow.example.com/")
    contains(got.out, "issuer-slow", w.log_text())
    equal(origin.heads, [])

    def left():
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    argv = f.read().split(b"\0")[:3]
                uid = os.stat(f"/proc/{pid}").st_uid
            except OSError:
                continue
            if argv == [b"tail", b"-f", b"/dev/null"] and \
                    w.uid_first <= uid < w.uid_first + 16:
                found.append(pid)
        return found

    until(lambda: not left(), 5, "all it has started is gone")


@claim("helper: what it says is in the broker and the sandbox's gate, and in no other process")
def _():
    w, origin, s = world()
    equal(s.curl("https://git.example.com/").out, "ok\n")
    return canary.search(w, [s], [], ["of-the-git-helper"])


@claim("helper: its world ends and leaves nothing")
def _():
    w, _, _ = world()
    w.close()
    _world.clear()
