"""Guests whose clock is wrong: woken from a snapshot, or never set.

faketime(1) is the guest's clock; the host's is right. What a guest is shown
must be valid by either.
"""
import datetime
import re

from harness.claims import claim, contains, equal
from harness.raw import Recorder
from harness.shell import run
from harness.world import World

HOST = "web.example.com"
NAMES = {HOST: "10.201.0.10"}
POLICY = f"[policy]\nversion = 1\n[allow web]\nhost = {HOST}\n"
URL = f"https://{HOST}/"

PYTHON = f"import urllib.request as u; print(u.urlopen('{URL}').status)"
NODE = (f"fetch('{URL}').then(r => console.log(r.status), "
        "e => console.log(e.cause.code))")
CLIENTS = {
    "curl": ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}\\n", URL],
    "wget": ["wget", "-nv", "-O", "/dev/null", "--server-response",
             "--tries=1", URL],
    "python3": ["/usr/bin/python3", "-c", PYTHON],
    "node": ["node", "-e", NODE],
}
TAKEN = ("-300d", "-12h", "-1h", "+1h", "+12h", "+17h")
# How a client says so: too early, or too late.
REFUSED = {"-900d": "not yet valid|not yet activated|NOT_YET_VALID",
           "+3d": "has expired|expired|CERT_HAS_EXPIRED"}

_world = {}


def world():
    if not _world:
        w = World(NAMES)
        _world.update(w=w, s=w.sandbox(POLICY),
                      origin=Recorder(w, NAMES[HOST], 443, [HOST]))
    return _world["w"], _world["s"]


def at(s, offset, argv):
    """argv, run by the guest when its clock is off by offset."""
    if argv[0] == "wget":  # GnuTLS asks no environment
        argv = [*argv, f"--ca-certificate={s.ca}"]
    # Waiting goes on as ever: node sleeps until a time of the other clock.
    env = {**s.env, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    return s.run(["faketime", "-m", "-f", offset, *argv], env=env)


@claim("curl, wget, python3, node and openssl take a leaf when the guest is 12 hours behind or on, and with the clock of a snapshot")
def _():
    _, s = world()
    for offset in TAKEN:
        for name, argv in CLIENTS.items():
            got = at(s, offset, argv)
            equal(got.code, 0, f"{name} {offset}: {got!r}")
            contains(got.both, "200", f"{name} {offset}: {got!r}")
        got = at(s, offset, ["openssl", "s_client", "-verify_return_error",
                             "-connect", f"{HOST}:443", "-servername", HOST,
                             "-CAfile", s.ca])
        contains(got.both, "Verify return code: 0 (ok)", f"{offset}: {got!r}")
    return f"{len(TAKEN)} clocks, {len(CLIENTS) + 1} clients"


@claim("a leaf is over within a day and no client takes it for ever")
def _():
    _, s = world()
    for offset, said in REFUSED.items():
        for name, argv in CLIENTS.items():
            got = at(s, offset, argv)
            assert re.search(said, got.both), f"{name} {offset}: {got!r}"


def date(text):
    return datetime.datetime.strptime(
        text.strip(), "%b %d %H:%M:%S %Y GMT").replace(
            tzinfo=datetime.timezone.utc)


def dates(pem):
    text = run(["openssl", "x509", "-noout", "-dates"], stdin=pem).ok().out
    return [date(line.split("=", 1)[1]) for line in text.splitlines()]


@claim("the leaf ends within 24 hours, is shorter than any client's limit, and lies within its CA's time")
def _():
    _, s = world()
    got = s.run(["openssl", "s_client", "-connect", f"{HOST}:443",
                 "-servername", HOST, "-CAfile", s.ca], stdin=b"")
    pem = got.out[got.out.index("-----BEGIN"):got.out.index("-----END") + 25]
    begins, ends = dates(pem.encode())
    with open(s.ca, "rb") as f:
        ca_begins, ca_ends = dates(f.read())
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    assert now + day * 0.7 < ends <= now + day, (now, ends)
    assert ends - begins < 398 * day, (begins, ends)
    assert ca_begins < begins and ends < ca_ends, (ca_begins, ca_ends)


ASK = """
import socket, struct, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3)
s.sendto(b"\\x23" + b"\\0" * 47, ("100.64.0.1", 123))
data = s.recv(100)
print(round(struct.unpack("!I", data[40:44])[0] - 2208988800 - time.time()))
"""


@claim("whatever the guest's clock, SNTP tells it the host's")
def _():
    _, s = world()
    for offset, want in (("-300d", 300 * 86400), ("-12h", 43200),
                         ("+12h", -43200), ("+0", 0)):
        got = at(s, offset, ["/usr/bin/python3", "-c", ASK])
        assert abs(int(got.ok().out) - want) <= 2, f"{offset}: {got!r}"


@claim("the world of the clocks ends and leaves nothing")
def _():
    w, s = world()
    s.rm().ok()
    w.close()
    _world.clear()
