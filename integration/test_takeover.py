"""A gate that was taken over reaches what its policy names, and no more.

What it asks of the services, and what it sends them; test_takeover_calls.py has
what it asks of the kernel, floods, and its end.
"""
import itertools
import json
import os
import signal

from harness import memory
from harness.claims import claim, contains, equal, lacks, until
from harness.taken import Died, ask_body, audit_body, dial_body, lease_body, packet, str16
from harness.takeover import (SHARED, Hostile, about, gate_pid,
                              nothing_reached, service_pids, victim_works,
                              world)


@claim("a taken gate is confined as the gate is, and what its policy allows works in it")
def _():
    w, taken, victim = world()
    pid = taken.pid()
    equal(pid, gate_pid(w, taken.s), "the process that answers")
    reason, fd = taken.dial("plain.example.com", 80, "http")
    equal(reason, "")
    request = b"GET /v1/x HTTP/1.0\r\nHost: plain.example.com\r\n\r\n"
    taken.call("write", fd, request, len(request))
    def answer():
        rc, data = taken.call("read", fd, "b:512", 512)
        return data.rstrip(b"\0") if rc.isdigit() else None
    contains(until(answer, 5, "the origin's answer"), b"origin /v1/x")
    reason, body = taken.lease("shared", "open.example.com", path="/v1/x")
    equal(reason, "")
    contains(body, SHARED.encode(), "the lease that it was granted")
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        said = f.read()
    for line in ("NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000",
                 "CapBnd:\t0000000000000000", "Groups:\t \n"):
        contains(said, line)
    contains(os.readlink(f"/proc/{pid}/root"), f"{w.folder}/run")
    victim_works(victim)


# host, port, scheme; the first are shaped as an honest gate would
REFUSED_DIALS = [
    ("evil.example.com", 443, "https"),
    ("other.example.com", 443, "https"),  # the other sandbox's
    ("www.open.example.com", 443, "https"),
    ("example.com", 443, "https"),
    ("open.example.com.evil.example.com", 443, "https"),
    ("open.example.com", 80, "http"),
    ("open.example.com", 443, "tcp"),     # to speak past TLS
    ("open.example.com", 443, "http"),
    ("open.example.com", 8443, "https"),
    ("open.example.com", 22, "tcp"),
    ("plain.example.com", 80, "tcp"),
    ("plain.example.com", 80, "https"),
    ("plain.example.com", 443, "https"),
    ("loop.example.com", 443, "https"),   # allowed, and not its to have
    ("localhost", 443, "https"),
    ("foo.localhost", 443, "https"),
    ("metadata", 80, "http"),
    ("held.example.com", 443, "https"),   # nobody said yes
]

ODD_DIALS = [
    (b"open.example.com\0.evil.example.com", 443, 0),
    (b"evil.example.com\0", 443, 0),
    (b"open.example.com.", 443, 0),
    (b"OPEN.example.com", 443, 0),
    (b"open.example.com:443", 443, 0),
    (b"open.example.com@evil.example.com", 443, 0),
    (b"evil.example.com/open.example.com", 443, 0),
    (b"open..example.com", 443, 0),
    (b"-open.example.com", 443, 0),
    (b"op\xe9n.example.com", 443, 0),
    (b"open.example.com\r\nx", 443, 0),
    (b"", 443, 0),
    (b"a" * 64 + b".example.com", 443, 0),
    (b"a." * 127 + b"example.com", 443, 0),
    (b"10.201.0.66", 443, 0),
    (b"10.201.0.10", 443, 0),
    (b"2130706433", 443, 0),
    (b"0x7f.1", 443, 0),
    (b"127.1", 443, 0),
    (b"169.254.169.254", 80, 1),
    (b"[::1]", 443, 0),
    (b"::1", 443, 0),
    (b"open.example.com", 0, 0),
    (b"open.example.com", 443, 3),
    (b"open.example.com", 443, 255),
]


