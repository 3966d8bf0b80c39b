"""The Debian packages and the units, in a boot of this machine's root."""
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from harness import shell
from harness.boot import Boot
from harness.certs import Authority
from harness.claims import Skip, claim, contains, equal, lacks, until
from harness.world import BUILD, TREE, close_at_end, closed

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
THIS, NEXT = "0.1.0", "0.1.1"
ARCH = shell.run(["dpkg", "--print-architecture"]).out.strip()
ORIGIN = "10.201.0.10"
RESOLVER = "10.201.0.53"
SECRET = "canary-of-the-service"

CONFIG = f"""
[upstream]
resolver = {RESOLVER}
ca-file = /shared/ca/ca.pem
[address tests]
host = **.example.com
range = {ORIGIN}/32
[ceiling]
policy = none
[credential vault]
kind  = static
value = credential:vault
host  = vault.example.com
apply = header:x-token
grant = * user:root
"""

POLICY = """\
[policy]
version = 1

[allow web]
host = web.example.com

[allow pinned]
host = pass.example.com
tls  = passthrough

[allow vault]
host       = vault.example.com
credential = vault
"""

NGINX = """\
daemon off; pid /run/origin.pid; error_log /shared/nginx.err;
events {{}}
http {{
  access_log off; log_format token "$host $http_x_token";
  server {{ listen {origin}:443 ssl; ssl_certificate {cert}; ssl_certificate_key {key};
    location / {{ access_log /shared/token.log token; return 200 "origin\\n"; }}
    location /slow {{ root /shared/www; limit_rate 200k; }} }} }}
"""

# In a guest: a request every 50 ms until the file is gone, each on its own
# connection; prints how many failed and the longest time without an answer.
REQUESTS = """
import json, os, socket, ssl, sys, time
context = ssl.create_default_context(cafile=sys.argv[1])
host, stop = sys.argv[2], sys.argv[3]
done = failed = 0; longest = 0.0; last = time.monotonic()
while os.path.exists(stop):
    began = time.monotonic()
    try:
        with socket.create_connection((host, 443), 3) as s:
            with context.wrap_socket(s, server_hostname=host) as t:
                t.sendall(f"GET / HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n".encode())
                answer = t.recv(4096)
        if not answer.startswith(b"HTTP/1.1 200"): raise OSError(answer[:60])
        done += 1; longest = max(longest, time.monotonic() - last); last = time.monotonic()
    except OSError as e:
        failed += 1; sys.stderr.write(f"{e}\\n")
    time.sleep(max(0, 0.05 - (time.monotonic() - began)))
print(json.dumps({"done": done, "failed": failed, "longest": round(longest, 2)}))
"""

# The unit's own confinement, tried from inside: what must not work.
FORBIDDEN = """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(*a):
    if libc.syscall(*a) == -1: raise OSError(ctypes.get_errno(), "")
def chmod():
    open("/run/tapward/probe", "w").close()
    try: os.chmod("/run/tapward/probe", 0o4755)
    finally: os.unlink("/run/tapward/probe")
TRIES = {
  "RestrictAddressFamilies packet": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
  "RestrictAddressFamilies vsock": lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM),
  "RestrictNamespaces user": lambda: call(272, 0x10000000),
  "RestrictNamespaces cgroup": lambda: call(272, 0x02000000),
  "RestrictRealtime": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
  "RestrictSUIDSGID": chmod,
  "LockPersonality": lambda: call(135, 0x0400000),
  "SystemCallFilter clock": lambda: call(227, 0, 0),
  "SystemCallFilter debug": lambda: call(101, 0, 0, 0, 0),
  "SystemCallFilter keyring": lambda: call(250, 0, -3, 0),
  "SystemCallFilter module": lambda: call(175, 0, 0, 0),
  "SystemCallFilter raw-io": lambda: call(172, 3),
  "SystemCallFilter reboot": lambda: call(169, 0, 0, 0, 0),
  "SystemCallFilter swap": lambda: call(167, 0, 0),
  "SystemCallFilter sethostname": lambda: call(170, b"x", 1),
  "CapabilityBoundingSet nice": lambda: os.nice(-5),
}
for name, attempt in TRIES.items():
    try: attempt(); print("OPEN", name)
    except OSError as e:
        print("shut" if e.errno in (1, 13, 97) else f"OPEN {e.errno}", name)
for line in open("/proc/self/status"):
    if line.startswith(("CapBnd", "NoNewPrivs")): print(line.strip())
"""

