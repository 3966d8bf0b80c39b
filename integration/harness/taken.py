"""Commands a gate that was taken over (hostile_gate.c), and speaks its messages."""
import os
import re
import struct
import time
import urllib.parse

from .claims import until
from .origins import socket_in

BASE = os.path.normpath(f"{os.path.dirname(os.path.abspath(__file__))}/../../base")


def _enum(path, pattern):
    with open(f"{BASE}/{path}", encoding="ascii") as f:
        return re.findall(pattern, f.read())


TYPES = {name: int(number) for name, number in
         _enum("message.h", r"(MSG_\w+) = (\d+)")}
# By their numbers on the wire; the first is none.
REASONS = [name.lower().replace("_", "-") for name in
           _enum("reason.h", r"\n\tREASON_(\w+),")]
EVENTS = ["dns", "connect", "request", "packet", "lease", "lifecycle", "ask"]
SCHEMES = ["https", "http", "tcp"]


def str16(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack(">H", len(data)) + data


def packet(kind, ident, body=b"", *, version=1, fds=0):
    """The bytes of a message; kind is a name of base/message.h or a number."""
    number = TYPES[kind] if isinstance(kind, str) else kind
    return struct.pack(">BBHI", version, fds, number, ident) + body


def dial_body(host, port, scheme, redirect=False):
    number = SCHEMES.index(scheme) if isinstance(scheme, str) else scheme
    return str16(host) + struct.pack(">HBB", port, number, redirect)


def lease_body(credential, host, port=443, scheme=0, method="GET", path="/",
               query=None, websocket=False, region="", service=""):
    return (str16(credential) + str16(host) + struct.pack(">HB", port, scheme)
            + str16(method) + str16(path)
            + (b"\0" if query is None else b"\1" + str16(query))
            + (b"\1" if websocket else b"\0") + str16(region)
            + str16(service))


def ask_body(host, port=443, scheme=0, method="POST", target="/v1/x",
             websocket=0, credential="", ceiling=0, rule="held",
             file="tapward.ini", body=0):
    return (struct.pack(">BH", scheme, port) + str16(host) + str16(method)
            + str16(target) + bytes([websocket]) + str16(credential)
            + bytes([ceiling]) + str16(rule) + str16(file)
            + struct.pack(">IQ", 7, body))


def audit_body(event, *, verdict=0, reason="no-rule", host="", port=443,
               method="", path="", detail="", rule="-", file="", credential="",
               up=0, down=0, lease=0):
    return (struct.pack(">BBBB", EVENTS.index(event), verdict,
                        REASONS.index(reason) if reason else 0, 0)
            + str16(rule) + str16(file) + struct.pack(">I", 0)
            + b"\0" + str16("") + str16("") + struct.pack(">IB", 0, 0)  # learned, scheme
            + str16(host) + struct.pack(">H", port) + str16(method) + str16(path)
            + struct.pack(">HQQI", 0, up, down, 0) + str16(credential)
            + struct.pack(">Q", lease) + str16("") + str16(detail))


class Died(Exception):
    """The gate ended before it answered."""


class Taken:
    """The guest of sandbox s, whose gate does what it says."""

    def __init__(self, world, s):
        self.world, self.s = world, s
        self.received = bytearray()  # every byte that a channel brought
        self.socket = None
        self.ident = 100
        url = urllib.parse.urlsplit(s.info["proxy"])
        self.address = (url.hostname, url.port)

    def connect(self):
        self.close()
        self.socket = socket_in(self.s.guest)
        self.socket.settimeout(30)
        # The supervisor's copy of the listener takes this even while there
        # is no gate; the next one answers.
        self.socket.connect(self.address)

    def close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = None

    def ask(self, *words):
        """The words of the answer."""
        if self.socket is None:
            self.connect()
        line = (" ".join(str(w) for w in words) + "\n").encode()
        answer = b""
        try:
            self.socket.sendall(line)
            while not answer.endswith(b"\n"):
                part = self.socket.recv(1 << 20)
                if not part:
                    raise ConnectionResetError
                answer += part
        except ConnectionError as e:
            self.close()
            raise Died(" ".join(str(w)[:40] for w in words)) from e
        return answer.decode("ascii").split()

    def send(self, which, data, fds=0):
        """0, or the name of an error, of a packet sent as it is."""
        # A channel that is full has room again in a moment.
        def once():
            word = self.ask("send", which, fds, data.hex() or "-")[0]
            return word if word != "EAGAIN" else None
        word = until(once, 10, f"room in the channel to the {which}")
        return "0" if word.isdigit() else word

    def recv(self, which, seconds=10):
        """(packet, descriptors), or None when the channel has ended."""
        end = time.monotonic() + seconds
        while True:
            words = self.ask("recv", which)
            if words[0] != "EAGAIN":
                break
            if time.monotonic() > end:
                raise AssertionError(f"nothing from the {which} in {seconds} s")
            time.sleep(0.005)
        if len(words) == 1:
            return None
        data = b"" if words[1] == "-" else bytes.fromhex(words[1])
        self.received += data
        return data, [int(w) for w in words[2:]]

    def drain(self, which):
        """Takes what lies in the channel; False when it has ended."""
        while True:
            words = self.ask("recv", which)
            if words[0] == "EAGAIN":
                return True
            if len(words) == 1:
                return False
            self.received += bytes.fromhex(words[1].replace("-", ""))

    def question(self, which, kind, body, answer, seconds=20):
        """(body of the answer, descriptors), or None: the channel ended."""
        self.ident += 1
        if self.send(which, packet(kind, self.ident, body)) != "0":
            return None
        while True:
            got = self.recv(which, seconds)
            if got is None:
                return None
            _, _, number, ident = struct.unpack(">BBHI", got[0][:8])
            if number == TYPES[answer] and ident == self.ident:
                return got[0][8:], got[1]

    def dial(self, host, port, scheme, redirect=False):
        """(reason, descriptor or None), or None: the channel ended."""
        got = self.question("dialler", "MSG_DIAL",
                            dial_body(host, port, scheme, redirect),
                            "MSG_DIALED")
        if got is None:
            return None
        body, fds = got
        reason = REASONS[body[0]] if body[0] else ""
        return reason, (fds[0] if fds else None)

    def lease(self, *args, **kwargs):
        """(reason, body), or None: the channel ended."""
        got = self.question("broker", "MSG_LEASE_REQUEST",
                            lease_body(*args, **kwargs), "MSG_LEASE")
        if got is None:
            return None
        body, _ = got
        return (REASONS[body[0]] if body[0] else ""), body

    def call(self, name, *args):
        """(result or the name of its error, bytes of b: arguments)."""
        words = [f"x:{a.hex()}" if isinstance(a, bytes) else a for a in args]
        answer = self.ask("call", name, *words)
        room = bytes.fromhex(answer[1]) if len(answer) > 1 and \
            answer[1] != "-" else b""
        return answer[0], room

    def pid(self):
        return int(self.call("getpid")[0])

    def renewed(self, before, seconds=30):
        """Waits until another process than before answers; its pid."""
        def once():
            try:
                pid = self.pid()
            except Died:
                return None
            if pid == before:
                self.close()
            return pid if pid != before else None
        return until(once, seconds, f"a gate after {before} answers")