@claim("dials that its policy does not name: refused, nothing asked, nothing sent")
def _():
    w, taken, victim = world()
    for host, port, scheme in REFUSED_DIALS:
        got = taken.dial(host, port, scheme)
        assert got is not None, f"{host}:{port} {scheme} cost it the channel"
        assert got[0] and got[1] is None, f"{host}:{port} {scheme}: {got}"
        # A grant that it makes up reaches what a `redirect` names: nothing.
        got = taken.dial(host, port, scheme, redirect=True)
        assert got[0] and got[1] is None, f"redirect to {host}:{port}: {got}"
    # Its own say is not needed: whom it asked for is in the log.
    w.audited(taken.s.name, event="connect", host="evil.example.com",
              verdict="deny", reason="no-rule")
    w.audited(taken.s.name, event="connect", host="loop.example.com",
              verdict="deny", reason="private-address")
    nothing_reached()
    victim_works(victim)
    return f"{len(REFUSED_DIALS)} dials"


@claim("dials that no honest gate writes cost it the channel, and reach nothing")
def _():
    w, _, victim = world()
    before = service_pids(w)
    lost = 0
    for host, port, scheme in ODD_DIALS:
        with Hostile() as other:
            got = other.dial(host, port, scheme)
            assert got is None or (got[0] and got[1] is None), \
                f"{host}:{port} {scheme}: {got}"
            if got is None:
                lost += 1
                pid = other.pid()
                os.kill(pid, signal.SIGKILL)
                other.renewed(pid)
                equal(other.dial("plain.example.com", 80, "http")[0], "")
    nothing_reached()
    equal(service_pids(w), before, "the services")
    victim_works(victim)
    return f"{len(ODD_DIALS)} dials, {lost} of them lost it the channel"


# credential, host, and what else is wrong
REFUSED_LEASES = [
    ("spare", "open.example.com", {"path": "/v1/x"}),    # not named
    ("foreign", "third.example.com", {}),                # not granted
    ("vault", "other.example.com", {}),                  # another's
    ("vault", "open.example.com", {"path": "/v1/x"}),
    ("nobody", "open.example.com", {"path": "/v1/x"}),
    ("held", "held.example.com", {}),                    # nobody said yes
    ("shared", "other.example.com", {"path": "/v1/x"}),
    ("shared", "evil.example.com", {"path": "/v1/x"}),
    ("shared", "third.example.com", {"path": "/v1/x"}),
    ("shared", "open.example.com", {"port": 8443, "path": "/v1/x"}),
    ("shared", "open.example.com", {"port": 80, "scheme": 1, "path": "/v1/x"}),
    ("shared", "open.example.com", {"scheme": 1, "path": "/v1/x"}),
    ("shared", "open.example.com", {"scheme": 2, "path": "/v1/x"}),
    ("shared", "open.example.com", {"method": "POST", "path": "/v1/x"}),
    ("shared", "open.example.com", {"method": "get", "path": "/v1/x"}),
    ("shared", "open.example.com", {"method": "TRACE", "path": "/v1/x"}),
    ("shared", "open.example.com", {"method": "trace", "path": "/v1/x"}),
    ("shared", "open.example.com", {"websocket": True, "path": "/v1/x"}),
    ("shared", "open.example.com", {"path": "/v2/x"}),
    ("shared", "open.example.com", {"path": "/"}),
    ("shared", "open.example.com", {"path": "/v1/../v2/x"}),
    ("shared", "open.example.com", {"path": "/v1/%2e%2e/v2/x"}),
    ("shared", "open.example.com", {"path": "//v1/x"}),
    ("shared", "open.example.com", {"path": b"/v1/\0x"}),
    ("shared", "open.example.com", {"path": ""}),
    ("shared", "open.example.com", {"path": "/v2", "query": "/v1/x"}),
]

