"""A guest's own key does not reach a host where its sandbox is granted one.

The origin writes down what it was sent, so that what a server might make of
a spelling does not count.
"""
import json
import os
import signal

from harness.claims import claim, contains, equal, lacks, until
from harness.origins import HeadsOrigin
from harness.world import World

ADDRESS = "10.201.0.10"
HOSTS = ("named", "quiet", "alien", "lost", "late", "plain")
NAMES = {f"{host}.example.com": ADDRESS for host in HOSTS}
CANARY = "canary-of-the-host-7f2e"
MINE = "key-of-another-account"

# One rule names a credential, and no other rule names any.
POLICY = """\
[policy]
version = 1

[allow packages]
host       = named.example.com
path       = /packages/**
credential = named

[allow files]
host = named.example.com
path = /files/**
""" + "".join(f"""
[allow {host}]
host = {host}.example.com
""" for host in HOSTS[1:])

CREDENTIAL = """
[credential {name}]
kind  = static
value = file:{file}
host  = {name}.example.com
apply = header:x-acme-token
strip = x-api-key, x-acme-key
grant = {grant} user:root
"""

# What the definition strips, what it sets, and what always goes.
STRIPPED = ("x-api-key", "X-Acme-Key", "x_acme_key", "X-ACME_Key",
            "X-Acme-Token", "x_acme_token", "Authorization", "Cookie",
            "Proxy-Authorization")

_world = {}


def credential(name, file, grant="granted-*"):
    return CREDENTIAL.format(name=name, file=file, grant=grant)


