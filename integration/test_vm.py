"""A microVM in one command."""
import hashlib
import json
import os
import subprocess
import threading
import time

from harness.claims import claim, contains, equal, lacks
from harness.origins import Nginx
from harness.screen import Screen
from harness.vm import VmWorld

NAMES = {f"{host}.example.com": "10.201.0.10" for host in ("plain", "learned")}
CEILING = """\
[policy]
version = 1

[allow most]
host   = plain.example.com, learned.example.com
scheme = http
"""

_world = {}


def world():
    if not _world:
        w = VmWorld(NAMES, ceiling=CEILING, more="learn = * user:root\n")
        w.own(Nginx(w.net, f"{w.folder}/nginx", """
          server { listen 10.201.0.10:80;
            location / { return 200 "hello from the origin\\n"; } }"""))
        _world["w"] = w
    return _world["w"]


def machine():
    """One that goes on, for claims that need no fresh one."""
    w = world()
    if "name" not in _world:
        name = f"vm{w.id}"
        w.cli("create", name, "--policy", w.policy, "--image", "default",
              timeout=150).ok()
        _world["name"] = name
    return w, _world["name"]


@claim("run gives the command's exit code, and its output apart")
def _():
    w = world()
    got = w.vm_run("--", "sh", "-c", "echo out; echo err >&2; exit 7")
    equal(got.code, 7, repr(got))
    equal(got.out, "out\n")
    assert got.err.endswith("\nerr\n"), repr(got)
    w.gone()


@claim("the guest reaches what the policy allows, and is told why not the rest")
def _():
    w = world()
    got = w.vm_run("--", "sh", "-c",
                   "curl -sS http://plain.example.com/; "
                   "curl -sS http://denied.example.com/; id -u; hostname")
    equal(got.code, 0, repr(got))
    contains(got.out, "hello from the origin")
    contains(got.out, "denied.example.com")
    contains(got.err, "tapward: refused: denied.example.com:80 (no-rule); to "
             "allow it: [allow denied-example-com] host = denied.example.com, "
             "port = 80, scheme = http")
    w.gone()


@claim("--timeout ends the command with 124, and says so")
def _():
    w = world()
    began = time.monotonic()
    got = w.vm_run("--timeout", "5", "--", "sh", "-c",
                   "echo started; sleep 60")
    took = time.monotonic() - began
    equal(got.code, 124, repr(got))
    equal(got.out, "started\n")
    contains(got.err, "longer than --timeout")
    w.gone()
    return f"{took:.1f} s with boot and end"


@claim("run --upload and --download: in, worked on, out, and by --learn what it asked for")
def _():
    w = world()
    folder = f"{w.folder}/in"
    os.makedirs(folder)
    with open(f"{folder}/x", "w", encoding="ascii") as f:
        f.write("x\n")
    got = w.vm_run("--upload", f"{folder}:/job/in", "--download",
                   f"/job/in/y:{w.folder}/y", "--workdir", "/job/in",
                   f"--learn={w.folder}/learned.ini", "--", "sh", "-c",
                   "sed s/x/y/ x >y; curl -sS http://learned.example.com/x")
    equal(got.code, 0, repr(got))
    contains(got.out, "hello from the origin")
    with open(f"{w.folder}/y", encoding="ascii") as f:
        equal(f.read(), "y\n")
    with open(f"{w.folder}/learned.ini", encoding="ascii") as f:
        contains(f.read(), "host    = learned.example.com\nscheme  = http\n"
                 "method  = GET\npath    = /x ; 1\n")
    w.gone()


@claim("run --json is one object: code, output, what was refused")
def _():
    w = world()
    got = w.vm_run("--json", "--", "sh", "-c",
                   "printf 'a\\377b'; curl -s http://denied.example.com/ >&2; "
                   "exit 3")
    result = json.loads(got.out)
    equal(got.code, 3, repr(got))
    equal(result["exit_code"], 3)
    equal(result["stdout"], "a\ufffdb")
    contains(result["stderr"], "denied.example.com")
    equal([(r["host"], r["reason"]) for r in result["refused"]],
          [("denied.example.com", "no-rule")])
    w.gone()


@claim("exec: 100 MB through stdin and out again, by digest")
def _():
    w, name = machine()
    data = os.urandom(1 << 20) * 100
    began = time.monotonic()
    got = w.cli("exec", name, "--", "cat", stdin=data, text=False, timeout=150)
    took = time.monotonic() - began
    equal(got.code, 0, got.err[-500:])
    equal(hashlib.sha256(got.out).hexdigest(), hashlib.sha256(data).hexdigest())
    return f"{2 * len(data) / took / 1e6:.0f} MB/s there and back"