ODD_LEASES = [
    ("", "open.example.com", {}),
    (b"shared\0", "open.example.com", {}),
    ("shared", "OPEN.example.com", {"path": "/v1/x"}),
    ("shared", b"open.example.com\0.evil.example.com", {"path": "/v1/x"}),
    ("shared", "10.201.0.10", {"path": "/v1/x"}),
    ("shared", "open.example.com", {"port": 0, "path": "/v1/x"}),
    ("shared", "open.example.com", {"scheme": 7, "path": "/v1/x"}),
    ("shared", "open.example.com", {"method": "", "path": "/v1/x"}),
    ("shared", "open.example.com", {"method": "G" * 64, "path": "/v1/x"}),
    ("shared", "open.example.com", {"path": "/v1/" + "x" * 8190}),
    ("shared", "open.example.com", {"path": "/v1/x", "query": "q" * 4097}),
    ("s" * 64, "open.example.com", {"path": "/v1/x"}),
]


@claim("rows 109, 117: leases that it was not granted, or for other than they are for: refused")
def _():
    w, taken, victim = world()
    for credential, host, more in REFUSED_LEASES:
        got = taken.lease(credential, host, **more)
        assert got is not None, f"{credential} {host} {more}: channel lost"
        # The reason, and no word of why: nothing else comes back.
        assert got[0] and got[1][1:] == b"\0\0", f"{credential} {host} {more}: {got}"
    for credential, host, more in ODD_LEASES:
        with Hostile() as other:
            got = other.lease(credential, host, **more)
            assert got is None or (got[0] and got[1][1:] == b"\0\0"), \
                f"{credential} {host} {more}: {got}"
    w.audited(taken.s.name, event="lease", verdict="deny", credential="vault",
              reason="credential-misuse")
    nothing_reached()
    victim_works(victim)
    return f"{len(REFUSED_LEASES) + len(ODD_LEASES)} requests"


def questions(w, taken):
    return [a for a in json.loads(w.cli("ask", "list", taken.s.name, "--json")
                                  .ok().out) if a["state"] == "waiting"]


def once_asked(w, taken, ident, **asked):
    """It asks; the question that people then see."""
    equal(taken.send("supervisor", packet("MSG_ASK", ident, ask_body(**asked))), "0")
    return until(lambda: [a for a in questions(w, taken)
                          if a["host"] == asked["host"]], 10, "its question")[0]


@claim("a taken gate can ask about itself, cannot answer, and gets no further than what was answered")
def _():
    w, _, victim = world()
    with Hostile() as taken:
        a = once_asked(w, taken, 7, host="held.example.com", credential="held",
                       method="GET", target="/v1/x")
        equal(a["sandbox"], taken.s.name)
        equal(taken.dial("held.example.com", 443, "https")[0], "ask-timeout")
        equal(taken.lease("held", "held.example.com", path="/v1/x")[0],
              "credential-misuse")
        # Somebody is fooled: what the policy does not name stays shut.
        b = once_asked(w, taken, 8, host="evil.example.com", method="GET")
        w.cli("ask", "allow", b["id"]).ok()
        equal(taken.dial("evil.example.com", 443, "https")[0], "no-rule")
        # A yes is for one request and its host, for a minute.
        w.cli("ask", "allow", a["id"]).ok()
        reason, fd = taken.dial("held.example.com", 443, "https")
        assert reason == "" and fd is not None, reason
        for more in ({"path": "/v1/y"}, {"path": "/v1/x", "query": "a"},
                     {"path": "/v1/x", "method": "POST"},
                     {"path": "/v1/x", "websocket": True}):
            equal(taken.lease("held", "held.example.com", **more)[0],
                  "credential-misuse", more)
        # As many as may wait for one gate, whatever it says.
        before = taken.pid()
        try:
            for ident in range(100, 400):
                taken.send("supervisor", packet(
                    "MSG_ASK", ident, ask_body("held.example.com")))
        except Died:
            pass
        taken.renewed(before, 10)
        equal(questions(w, taken), [], "of the gate that was ended")
    nothing_reached()
    victim_works(victim)