def world():
    if not _world:
        w = World(NAMES, start=False)
        secret = w.file("secret", CANARY + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(credential("named", secret))
            f.write(credential("quiet", secret))
            f.write(credential("alien", secret, grant="others-*"))
            f.write(credential("lost", f"{w.folder}/no-such-file"))
        w.start()
        _world.update(w=w, origin=w.own(HeadsOrigin(w, ADDRESS, *NAMES)), secret=secret,
                      s=w.sandbox(POLICY, f"granted-{w.id}"))
    return _world["w"], _world["origin"], _world["s"]


def brought(names=STRIPPED):
    return [arg for name in names for arg in ("-H", f"{name}: {MINE}")]


def arrives(s, url, *argv):
    """The head that the origin got for a request with everything brought."""
    origin = _world["origin"]
    del origin.heads[:]
    got = s.curl(*brought(), "-H", "x-stays: 1", *argv, url)
    equal(got.out, "ok\n", repr(got))
    equal(len(origin.heads), 1)
    contains(origin.heads[0], "x-stays: 1\r\n")
    return origin.heads[0]


@claim("row 108: a rule without a credential: the guest's own key, in any spelling, does not reach the host of one")
def _():
    _, _, s = world()
    url = "https://named.example.com"
    head = arrives(s, f"{url}/packages/a")
    contains(head, f"x-acme-token: {CANARY}\r\n")
    lacks(head, MINE)
    for argv in ([], ["-X", "DELETE"], ["-X", "OPTIONS"],
                 ["-I", "-o", "/dev/null", "-w", "ok\n"],
                 ["--proxy", s.info["proxy"]]):
        head = arrives(s, f"{url}/files/a", *argv)
        lacks(head, MINE, " ".join(argv))
        lacks(head, CANARY, " ".join(argv))
    # escapes 122: an upload to the account whose key the guest brought.
    head = arrives(s, f"{url}/files/a", "--data-binary", "the repository")
    lacks(head, MINE)
    record = s.audited(event="request", rule="files", method="POST")
    assert "credential" not in record, record


@claim("row 108: a credential that is granted and that the policy does not name keeps the guest's key out too")
def _():
    _, _, s = world()
    head = arrives(s, "https://quiet.example.com/")
    lacks(head, MINE)
    lacks(head, CANARY)


@claim("a credential whose file is missing is not lent, and its host is kept all the same")
def _():
    _, _, s = world()
    lacks(arrives(s, "https://lost.example.com/"), MINE)
    s.reload(POLICY.replace("host = lost.example.com",
                            "host = lost.example.com\ncredential = lost")).ok()
    got = s.curl("-i", "https://lost.example.com/")
    contains(got.out.lower(), "tapward-reason: credential-unavailable", repr(got))
    s.reload(POLICY).ok()


@claim("where nothing is granted, or to somebody else, the guest's own key is its own affair")
def _():
    w, _, s = world()
    for host in ("plain", "alien"):
        head = arrives(s, f"https://{host}.example.com/")
        # Which is hop by hop.
        for name in set(STRIPPED) - {"Proxy-Authorization"}:
            contains(head.lower(), f"{name}: {MINE}\r\n".lower(), host)
    other = w.sandbox(POLICY, f"others-{w.id}")
    lacks(arrives(other, "https://alien.example.com/"), MINE)
    contains(arrives(other, "https://quiet.example.com/"), MINE)
    other.rm().ok()


@claim("a credential that the host adds keeps the guest's key out from then on")
def _():
    w, origin, s = world()
    url = "https://late.example.com/"
    contains(arrives(s, url), MINE)
    with open(w.config, "a", encoding="ascii") as f:
        f.write(credential("late", _world["secret"]))
    os.kill(w.daemon.pid, signal.SIGHUP)
    until(lambda: MINE not in arrives(s, url), 10, "the grant is known")
    lacks(arrives(s, url), MINE)


def broker_pid(w):
    status = json.loads(w.cli("status", "--json").ok().out)
    return next(p["pid"] for p in status["processes"] if p["role"] == "broker")


def gate_pid(w, s):
    return json.loads(w.cli("show", s.name, "--json").ok().out)["gate_pid"]


@claim("row 118: a broker that stands still or is killed opens nothing, nor does a gate that is replaced")
def _():
    w, _, s = world()
    url = "https://named.example.com/files/a"
    pid = broker_pid(w)
    os.kill(pid, signal.SIGSTOP)
    try:
        lacks(arrives(s, url), MINE)
        contains(arrives(s, "https://plain.example.com/"), MINE)
    finally:
        os.kill(pid, signal.SIGCONT)
    os.kill(pid, signal.SIGKILL)
    for _ in range(30):
        lacks(arrives(s, url), MINE)
    until(lambda: broker_pid(w) != pid, 10, "another broker")
    before = gate_pid(w, s)
    os.kill(before, signal.SIGKILL)
    until(lambda: gate_pid(w, s) not in (0, None, before), 10, "another gate")
    for _ in range(30):
        lacks(arrives(s, url), MINE)


@claim("the world of the credentials ends and leaves nothing")
def _():
    w, _, _ = world()
    w.close()
    _world.clear()


BAD = {"quiet": (CANARY, 0o644, "chmod 600"),
       "lost": (f"{CANARY}\nsecond line", 0o600, "line break"),
       "late": ("short", 0o600, "less than 8 bytes")}
NEEDED = "[policy]\nversion = 1\n" + "".join(
    f"[allow {host}]\nhost = {host}.example.com\ncredential = {host}\n"
    for host in ("named", *BAD))


def sends(s, host, value):
    """Waits until the host is sent this value, and no other."""
    def does():
        got = s.curl(*brought(), f"https://{host}.example.com/")
        return got.out == "ok\n" and f"x-acme-token: {value}\r\n" in heads[-1]
    heads = _world["origin"].heads
    until(does, 10, f"{host} is sent {value}")
    lacks(heads[-1], MINE)


@claim("a secret that is of no use at the start costs its own requests and no others; root is told which, and how to mend it")
def _():
    with World(NAMES, start=False) as w:
        good = w.file("good", CANARY + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(credential("named", good))
            for host, (text, mode, _) in BAD.items():
                f.write(credential(host, w.file(host, text, mode)))
        w.start()
        _world["origin"] = w.own(HeadsOrigin(w, ADDRESS, *NAMES))
        s = w.sandbox(NEEDED, f"granted-{w.id}")
        sends(s, "named", CANARY)
        for host in BAD:
            got = s.curl("-i", *brought(), f"https://{host}.example.com/")
            contains(got.out.lower(), "tapward-reason: credential-unavailable",
                     f"{host}: {got!r}")
        first = f"credential quiet: file:{w.folder}/quiet"
        contains(w.cli("status").ok().out, first)
        contains(w.cli("status").ok().out, "chmod 600")
        contains(w.log_text(), first)
        # A set is in force now: it stays when the next one is no better.
        w.file("good", "another-" + CANARY, 0o644)
        os.kill(w.daemon.pid, signal.SIGHUP)
        until(lambda: "the ones before stay" in w.cli("status").ok().out, 10,
              "the refusal is shown")
        sends(s, "named", CANARY)
        for name in ("good", *BAD):
            w.file(name, f"mended-{name}-{CANARY}\n", 0o600)
        os.kill(w.daemon.pid, signal.SIGHUP)
        sends(s, "named", f"mended-good-{CANARY}")
        for host in BAD:
            sends(s, host, f"mended-{host}-{CANARY}")
        lacks(w.cli("status").ok().out, "FAULT")
        s.rm().ok()
    _world.clear()