@claim("eight commands at once in one guest, none mixed up with another")
def _():
    w, name = machine()
    results = {}

    def one(n):
        results[n] = w.cli("exec", name, "--", "sh", "-c",
                           f"echo {n}; sleep 1; cat >&2; exit {n}",
                           stdin=f"in {n}\n".encode(), timeout=60)

    threads = [threading.Thread(target=one, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for n, got in results.items():
        equal((got.code, got.out, got.err), (n, f"{n}\n", f"in {n}\n"))


@claim("put and get carry a tree both ways, whole")
def _():
    w, name = machine()
    tree = f"{w.folder}/tree"
    os.makedirs(f"{tree}/a/b")
    with open(f"{tree}/a/b/file", "wb") as f:
        f.write(os.urandom(3 << 20))
    os.symlink("b/file", f"{tree}/a/link")
    with open(f"{tree}/run.sh", "w", encoding="ascii") as f:
        f.write("#!/bin/sh\n")
    os.chmod(f"{tree}/run.sh", 0o755)
    w.cli("put", name, tree, "/srv/tree").ok()
    w.cli("get", name, "/srv/tree", f"{w.folder}/back").ok()
    got = subprocess.run(["diff", "-r", "--no-dereference", tree,
                          f"{w.folder}/back"], capture_output=True, check=False)
    equal((got.returncode, got.stdout), (0, b""))
    assert os.access(f"{w.folder}/back/run.sh", os.X_OK)
    equal(os.readlink(f"{w.folder}/back/a/link"), "b/file")
    again = w.cli("get", name, "/srv/tree/run.sh", f"{w.folder}/back/run.sh")
    assert again.code != 0 and "exists" in again.err.lower(), repr(again)


@claim("the audit log has each command: code, time, image")
def _():
    w, name = machine()
    w.cli("exec", name, "--", "sh", "-c", "exit 9")
    record = w.audited(name, event="run", path="sh -c exit\\ 9")
    equal(record["method"], "exec")
    contains(record["detail"], "exit code 9; image ")


@claim("show says what runs it and what limits it")
def _():
    w, name = machine()
    vm = json.loads(w.cli("show", name, "--json").ok().out)["vm"]
    equal(vm["state"], "ready")
    equal(vm["driver"], "qemu")
    contains(["tcg", "kvm"], vm["accelerator"])
    contains(["cgroup-v1", "cgroup-v2", "none"], vm["limits"])


@claim("the VMM has a user of its own, no capabilities, its namespaces, a filter")
def _():
    w, _ = machine()
    pid = w.processes("qemu-system-x86")[0]
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        status = dict(line.split(":\t", 1) for line in f if ":\t" in line)
    assert int(status["Uid"].split()[0]) >= w.uid_first, status["Uid"]
    equal(int(status["CapEff"], 16), 0)
    equal(int(status["CapBnd"], 16), 0)
    equal(status["NoNewPrivs"].strip(), "1")
    equal(status["Seccomp"].strip(), "2")
    for kind in ("net", "mnt", "pid", "ipc"):
        assert os.readlink(f"/proc/{pid}/ns/{kind}") != \
            os.readlink(f"/proc/self/ns/{kind}"), kind
    lacks(os.listdir(f"/proc/{pid}/root"), "etc")


@claim("exec --tty: size, its changes, Ctrl-C and the exit code go through")
def _():
    w, name = machine()
    argv = [f"{w.tree}/bin/tapward", "--socket", w.socket, "exec", "--tty", name,
            "--", "bash", "--norc", "-c",
            "stty size; trap 'stty size' WINCH; trap 'echo caught' INT; "
            "test -t 0 && test -t 2 && echo ready; while :; do read -t 0.2 "
            "-r x && exit $x; done"]
    with Screen(argv, 100, 30, w.env) as t:
        t.comes("30 100\r\n")
        t.comes("ready\r\n")
        t.size(87, 41)
        t.comes("41 87\r\n")
        t.type("\x03")
        t.comes("caught\r\n")
        t.type("23\r")
        equal(t.ended(), 23)
    got = w.cli("exec", name, "--tty", "--", "true")
    equal(got.code, 125, repr(got))
    contains(got.err, "--tty needs a terminal")


@claim("stop powers the guest off; the sandbox goes on")
def _():
    w, name = machine()
    w.cli("stop", name).ok()
    w.gone(20)
    got = json.loads(w.cli("show", name, "--json").ok().out)
    equal(got["state"], "running")
    equal(got["vm"]["state"], "ended")
    contains(got["vm"]["reason"], "powered off")
    w.cli("rm", name).ok()
    del _world["name"]


@claim("the world of the microVMs ends and leaves nothing")
def _():
    w = world()
    w.close()
    equal(w.left(), [])
    _world.clear()
