"""What a unit of work costs in system calls: the part of its cost that no
other load on the machine changes. tools/bench has the rest."""
import json
import os

from harness import calls, hellos, raw
from harness.claims import claim, equal, until
from harness.origins import Nginx, RawOrigin
from harness.world import BUILD, World

PASSED, SEEN = "10.201.0.10", "10.201.0.11"
POLICY = """\
[policy]
version = 1

[allow passed]
host = pass.example.com
tls  = passthrough

[allow seen]
host       = seen.example.com
credential = calls
"""
CREDENTIAL = """
[credential calls]
kind  = static
value = file:{token}
host  = seen.example.com
apply = bearer
grant = * user:root
"""
# Of what is counted after a few to warm up.
CONNECTIONS, REQUESTS = 50, 500
ANSWER = b"\x16\3\3" + hellos.vec(2, b"answer" * 20)
# nginx's stream proxy makes 24 for the same; 9 are the dialler's.
PASSTHROUGH_MOST = 33.5
# nginx as a reverse proxy makes 9.
KEPT_MOST = 8.5
# With a handshake, and the end of the connection.
NEW_MOST = 20.5
_made = []


def answer_and_end(peer, record):
    """What a server does, as far as one sees from outside: answers a hello,
    and ends when the other side does."""
    part = peer.recv(65536)
    record += part
    peer.sendall(ANSWER)
    while part:
        part = peer.recv(65536)


def world():
    if not _made:
        w = World({"pass.example.com": PASSED, "seen.example.com": SEEN},
                  start=False)
        token = w.file("token", "token-of-the-calls\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(CREDENTIAL.format(token=token))
        w.own(RawOrigin(w.net, PASSED, 443, answer_and_end))
        os.makedirs(f"{w.folder}/www")
        with open(f"{w.folder}/www/1k", "wb") as f:
            f.write(bytes(1024))
        cert, key = w.authority.issue("seen.example.com")
        w.own(Nginx(w.net, f"{w.folder}/nginx", f"""
          server {{ listen {SEEN}:443 ssl; ssl_certificate {cert};
            ssl_certificate_key {key}; root {w.folder}/www; }}"""))
        w.start()
        _made.extend((w, w.sandbox(POLICY)))
    return _made


def processes(w, s):
    show = json.loads(w.cli("show", s.name, "--json").ok().out)
    status = json.loads(w.cli("status", "--json").ok().out)
    return {"gate": show["gate_pid"],
            **{p["role"]: p["pid"] for p in status["processes"]
               if p["role"] == "dialler"}}


def ended(w, s):
    """Records of tunnels that are over."""
    return len([r for r in w.audit(s.name, event="connect")
                if r.get("down", 0) > 0])


def pass_through(w, s, count):
    address = raw.synthetic(s, "pass.example.com"), 443
    want = ended(w, s) + count
    for _ in range(count):
        with raw.connect(s, address) as k:
            k.sendall(hellos.client_hello([b"pass.example.com"]))
            equal(k.recv(65536), ANSWER, "the answer to the hello")
    until(lambda: ended(w, s) >= want, 10, "the records of all connections")


@claim("a passthrough connection costs no more system calls than it did, the "
       "dialler's among them")
def _():
    w, s = world()
    pass_through(w, s, 5)
    return hold_to(PASSTHROUGH_MOST, w, s, CONNECTIONS,
                   lambda: pass_through(w, s, CONNECTIONS))


def ask(s, mode, count):
    address = f"{raw.synthetic(s, 'seen.example.com')}:443"
    s.guest.run([f"{BUILD}/integration/load", address, "seen.example.com",
                 s.ca, mode, str(count), "1", "/1k"]).ok()


def hold_to(most, w, s, units, run):
    """What the claim says, of run(), which does so many units of work."""
    each, said = calls.of_each(
        calls.count(w.folder, processes(w, s), run), units)
    if each > most:
        raise AssertionError(f"{each:.1f}, not {most}: {said}")
    return f"{each:.1f}: {said}"


@claim("an inspected request on a kept connection, with a credential, costs "
       "no more system calls than it did")
def _():
    w, s = world()
    ask(s, "kept", 5)
    return hold_to(KEPT_MOST, w, s, REQUESTS,
                   lambda: ask(s, "kept", REQUESTS))


@claim("a new inspected connection and a request on it cost no more system "
       "calls than they did")
def _():
    w, s = world()
    ask(s, "conn", 5)
    return hold_to(NEW_MOST, w, s, CONNECTIONS,
                   lambda: ask(s, "conn", CONNECTIONS))


@claim("the world of the counted calls ends and leaves nothing")
def _():
    world()[0].close()