def bad_packets(which, victim):
    """Of which none is one that a gate may send there."""
    good = {"dialler": ("MSG_DIAL", dial_body("open.example.com", 443, 0)),
            "broker": ("MSG_LEASE_REQUEST",
                       lease_body("shared", "open.example.com", path="/v1/x")),
            "recorder": ("MSG_AUDIT", audit_body("connect")),
            "supervisor": ("MSG_GATE_POLICY_ACK", str16("0" * 64))}[which]
    kind, body = good
    rows = [
        (b"", 0), (b"\1", 0), (b"\1\0\0\x10\0\0\0", 0),
        (packet(kind, 7, body, version=2), 0),
        (packet(kind, 7, body + b"x"), 0),
        (packet(kind, 7, body[:-1]), 0),
        (packet(kind, 7, body, fds=1), 0),
        (packet(kind, 7, body), 1),
        (packet(kind, 7, body, fds=1), 1),
        (packet(kind, 7, body, fds=16), 16),
        (packet(kind, 7, body, fds=60), 60),
        (packet(kind, 7, body + b"x" * 20000), 0),
        (packet(kind, 7, b"\xff" * 200000), 0),
        (packet(0, 7), 0), (packet(65535, 7), 0), (packet(kind, 7), 0),
    ]
    if which != "recorder":
        rows.append((packet(kind, 7, b"\xff" * len(body)), 0))
    if which == "recorder":
        # What readers of JSON take differently, or not at all.
        rows += [(packet(kind, 7, audit_body("connect", **{name: number})), 0)
                 for name in ("up", "down", "lease")
                 for number in (1 << 53, (1 << 64) - 1)]
    if which == "supervisor":
        # Answers that nobody asked for.
        rows += [(packet(kind, 7, body), 0), (packet("MSG_GATE_READY", 7), 0)]
        # Questions that no person could read, and none at all.
        rows += [(packet("MSG_ASK", ident, asked), 0) for ident, asked in (
            (7, b""), (0, ask_body("held.example.com")),
            (7, ask_body("held.example.com") + b"x"),
            (7, ask_body("held.example.com", scheme=2)),
            (7, ask_body("held.example.com", port=0)),
            (7, ask_body("held.example.com", body=1 << 53)),
            (7, ask_body("")), (7, ask_body(b"held\x1b[31m.example.com")),
            (7, ask_body("held.example.com", target=b"/\x1b]0;x\x07")),
            (7, ask_body("held.example.com", target=b"/\xe2\x80\xae")),
            (7, ask_body("held.example.com", target="/" + "x" * 2048)),
            (7, ask_body("held.example.com", rule=b"held\n")),
            (7, ask_body("held.example.com", method="")))]
    others = {"MSG_DIAL", "MSG_DIAL_CANCEL", "MSG_LEASE_REQUEST", "MSG_AUDIT",
              "MSG_GATE_POLICY_ACK", "MSG_GATE_STATUS_ANSWER",
              "MSG_HELLO", "MSG_GATE_READY", "MSG_ASK", "MSG_ASK_CANCEL",
              "MSG_ASKED", "MSG_ASK_ALLOWED"}
    mine = {"dialler": {"MSG_DIAL", "MSG_DIAL_CANCEL"},
            "broker": {"MSG_LEASE_REQUEST"}, "recorder": {"MSG_AUDIT"},
            "supervisor": {"MSG_HELLO", "MSG_GATE_READY",
                           "MSG_GATE_POLICY_ACK", "MSG_GATE_STATUS_ANSWER",
                           "MSG_ASK", "MSG_ASK_CANCEL"}}
    # Words of the supervisor, of other services, of the api.
    for kind in sorted(others - mine[which]):
        rows.append((packet(kind, 7), 0))
    for kind, fds in (("MSG_DIALLER_CONFIG", 0), ("MSG_DIALLER_ATTACH", 3),
                      ("MSG_DIALLER_DETACH", 0), ("MSG_BROKER_ATTACH", 3),
                      ("MSG_BROKER_CREDENTIAL", 1), ("MSG_BROKER_DETACH", 0),
                      ("MSG_RECORDER_LOG", 1), ("MSG_RECORDER_DETACH", 0),
                      ("MSG_RECORDER_READ", 1), ("MSG_RECORDER_ATTACH", 1),
                      ("MSG_API_REQUEST", 0), ("MSG_GATE_START", 6),
                      ("MSG_GATE_SOCKETS", 5), ("MSG_CA_MADE", 2)):
        rows.append((packet(kind, 7, victim + b"\0", fds=fds), fds))
    return rows


