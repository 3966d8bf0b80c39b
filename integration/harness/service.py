"""What is claimed of the package, the units and their upgrades, as steps that
any machine with systemd takes (machine.py); test_service.py does in a container.

A step is a function of the machine; its docstring is the claim, what it returns
the figure.
"""
import json
import os
import signal
import time

from . import packages, shell
from .certs import Authority
from .claims import claim, contains, equal, lacks, until
from .packages import NEXT, THIS, apt_argv

ORIGIN = "10.201.0.10"
RESOLVER = "10.201.0.53"
SECRET = "canary-of-the-service"
SEALED = "canary-that-was-sealed"
HOSTS = ("web", "pass", "vault", "sealed")
UNIT, BROKER = "tapward.service", "tapward-broker.service"
# How long a request waits for a broker, at most; 15 if nothing is said. What a
# guest is to notice at most. From one request to the next. Each is times
# m.slower.
WAIT_S = 4
NOTICE_S = 1
PAUSE_S = 0.05

CREDENTIAL = """\
[credential {name}]
kind  = static
value = credential:{name}
host  = {name}.example.com
apply = header:x-token
grant = * user:root
"""

CONFIG = f"""
[upstream]
resolver = {RESOLVER}
ca-file = /shared/ca/ca.pem
[address tests]
host = **.example.com
range = {ORIGIN}/32
[ceiling]
policy = none
""" + CREDENTIAL.format(name="vault") + CREDENTIAL.format(name="sealed")

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

[allow sealed]
host       = sealed.example.com
credential = sealed
"""

SECRETS = """\
[Service]
LoadCredential=vault:/etc/tapward/secrets/vault
LoadCredentialEncrypted=sealed:/etc/tapward/secrets/sealed.cred
"""

NGINX = f"""\
daemon off; pid /run/origin.pid; error_log /run/nginx.err;
events {{}}
http {{
  access_log off; log_format token "$host $http_x_token";
  server {{ listen {ORIGIN}:443 ssl; ssl_certificate /shared/cert.pem;
    ssl_certificate_key /shared/key.pem;
    location / {{ access_log /run/token.log token; return 200 "origin\\n"; }}
    location /slow {{ root /shared/www; limit_rate 200k; }} }} }}
"""

# In the sandbox, until the file STOP is gone. requests HOST: one every PAUSE
# seconds, each on its own connection. tunnel HOST: a long download. Prints how
# many were done (requests, bytes), how many failed and the longest time without
# an answer.
TRAFFIC = """
import json, os, socket, ssl, sys, time
what, host, ca, stop, pause = sys.argv[1:]
context = ssl.create_default_context(cafile=ca)
done = failed = 0; longest = 0.0; last = None
def say(text): sys.stderr.write(f"{text}\\n"); sys.stderr.flush()
def seen(n):
    global done, longest, last
    now = time.monotonic()
    if last is not None: longest = max(longest, now - last)
    else: say("began")
    done += n; last = now
def ask(path, seconds):
    s = socket.create_connection((host, 443), seconds)
    t = context.wrap_socket(s, server_hostname=host)
    t.sendall(f"GET {path} HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n".encode())
    return t
if what == "tunnel":
    with ask("/slow/file", 20) as t:
        while os.path.exists(stop):
            n = len(t.recv(65536))
            if n == 0: failed = 1; break
            seen(n)
while what == "requests" and os.path.exists(stop):
    began = time.monotonic()
    try:
        with ask("/", 20) as t: answer = t.recv(4096)
        if not answer.startswith(b"HTTP/1.1 200"): raise OSError(answer[:160])
        seen(1)
    except OSError as e:
        failed += 1; say(e)
    time.sleep(max(0, float(pause) - (time.monotonic() - began)))