_state = {}


def folder():
    if "folder" not in _state:
        _state["folder"] = Folder()
    return _state["folder"].path


class Folder:
    """For the packages, until the tests end."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="tapward-packages-")
        close_at_end(self)

    def close(self):
        closed(self)
        shutil.rmtree(self.path)


def packages():
    """Folders of two builds of one tree: one, and as the next version."""
    if "packages" in _state:
        return _state["packages"]
    for program in ("dpkg-buildpackage", "dh", "lintian"):
        if not shutil.which(program):
            raise Skip(f"{program} is not here (debhelper, lintian)")
    builds = {}
    for name, more in (("one", []), ("next", ["--version", NEXT])):
        out = f"{folder()}/{name}"
        env = {**os.environ, "DEB_BUILD_OPTIONS": "noautodbgsym"}
        builds[out] = subprocess.Popen(
            [f"{ROOT}/tools/package", "--build", BUILD, "--out", out, *more],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)
    for out, process in builds.items():
        _, err = process.communicate(timeout=180)
        equal(process.returncode, 0, f"{out}: {err.decode()}")
    _state["packages"] = list(builds)
    return _state["packages"]


def debs(place):
    return sorted(f"{place}/{f}" for f in os.listdir(place) if f.endswith(".deb"))


def boot():
    if "boot" not in _state:
        b = Boot()
        for place in packages():
            for deb in debs(place):
                shutil.copy(deb, b.shared)
        _state["boot"] = b
    return _state["boot"]


def apt_argv(version, *options):
    """What they depend on is here; the container has no network."""
    return ["apt-get", "-qq", "-y", "--no-install-recommends", *options,
            "install", *(f"/shared/{name}_{version}_{ARCH}.deb"
                         for name in ("tapward", "tapward-guest"))]


def install(b, version=THIS, *options):
    return b.run(apt_argv(version, *options), timeout=120)


def pid(b):
    return int(b.unit("tapward.service", "MainPID")["MainPID"])


def status(b):
    got = b.run(["tapward", "status", "--json"], timeout=10)
    return json.loads(got.out) if got.code == 0 else None


def role_pid(b, role):
    for process in (status(b) or {"processes": []})["processes"]:
        if process["role"] == role:
            return process["pid"]
    return 0


def drop_in(b, text):
    b.file("/etc/systemd/system/tapward.service.d/test.conf", text)
    b.run(["systemctl", "daemon-reload"]).ok()


def curl(b, host, *more):
    return b.run(["ip", "netns", "exec", "guest", "curl", "-sS", "--max-time",
                  "5", "--cacert", "/run/tapward/sandboxes/ci/ca.pem",
                  f"https://{host}/", *more])


def contents(deb, place):
    """What is in it: names, modes, times and bytes."""
    shell.run(["dpkg-deb", "-x", deb, place]).ok()
    shell.run(["dpkg-deb", "-e", deb, f"{place}/DEBIAN"]).ok()
    result = {}
    for base, folders, files in os.walk(place):
        for name in folders + files:
            path = os.path.join(base, name)
            st = os.lstat(path)
            body = ""
            if name in files:
                with open(path, "rb") as f:
                    body = hashlib.sha256(f.read()).hexdigest()
            result[os.path.relpath(path, place)] = (st.st_mode, st.st_mtime, body)
    return result


@claim("two builds of the packages differ in their version only, and lintian has nothing to say")
def _():
    sets = []
    for place in packages():
        equal(len(debs(place)), 2, f"packages in {place}")
        sets.append([contents(deb, f"{place}/{i}") for i, deb in
                     enumerate(debs(place))])
    for one, following in zip(*sets):
        equal(sorted(one), sorted(following), "names")
        differ = {os.path.basename(name) for name, what in one.items()
                  if what[2] != following[name][2] or
                  what[:2] != following[name][:2] and "DEBIAN" not in name}
        assert differ <= {"changelog.gz", "control", "md5sums"}, differ
    with open(f"{ROOT}/tools/packages", encoding="ascii") as f:
        wanted = {line.split()[1] for line in f if line.startswith("build\t")}
    with open(f"{ROOT}/packaging/debian/control", encoding="ascii") as f:
        named = f.read().split("Build-Depends:")[1].split("Standards")[0]
    # What is in build-essential need not be named.
    equal({p.strip() for p in named.split(",")} - {"debhelper-compat (= 13)"},
          wanted - {"gcc", "libc6-dev", "linux-libc-dev"}, "Build-Depends")
    got = shell.run(["lintian", "--allow-root", "--fail-on", "error,warning",
                     *debs(packages()[0])], timeout=120)
    equal((got.code, got.out), (0, ""), repr(got))


@claim("systemd-analyze verify says nothing about the units")
def _():
    units = f"{TREE}/lib/systemd/system"
    got = shell.run(["systemd-analyze", "verify", f"{units}/tapward.service",
                     f"{units}/tapward.socket"],
                    env={**os.environ, "MANPATH": f"{TREE}/share/man",
                         "SYSTEMD_UNIT_PATH": f"{units}:"})
    equal((got.code, got.both), (0, ""), repr(got))
    score = shell.run(["systemd-analyze", "security", "--offline=yes",
                       "--threshold=58", "--no-pager", f"{units}/tapward.service"])
    equal(score.code, 0, score.out[-200:])
    return score.out.strip().splitlines()[-1].lstrip("→ ")


@claim("apt installs the packages from files, and the service runs")
def _():
    b = boot()
    install(b).ok()
    equal(b.unit("tapward.service", "ActiveState", "SubState", "NRestarts"),
          {"ActiveState": "active", "SubState": "running", "NRestarts": "0"},
          b.journal("tapward.service"))
    equal(b.sh("stat -c '%a %U %G' /run/tapward/control.sock").out.strip(),
          "660 root tapward")
    b.sh("useradd --create-home --groups tapward inside; "
         "useradd --create-home outside").ok()
    until(lambda: b.run(["tapward", "show", "tapward-watchdog"]).code == 0, 10,
          "the watchdog's sandbox")


@claim("a member of the group makes a sandbox, and nobody else does")
def _():
    b = boot()
    b.file("/home/inside/tapward.ini", POLICY.replace("credential = vault\n", ""))
    b.sh("cp /home/inside/tapward.ini /home/outside; chmod 755 /home/*; "
         "chown inside /home/inside/tapward.ini; "
         "chown outside /home/outside/tapward.ini")
    create = "cd ~; tapward create mine --policy tapward.ini"
    got = b.run(["runuser", "-u", "outside", "--", "sh", "-c", f"HOME=/home/outside; {create}"])
    assert got.code != 0, repr(got)
    contains(got.err, "ermission denied")
    b.run(["runuser", "-u", "inside", "--", "sh", "-c", f"HOME=/home/inside; {create}"]).ok()
    contains(b.run(["ip", "netns"]).out, "tapward-mine",
             "names of namespaces are the host's to see")
    b.run(["runuser", "-u", "inside", "--", "tapward", "rm", "mine"]).ok()


@claim("what the unit forbids is refused when it is tried")
def _():
    b = boot()
    b.file("/opt/forbidden.py", FORBIDDEN)
    b.sh("sed -e 's/^Type=.*/Type=oneshot/' -e '/^Exec/d' -e '/^WatchdogSec/d' "
         "-e '/^Sockets/d' -e '/^Restart/d' -e '/^\\[Service\\]/a "
         "ExecStart=/usr/bin/python3 /opt/forbidden.py' "
         "/lib/systemd/system/tapward.service "
         ">/run/systemd/system/tapward-probe.service; systemctl daemon-reload; "
         "systemctl start tapward-probe").ok()
    out = until(lambda: "CapBnd" in (o := b.journal("tapward-probe.service"))
                and o, 5, "the probe's output")
    lacks(out, "OPEN", out)
    assert out.count("shut") >= 15, out
    contains(out, "NoNewPrivs:\t1")
    # As many as the unit lists, or fewer where the container has fewer.
    count = bin(int(out.split("CapBnd:")[1].split()[0], 16)).count("1")
    assert count <= 13, out
    return f"{out.count('shut')} attempts"


@claim("an allowed request carries a credential that systemd gave the unit")
def _():
    b = boot()
    authority = Authority(f"{b.shared}/ca")
    cert, key = authority.issue("web.example.com", "pass.example.com",
                                "vault.example.com")
    shell.run(["cp", cert, f"{b.shared}/cert.pem"]).ok()
    shell.run(["cp", key, f"{b.shared}/key.pem"]).ok()
    os.makedirs(f"{b.shared}/www/slow")
    with open(f"{b.shared}/www/slow/file", "wb") as f:
        f.write(b"x" * (64 << 20))
    b.sh("chmod 755 /shared /shared/www /shared/www/slow; chmod 644 "
         "/shared/*.pem /shared/www/slow/file /shared/ca/*")
    b.file("/opt/nginx.conf", NGINX.format(
        origin=ORIGIN, cert="/shared/cert.pem", key="/shared/key.pem"))
    b.sh(f"ip link set lo up; ip addr add {ORIGIN}/32 dev lo; "
         f"ip addr add {RESOLVER}/32 dev lo; ip netns add guest").ok()
    _state["origin"] = [
        b.start(["nginx", "-c", "/opt/nginx.conf"], f"{b.folder}/nginx"),
        b.start(["dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts",
                 f"--listen-address={RESOLVER}", "--bind-interfaces",
                 f"--address=/example.com/{ORIGIN}"], f"{b.folder}/dnsmasq")]
    b.file("/etc/tapward/secrets/vault", SECRET, 0o600)
    b.file("/etc/tapward/tapward.ini", CONFIG)
    b.file("/etc/tapward/guest.ini", POLICY)
    drop_in(b, "[Service]\nLoadCredential=vault:/etc/tapward/secrets/vault\n")
    b.run(["systemctl", "restart", "tapward"], timeout=60).ok()
    b.run(["tapward", "create", "ci", "--policy", "/etc/tapward/guest.ini",
           "--device", "veth", "--netns", "guest"]).ok()
    b.file("/etc/netns/guest/resolv.conf", "nameserver 100.64.0.1\n")
    got = until(lambda: (g := curl(b, "vault.example.com")).code == 0 and g, 10,
                f"a request: {curl(b, 'vault.example.com')!r} "
                f"{b.journal('tapward.service')[-1500:]}")
    contains(got.out, "origin")
    contains(b.run(["cat", "/shared/token.log"]).out,
             f"vault.example.com {SECRET}")
    lacks(b.sh("cat /var/log/tapward/audit.jsonl; journalctl -u tapward").out,
          SECRET)
    denied = curl(b, "other.example.com")
    contains(denied.both, "no-rule")


@claim("a reload takes good files, and refuses bad ones with their line")
def _():
    b = boot()
    old = status(b)["pid"]
    b.run(["systemctl", "reload", "tapward"], timeout=30).ok()
    for name, text, line in (
            ("tapward.ini", CONFIG + "bogus = 1\n", CONFIG.count("\n") + 1),
            ("ceiling.ini", "[policy]\nversion = 1\nnonsense = 1\n", 3)):
        b.file("/etc/tapward/tapward.ini", CONFIG.replace(
            "policy = none", "policy = /etc/tapward/ceiling.ini"))
        b.file(f"/etc/tapward/{name}", text)
        got = b.run(["systemctl", "reload", "tapward"], timeout=30)
        assert got.code != 0, f"{name}: a bad file was taken"
        contains(b.journal("tapward.service")[-2000:],
                 f"/etc/tapward/{name}:{line}:")
        contains(curl(b, "vault.example.com").out, "origin")
    b.file("/etc/tapward/tapward.ini", CONFIG)
    b.run(["systemctl", "reload", "tapward"], timeout=30).ok()
    equal(status(b)["pid"], old)


class Traffic:
    """Requests, and a download through a tunnel that nobody inspects."""

    def __init__(self, b):
        self.b = b
        b.file("/opt/requests.py", REQUESTS)
        b.sh("touch /shared/go")
        self.out = f"{b.folder}/requests"
        self.requests = b.start(
            ["ip", "netns", "exec", "guest", "python3", "/opt/requests.py",
             "/run/tapward/sandboxes/ci/ca.pem", "web.example.com", "/shared/go"],
            self.out)
        self.tunnel = b.start(
            ["ip", "netns", "exec", "guest", "curl", "-sS", "--cacert",
             "/shared/ca/ca.pem", "-o", "/shared/got",
             "https://pass.example.com/slow/file"], f"{b.folder}/tunnel")
        self.got = f"{b.shared}/got"
        until(lambda: self.size() > 0, 10, "the tunnel carries bytes")
        self.longest, self.seen, self.at = 0.0, 0, time.monotonic()

    def size(self):
        return os.path.getsize(self.got) if os.path.exists(self.got) else 0

    def look(self):
        """Called often: the longest time in which the tunnel stood still."""
        size, now = self.size(), time.monotonic()
        if size > self.seen:
            self.seen, self.at = size, now
        self.longest = max(self.longest, now - self.at)
        return self.tunnel.poll() is None

    def during(self, argv):
        process = self.b.start(argv, f"{self.b.folder}/during")
        while process.poll() is None:
            assert self.look(), "the tunnel ended"
            time.sleep(0.02)
        until(lambda: self.look() and status(self.b) is not None, 20,
              "the service answers")
        equal(process.returncode, 0, open(f"{self.b.folder}/during").read())

    def end(self):
        before = self.size()
        until(lambda: self.look() and self.size() > before, 5,
              "bytes go on coming through the tunnel")
        os.unlink(f"{self.b.shared}/go")
        self.requests.wait(20)
        shell.stop(self.tunnel)
        os.unlink(self.got)
        with open(self.out, encoding="utf-8") as f:
            lines = f.read().splitlines()
        result = json.loads(lines[-1])
        result["tunnel"] = round(self.longest, 2)
        result["errors"] = lines[:-1]
        return result


def bounds(result):
    """What a guest may notice: no failure, nothing that takes a second."""
    equal(result["failed"], 0, repr(result))
    assert result["longest"] < 1, repr(result)
    assert result["tunnel"] < 1, repr(result)
    return (f"{result['done']} requests, none failed, at most "
            f"{result['longest']} s between two; the tunnel stood still for at "
            f"most {result['tunnel']} s")


@claim("restart, kill -9 and a hung supervisor: a guest notices nothing")
def _():
    b = boot()
    drop_in(b, "[Service]\nLoadCredential=vault:/etc/tapward/secrets/vault\n"
            "WatchdogSec=3\n")
    b.run(["systemctl", "restart", "tapward"], timeout=60).ok()
    gate = json.loads(b.run(["tapward", "show", "ci", "--json"]).ok().out)["gate_pid"]
    traffic = Traffic(b)
    traffic.during(["systemctl", "restart", "tapward"])
    for blow in (signal.SIGKILL, signal.SIGSTOP):
        old = pid(b)
        b.run(["kill", f"-{int(blow)}", str(old)]).ok()
        until(lambda: traffic.look() and pid(b) not in (0, old) and status(b), 30,
              f"another supervisor after signal {blow}: {b.journal('tapward.service')[-1500:]}")
    text = bounds(traffic.end())
    equal(json.loads(b.run(["tapward", "show", "ci", "--json"]).out)["gate_pid"],
          gate, "its gate went on")
    contains(b.journal("tapward.service"), "Watchdog timeout")
    return text


@claim("the watchdog replaces a hung dialler, broker, recorder and its gate")
def _():
    b = boot()
    drop_in(b, "[Service]\nLoadCredential=vault:/etc/tapward/secrets/vault\n"
            "WatchdogSec=8\n")
    b.run(["systemctl", "restart", "tapward"], timeout=60).ok()
    for role in ("dialler", "broker", "recorder"):
        old = role_pid(b, role)
        main = pid(b)
        assert old, f"no {role}"
        b.run(["kill", "-STOP", str(old)]).ok()
        until(lambda: role_pid(b, role) not in (0, old), 20,
              f"another {role}: {b.journal('tapward.service')[-1500:]}")
        told = b.unit("tapward.service", "WatchdogTimestampMonotonic")
        until(lambda: b.unit("tapward.service", "WatchdogTimestampMonotonic")
              != told, 20, "a round in which all answer")
        equal(pid(b), main, f"the supervisor went on: {b.journal('tapward.service')[-2500:]}")
    shown = ["tapward", "show", "tapward-watchdog", "--json"]
    old = json.loads(b.run(shown).ok().out)["gate_pid"]
    b.run(["kill", "-STOP", str(old)]).ok()
    until(lambda: json.loads(b.run(shown).ok().out)["gate_pid"] not in (0, old),
          20, "another gate")
    until(lambda: "origin" in curl(b, "vault.example.com").out, 15, "a request")


@claim("an upgrade and a downgrade under traffic: a guest notices nothing")
def _():
    b = boot()
    drop_in(b, "[Service]\nLoadCredential=vault:/etc/tapward/secrets/vault\n")
    b.run(["systemctl", "restart", "tapward"], timeout=60).ok()
    traffic = Traffic(b)
    for version, options in ((NEXT, []), (THIS, ["--allow-downgrades"])):
        old = pid(b)
        traffic.during(apt_argv(version, *options))
        assert pid(b) not in (0, old), "a new supervisor runs"
        b.run(["tapward", "create", "new", "--policy",
               "/etc/tapward/guest.ini"]).ok()
        new = json.loads(b.run(["tapward", "show", "new", "--json"]).out)
        equal(b.run(["readlink", f"/proc/{new['gate_pid']}/exe"]).out.strip(),
              "/usr/libexec/tapward/tapward-gate", "new gates run the new code")
        b.run(["tapward", "rm", "new"]).ok()
        equal(b.sh("dpkg-query -W -f '${Version}' tapward").out, version)
    text = bounds(traffic.end())
    equal(b.run(["cat", "/etc/tapward/tapward.ini"]).out, CONFIG,
          "what the operator wrote is kept")
    contains(curl(b, "vault.example.com").out, "origin")
    return text


@claim("remove ends the sandboxes and keeps the configuration, purge leaves nothing")
def _():
    b = boot()
    b.run(["apt-get", "-qq", "-y", "remove", "tapward"], timeout=90).ok()
    lacks(b.run(["ip", "netns"]).out, "tapward-")
    left = b.sh("ps -eo uid=,args= | awk '$1 >= 2130000000 || /tapwardd/ && !/awk/'").out
    equal(left, "", "processes")
    equal(b.run(["cat", "/etc/tapward/tapward.ini"]).out, CONFIG)
    assert b.run(["test", "-s", "/var/log/tapward/audit.jsonl"]).code == 0
    b.sh("rm -r /etc/systemd/system/tapward.service.d; rm /etc/tapward/guest.ini")
    b.run(["apt-get", "-qq", "-y", "purge", "tapward", "tapward-guest"], timeout=90).ok()
    left = b.sh("ls -d /etc/tapward /var/l*/tapward /run/tapward "
                "/usr/lib*/tapward /usr/share/tapward /usr/share/doc/tapward* "
                "/etc/systemd/system/*/tapward* /lib/systemd/system/tapward* "
                "/var/lib/systemd/deb-systemd-helper-enabled/*/tapward* "
                "2>/dev/null; getent group tapward; "
                "dpkg-query -W -f '${Package} ${Status}\\n' 'tapward*' 2>/dev/null").out
    equal("\n".join(line for line in left.splitlines()
                    if "not-installed" not in line), "", "what is left")
    for process in _state.pop("origin", []):
        shell.stop(process)
    b.close()