def costs_the_channel(taken, which, data, fds=0):
    """A gate that sends it is cut off by which, or ended by the supervisor."""
    before = taken.pid()
    try:
        word = taken.send(which, data, fds)
        assert word in ("0", "EPIPE", "ECONNRESET"), f"{which}: {word}"
    except Died:
        equal(which, "supervisor", "who ends the gate itself")
    if which == "supervisor":
        taken.renewed(before, 10)
    else:
        until(lambda: not taken.drain(which), 10,
              f"the channel to the {which} ends after "
              f"{data[:40].hex()} with {fds} descriptors")
        equal(taken.pid(), before, "the gate")


@claim("row 117: packets that are not its to send cost it the channel, and nobody else anything")
def _():
    w, taken, victim = world()
    pids = service_pids(w)
    open_before = {role: memory.fds(pid) for role, pid in pids.items()}
    open_before["tapwardd"] = memory.fds(w.daemon.pid)
    restarts = gate_pid(w, victim)
    count = 0
    services = ("dialler", "broker", "recorder", "supervisor")
    # A gate spends a channel of each; its end, by the supervisor, is the last.
    for packets in itertools.zip_longest(
            *(bad_packets(which, about(w, victim)) for which in services)):
        with Hostile() as taken:
            for which, bad in zip(services, packets):
                if bad is not None:
                    costs_the_channel(taken, which, *bad)
                    count += 1
        victim_works(victim)
    equal(service_pids(w), pids, "the services")
    equal(gate_pid(w, victim), restarts, "the other sandbox's gate")
    pids["tapwardd"] = w.daemon.pid
    for role, pid in pids.items():
        until(lambda: memory.fds(pid) <= open_before[role] + 2, 10,
              f"descriptors of {role}: {memory.fds(pid)}, before "
              f"{open_before[role]}")
    nothing_reached()
    return f"{count} packets"


@claim("what it writes down stands under its own name; what it may not say ends its channel")
def _():
    w, taken, victim = world()
    forged = (f'","sandbox":"{victim.name}","event":"lifecycle","x":"\n'
              '{"seq":1}\x1b[')
    for host in (forged, victim.name, 'a"b\\c'):
        equal(taken.send("recorder", packet("MSG_AUDIT", 0, audit_body(
            "request", verdict=2, reason="", host=host, detail=forged,
            path=forged.encode() + b"\xff\0", method="GET"))), "0")
    record = until(lambda: w.audit(taken.s.name, event="request"), 5,
                   "its record is in the log")[0]
    equal(record["generation"], json.loads(
        w.cli("show", taken.s.name, "--json").ok().out)["generation"])
    for name in ("event", "sandbox"):
        equal([r for r in w.audit(victim.name, event="request")
               if "seq" in str(r.get("host"))], [], name)
    with open(f"{w.folder}/log/audit.jsonl", "rb") as f:
        text = f.read()
    assert all(c == 10 or 32 <= c <= 126 for c in text), "printable ASCII"

    def said_of_victim():
        # Its kernel sends multicast when it likes; those come by NFLOG.
        return [r for r in w.audit(victim.name) if r["event"] != "packet"]

    before = said_of_victim()
    # Life cycles are the supervisor's; so is who a record is about.
    other = about(w, victim) + str16("")
    for kind, body in (
            ("MSG_AUDIT", audit_body("lifecycle", detail="forged", reason="")),
            ("MSG_AUDIT", audit_body("ask", verdict=2, detail="forged", reason="")),
            ("MSG_RECORDER_EVENT", other + audit_body("connect")),
            ("MSG_RECORDER_POLICY", other), ("MSG_RECORDER_DETACH", other)):
        with Hostile() as hostile:
            costs_the_channel(hostile, "recorder", packet(kind, 0, body))
    equal(said_of_victim(), before, "records of the other sandbox")
    said = [r["detail"] for r in w.audit(event="lifecycle")
            if r["sandbox"].startswith("hostile")]
    lacks(said, "forged")
    contains(w.cli("log", "--verify").ok().out, "unbroken")