print(json.dumps({"done": done, "failed": failed, "longest": round(longest, 2)}))
"""


def config(m):
    """Of this machine."""
    return CONFIG + f"[limits]\nconnect-timeout = {WAIT_S * m.slower}s\n"


def prepare(folder):
    """Fills the folder that the machine is to have at /shared."""
    for deb in packages.all_debs():
        shell.run(["cp", deb, folder]).ok()
    authority = Authority(f"{folder}/ca")
    cert, key = authority.issue(*(f"{host}.example.com" for host in HOSTS))
    shell.run(["cp", cert, f"{folder}/cert.pem"]).ok()
    shell.run(["cp", key, f"{folder}/key.pem"]).ok()
    os.makedirs(f"{folder}/www/slow")
    with open(f"{folder}/www/slow/file", "wb") as f:
        f.write(b"x" * (64 << 20))
    shell.run(["chmod", "-R", "a+rX", folder]).ok()


def register(machine, *steps):
    """Claims of the calling module, in this order; machine() gives it."""
    for step in steps:
        def check(step=step):
            return step(machine())
        check.__module__ = machine.__module__
        claim(step.__doc__)(check)


# --- by hand ---------------------------------------------------------------

def status(m):
    got = m.run(["tapward", "status", "--json"], timeout=20)
    return json.loads(got.out) if got.code == 0 else None


def role_pid(m, role):
    for process in (status(m) or {"processes": []})["processes"]:
        if process["role"] == role:
            return process["pid"]
    return 0


def gate_pid(m, name):
    got = m.run(["tapward", "show", name, "--json"])
    return json.loads(got.out)["gate_pid"] if got.code == 0 else 0


def drop_in(m, unit, text):
    m.file(f"/etc/systemd/system/{unit}.d/test.conf", text)
    m.run(["systemctl", "daemon-reload"]).ok()


def curl(m, host, *more):
    return m.run(["ip", "netns", "exec", "guest", "curl", "-sS", "--max-time",
                  "20", "--cacert", "/run/tapward/sandboxes/ci/ca.pem",
                  f"https://{host}.example.com/", *more])


def tokens(m):
    """What the origin was sent: (host, value of the header)."""
    return [tuple(line.split()) for line in m.read("/run/token.log").splitlines()]


def equipped(m):
    """Every request that needs a credential had it."""
    want = {"vault.example.com": SECRET, "sealed.example.com": SEALED,
            "web.example.com": "-"}
    got = tokens(m)
    equal([t for t in got if t[1] != want[t[0]]], [], "what the origin was sent")
    return sum(1 for t in got if t[1] != "-")


class Traffic:
    """Requests to these hosts, and a tunnel that nobody inspects."""

    def __init__(self, m, *hosts):
        self.m = m
        self.names = {"tunnel": ("tunnel", "pass"),
                      **{host: ("requests", host) for host in hosts}}
        m.file("/opt/traffic.py", TRAFFIC)
        m.sh("touch /run/go")
        for name, (what, host) in self.names.items():
            ca = ("/shared/ca/ca.pem" if host == "pass"
                  else "/run/tapward/sandboxes/ci/ca.pem")
            m.spawn(name, ["ip", "netns", "exec", "guest", "python3",
                           "/opt/traffic.py", what, f"{host}.example.com", ca,
                           "/run/go", str(PAUSE_S * m.slower)])
        for name in self.names:
            until(lambda name=name: "began" in m.errors(name), 30,
                  f"traffic of {name}: {m.errors(name)}")

    def during(self, argv, timeout=120):
        self.m.run(argv, timeout=timeout).ok()
        until(lambda: status(self.m) is not None, 30, "the service answers")

    def end(self, *waiting):
        """None failed, and a guest noticed no more than it may of all that was
        done; but that those that are named waited for a broker."""
        self.m.sh("rm /run/go")
        texts = []
        for name in self.names:
            self.m.await_end(name)
            result = json.loads(self.m.output(name))
            errors = self.m.errors(name)
            equal(result["failed"], 0, f"{name}: {errors}")
            most = self.m.slower * (WAIT_S if name in waiting else NOTICE_S)
            assert result["longest"] < most, f"{name}: {result}"
            texts.append(f"{name} {result['done']}, at most "
                         f"{result['longest']} s")
        return f"none failed; {'; '.join(texts)} between two"


# --- the steps -------------------------------------------------------------

def installs(m):
    """apt installs the packages from files, and the units run"""
    m.run(apt_argv(THIS), timeout=240).ok()
    for unit in (UNIT, BROKER):
        equal(m.unit(unit, "ActiveState", "SubState", "NRestarts"),
              {"ActiveState": "active", "SubState": "running", "NRestarts": "0"},
              m.journal(unit))
    equal(m.sh("stat -c '%a %U %G' /run/tapward/control.sock "
               "/run/tapward/broker").out.split("\n")[:2],
          ["660 root tapward", "700 tapward-broker tapward-broker"])
    until(lambda: role_pid(m, "broker") == m.pid(BROKER), 10,
          f"the broker is the unit's: {m.journal(UNIT)[-1500:]}")
    until(lambda: m.run(["tapward", "show", "tapward-watchdog"]).code == 0, 20,
          "the watchdog's sandbox")


def serves_members(m):
    """a member of the group makes a sandbox, and nobody else does"""
    m.sh("useradd --create-home --groups tapward inside; "
         "useradd --create-home outside").ok()
    m.file("/home/inside/tapward.ini", "[policy]\nversion = 1\n")
    m.sh("cp /home/inside/tapward.ini /home/outside; chmod 755 /home/*; "
         "chown inside /home/inside/tapward.ini; "
         "chown outside /home/outside/tapward.ini")
    create = "cd ~; tapward create mine --policy tapward.ini"
    def as_user(user, script):
        return m.run(["setpriv", f"--reuid={user}", f"--regid={user}",
                      "--init-groups", "sh", "-c", f"HOME=/home/{user}; {script}"])

    got = as_user("outside", create)
    assert got.code != 0, repr(got)
    contains(got.err, "ermission denied")
    as_user("inside", create).ok()
    contains(m.run(["ip", "netns"]).out, "tapward-mine",
             "names of namespaces are the host's to see")
    as_user("inside", "tapward rm mine").ok()
    # The broker's socket: its folder is for its user and root.
    got = as_user("inside", "ls /run/tapward/broker")
    assert got.code != 0, repr(got)


def equips(m):
    """an allowed request carries a credential that systemd gave the broker, plain or sealed"""
    m.sh(f"ip link set lo up; ip addr add {ORIGIN}/32 dev lo; "
         f"ip addr add {RESOLVER}/32 dev lo; ip netns add guest").ok()
    m.file("/opt/nginx.conf", NGINX)
    m.spawn("nginx", ["/usr/sbin/nginx", "-c", "/opt/nginx.conf"])
    m.spawn("dnsmasq", ["/usr/sbin/dnsmasq", "--keep-in-foreground", "--no-resolv",
                        "--no-hosts", f"--listen-address={RESOLVER}",
                        "--bind-interfaces", f"--address=/example.com/{ORIGIN}"])
    m.file("/etc/tapward/secrets/vault", SECRET, 0o600)
    m.sh(f"printf %s {SEALED} | systemd-creds encrypt --with-key=host "
         "--name=sealed - /etc/tapward/secrets/sealed.cred").ok()
    m.file("/etc/tapward/tapward.ini", config(m))
    m.file("/etc/tapward/guest.ini", POLICY)
    drop_in(m, BROKER, SECRETS)
    m.run(["systemctl", "restart", UNIT, BROKER], timeout=90).ok()
    m.run(["tapward", "create", "ci", "--policy", "/etc/tapward/guest.ini",
           "--device", "veth", "--netns", "guest"]).ok()
    m.file("/etc/netns/guest/resolv.conf", "nameserver 100.64.0.1\n")
    for host in ("vault", "sealed"):
        got = curl(m, host)
        contains(got.out, "origin", f"{got!r} {m.journal(UNIT)[-1500:]} "
                 f"{m.journal(BROKER)[-1500:]}")
    equal(equipped(m), 2)
    out = m.sh(f"cat /var/log/tapward/audit.jsonl; journalctl -u {UNIT} -u "
               f"{BROKER}").out
    lacks(out, SECRET)
    lacks(out, SEALED)
    contains(curl(m, "other").both, "no-rule")
    # It was not the supervisor that had it.
    lacks(m.sh(f"tr '\\0' '\\n' </proc/{m.pid(UNIT)}/environ").out, "CREDENTIALS")


def restarts_broker(m):
    """restart and kill -9 of the broker under traffic: no request without its credential, none fails, the rest of the service goes on"""
    gate, main = gate_pid(m, "ci"), m.pid(UNIT)
    # What it may write, its counts, lies in /run, which is everybody's.
    limits = m.run(["cat", f"/proc/{gate}/limits"]).ok().out
    lacks(limits.split("Max file size")[1].split("\n")[0], "unlimited")
    traffic = Traffic(m, "web", "vault", "sealed")
    for how in (["systemctl", "restart", BROKER],
                ["systemctl", "kill", "--signal=KILL", BROKER],
                ["systemctl", "restart", BROKER]):
        old = m.pid(BROKER)
        traffic.during(how)
        until(lambda: m.pid(BROKER) not in (0, old) and
              role_pid(m, "broker") == m.pid(BROKER), 20, f"another broker: {how}")
    text = traffic.end("vault", "sealed")
    equal((gate_pid(m, "ci"), m.pid(UNIT)), (gate, main), "gate and supervisor")
    return f"{equipped(m)} with credential; {text}"


def stops_broker(m):
    """a broker that is stopped, or disabled and gone: credential-unavailable, never bare; other requests go on, sandboxes are made, and its start mends all"""
    m.run(["systemctl", "stop", BROKER]).ok()
    m.run(["systemctl", "disable", BROKER]).ok()
    before = len(tokens(m))
    contains(curl(m, "web").out, "origin")
    began = time.monotonic()
    contains(curl(m, "vault").both, "credential-unavailable")
    took = time.monotonic() - began
    assert took < WAIT_S * m.slower + 4, took
    equal(len(tokens(m)), before + 1, "requests that went out")
    # A supervisor that starts without it serves, and does not wait for it.
    m.run(["systemctl", "restart", UNIT], timeout=60).ok()
    equal(m.unit(BROKER, "ActiveState")["ActiveState"], "inactive")
    contains(m.run(["tapward", "status"]).out, "broker     DOWN")
    m.run(["tapward", "create", "late", "--policy", "/etc/tapward/guest.ini"]).ok()
    m.run(["tapward", "rm", "late"]).ok()
    m.run(["systemctl", "enable", "--now", BROKER]).ok()
    until(lambda: role_pid(m, "broker") == m.pid(BROKER), 10, "the broker")
    contains(curl(m, "vault").out, "origin")
    equipped(m)
    return f"refused after {took:.1f} s of {WAIT_S * m.slower}"


def restarts(m):
    """restart, kill -9 and a hung supervisor: a guest notices nothing, and the broker goes on"""
    drop_in(m, UNIT, f"[Service]\nWatchdogSec={3 * m.slower}\n")
    m.run(["systemctl", "restart", UNIT], timeout=60).ok()
    gate, broker = gate_pid(m, "ci"), m.pid(BROKER)
    traffic = Traffic(m, "web", "vault")
    traffic.during(["systemctl", "restart", UNIT])
    for blow in (signal.SIGKILL, signal.SIGSTOP):
        old = m.pid(UNIT)
        m.run(["kill", f"-{int(blow)}", str(old)]).ok()
        until(lambda: m.pid(UNIT) not in (0, old) and status(m), 40,
              f"another supervisor after signal {blow}: {m.journal(UNIT)[-1500:]}")
    text = traffic.end()
    equal((gate_pid(m, "ci"), m.pid(BROKER), role_pid(m, "broker")),
          (gate, broker, broker), "gate and broker went on")
    contains(m.journal(UNIT), "Watchdog timeout")
    equipped(m)
    return text


def change(m, version, *options):
    """To another version, under traffic."""
    drop_in(m, UNIT, "")
    traffic = Traffic(m, "web", "vault")
    old = m.pid(UNIT), m.pid(BROKER)
    traffic.during(apt_argv(version, *options), timeout=240)
    new = m.pid(UNIT), m.pid(BROKER)
    assert not set(new) & {0, *old}, (old, new)
    m.run(["tapward", "create", "new", "--policy", "/etc/tapward/guest.ini"]).ok()
    equal(m.run(["readlink", f"/proc/{gate_pid(m, 'new')}/exe"]).out.strip(),
          "/usr/libexec/tapward/tapward-gate", "new gates run the new code")
    m.run(["tapward", "rm", "new"]).ok()
    equal(m.sh("dpkg-query -W -f '${Version}' tapward").out, version)
    text = traffic.end("vault")
    equal(m.read("/etc/tapward/tapward.ini"), config(m),
          "what the operator wrote is kept")
    contains(curl(m, "vault").out, "origin")
    equipped(m)
    return text


def upgrades(m):
    """an upgrade under traffic: a guest notices nothing, new gates run the new code, and the configuration is kept"""
    return change(m, NEXT)


def downgrades(m):
    """a downgrade under traffic: the same"""
    return change(m, THIS, "--allow-downgrades")


def leaves(m):
    """remove ends the sandboxes and keeps the configuration, purge leaves nothing"""
    m.run(["apt-get", "-qq", "-y", "remove", "tapward"], timeout=120).ok()
    lacks(m.run(["ip", "netns"]).out, "tapward-")
    left = m.sh("ps -eo uid=,args= | awk '$1 >= 2130000000 || /tapwardd/ && !/awk/'").out
    equal(left, "", "processes")
    equal(m.read("/etc/tapward/tapward.ini"), config(m))
    assert m.run(["test", "-s", "/var/log/tapward/audit.jsonl"]).code == 0
    m.sh("rm -r /etc/systemd/system/tapward*.service.d; rm /etc/tapward/guest.ini")
    m.run(["apt-get", "-qq", "-y", "purge", "tapward", "tapward-guest"],
          timeout=120).ok()
    left = m.sh("ls -d /etc/tapward /var/l*/tapward /run/tapward "
                "/usr/lib*/tapward /usr/share/tapward /usr/share/doc/tapward* "
                "/etc/systemd/system/*/tapward* /lib/systemd/system/tapward* "
                "/var/lib/systemd/deb-systemd-helper-enabled/*/tapward* "
                "2>/dev/null; getent group tapward tapward-broker; "
                "getent passwd tapward-broker; "
                "dpkg-query -W -f '${Package} ${Status}\\n' 'tapward*' 2>/dev/null").out
    equal("\n".join(line for line in left.splitlines()
                    if "not-installed" not in line), "", "what is left")
