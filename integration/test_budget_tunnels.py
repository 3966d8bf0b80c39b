"""Budgets of tunnels that are open: WebSockets, TLS that is not looked into, and
scheme = tcp. What they may carry, and until when."""
import datetime
import re
import ssl
import threading
import time

from harness.claims import claim, contains, equal, lacks, until
from harness.hellos import answer, client_hello
from harness.origins import RawOrigin
from harness.raw import connect, read, synthetic, tls
from harness.websocket import HANDSHAKE, OPEN, ask
from harness.world import World

NAMES = {"ws.example.com": "10.201.0.30", "pass.example.com": "10.201.0.31",
         "db.example.com": "10.201.0.32"}

POLICY = """\
[policy]
version = 1

[allow ws]
host      = ws.example.com
websocket = yes
{budget}

[allow pass]
host = pass.example.com
tls  = passthrough
{budget}

[allow db]
host   = db.example.com
port   = 5432
scheme = tcp
{budget}
"""
MOST = 100000
KINDS = ("ws", "pass", "db")
OPENED = re.compile(rb"\r\n\r\n\Z")

_world = {}


class Origin:
    """Opens each tunnel; says what it is told to, and counts what it hears."""

    def __init__(self, w, kind):
        self.context, self.opens = None, kind == "ws"
        if kind != "db":
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*w.authority.issue(f"{kind}.example.com"))
        self.heard, self.ended, self.says = 0, 0, b""
        self.opened = 0
        w.own(RawOrigin(w.net, NAMES[f"{kind}.example.com"],
                        5432 if kind == "db" else 443, self.serve))

    def serve(self, peer, _):
        if self.context:
            peer = self.context.wrap_socket(peer, server_side=True)
        try:
            if self.opens:
                read(peer, until=OPENED)
                peer.sendall(OPEN)
            self.opened += 1
            thread = threading.Thread(target=self.speak, args=(peer,), daemon=True)
            thread.start()
            while True:
                part = peer.recv(65536)
                if not part:
                    return
                self.heard += len(part)
        finally:
            self.ended += 1

    def speak(self, peer):
        try:
            peer.sendall(self.says)
        except OSError:
            pass


def world():
    if not _world:
        w = World(NAMES)
        _world.update(w=w, origins={kind: Origin(w, kind) for kind in KINDS})
    return _world["w"], _world["origins"]


def tunnel(s, kind):
    """An open one, from the guest."""
    w, origins = world()
    before = origins[kind].opened
    if kind == "db":
        k = connect(s, (synthetic(s, "db.example.com"), 5432))
    else:
        k = tls(s, f"{kind}.example.com", ca=w.authority.ca if kind == "pass" else None)
    if kind == "ws":
        k.sendall(ask("ws", HANDSHAKE))
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += k.recv(1)
        equal(answer.split(b"\r\n")[0], OPEN.split(b"\r\n")[0])
    else:
        k.sendall(b"hello")
    until(lambda: origins[kind].opened > before, 5, f"{kind} is open")
    return k


def drain(k, seconds=5):
    """How many bytes come until it ends; it has to."""
    size = 0
    k.settimeout(seconds)
    try:
        while part := k.recv(65536):
            size += len(part)
    except TimeoutError as e:
        raise AssertionError(f"it is open after {size} bytes") from e
    except OSError:
        pass
    return size


def rule_record(s, kind, reason):
    """One that names rule and reason: of a WebSocket the request's."""
    return s.audited(event="request" if kind == "ws" else "connect",
                     rule=kind, reason=reason)


@claim("budget: an open WebSocket, passthrough or tcp tunnel ends at its last byte down, within a second")
def _():
    w, origins = world()
    s = w.sandbox(POLICY.format(budget=f"max-download = {MOST}"))
    took = []
    for kind in KINDS:
        origins[kind].says = b"d" * (4 * MOST)
        k = tunnel(s, kind)
        begun = time.monotonic()
        size = drain(k)
        took.append(time.monotonic() - begun)
        k.close()
        origins[kind].says = b""
        assert 0 < size <= MOST, (kind, size)
        assert took[-1] < 1, (kind, took)
        rule_record(s, kind, "limit-download")
    s.rm().ok()
    return f"ended {max(took):.2f} s after the first byte"


@claim("budget: ... and at its last byte up, of which none is beyond it")
def _():
    w, origins = world()
    s = w.sandbox(POLICY.format(budget=f"max-upload = {MOST}"))
    for kind in KINDS:
        origin = origins[kind]
        k = tunnel(s, kind)
        heard, ended = origin.heard, origin.ended
        k.settimeout(5)
        try:
            for _ in range(8):
                k.sendall(b"u" * (MOST // 2))
        except OSError:
            pass
        begun = time.monotonic()
        drain(k)
        until(lambda: origin.ended > ended, 5, f"the origin of {kind} hears it")
        assert time.monotonic() - begun < 1, kind
        k.close()
        assert origin.heard - heard <= MOST, (kind, origin.heard - heard)
        rule_record(s, kind, "limit-upload")
    s.rm().ok()


def refuse_one_more(s, kind):
    """A tunnel that is not opened: what its guest is told, nothing of the origin."""
    if kind == "ws":
        with tls(s, "ws.example.com") as k:
            k.sendall(ask("ws", HANDSHAKE))
            contains(read(k), b"HTTP/1.1 429 ")
        return
    host, port = f"{kind}.example.com", 5432 if kind == "db" else 443
    with connect(s, (synthetic(s, host), port)) as k:
        k.sendall(b"hello" if kind == "db" else client_hello([host.encode()]))
        said = read(k, until=None)
    if kind == "pass":
        lacks(answer(said), "hello")
        assert any(what.startswith("alert") for what in answer(said)), said
    else:
        assert said.startswith(b"<"), said


@claim("budget: tunnels that are open are counted: one more than max-connections is refused until one has ended")
def _():
    w, origins = world()
    s = w.sandbox(POLICY.format(budget="max-connections = 2"))
    for kind in KINDS:
        origin = origins[kind]
        held = [tunnel(s, kind) for _ in range(2)]
        opened, ended = origin.opened, origin.ended
        refuse_one_more(s, kind)
        rule_record(s, kind, "limit-connections")
        equal(origin.opened, opened, f"{kind}: tunnels at the origin")
        held.pop().close()
        until(lambda: origin.ended > ended, 5, f"the origin of {kind} hears it")
        held.append(tunnel(s, kind))
        for k in held:
            k.close()
    s.rm().ok()


@claim("budget: a tunnel that says nothing ends when its rule does, within a second")
def _():
    w, _ = world()
    end = datetime.datetime.now(datetime.timezone.utc).replace(
        microsecond=0) + datetime.timedelta(seconds=3)
    s = w.sandbox(POLICY.format(budget=f"until = {end:%Y-%m-%dT%H:%M:%SZ}"))
    tunnels = {kind: tunnel(s, kind) for kind in KINDS}
    late = []
    for kind, k in tunnels.items():
        drain(k)
        late.append(time.time() - end.timestamp())
        k.close()
        assert 0 <= late[-1] < 1, (kind, late)
        rule_record(s, kind, "until")
    s.rm().ok()
    return f"ended {max(late):.2f} s after the time"
