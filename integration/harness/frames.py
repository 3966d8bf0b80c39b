"""The host's side of vmm/frame.h, for tests: commands and copies by frames."""
import hashlib
import select
import socket
import struct
import time

HELLO, STATE, CLOCK, POWEROFF = 1, 2, 3, 4
EXEC, PUT, GET, SIGNAL, RESIZE, RESET = 16, 17, 18, 19, 20, 21
STARTED, EXIT = 32, 33
DATA, EOF, WINDOW_ADD = 48, 49, 50
INPUT, OUTPUT, ERROR, ARGS = 0, 1, 2, 3
WINDOW = 262144
PAYLOAD_MAX = 65536
HEAD = struct.Struct(">IBBHI")
ENDS = {1: "code", 2: "signal", 3: "not-found", 4: "not-run", 5: "failed"}
LIMITS = {0: "", 1: "timeout", 2: "output", 3: "memory", 4: "duration"}


def frame(kind, stream=0, channel=0, body=b""):
    return HEAD.pack(len(body), kind, channel, 0, stream) + body


def text16(text):
    raw = text.encode()
    return struct.pack(">H", len(raw)) + raw


class Task:
    """One stream. end is None while it runs, then ("code", 0) and the like."""

    def __init__(self, host, stream, stdin, sink):
        self.host, self.stream = host, stream
        self.stdin = memoryview(stdin or b"")
        self.stdin_open = True
        self.closes_stdin = True
        self.credit = WINDOW
        self.out, self.err = bytearray(), bytearray()
        self.sink = sink or self.out.extend
        self.pid = None
        self.is_reset = False
        self.end, self.limit, self.text = None, "", ""

    def __repr__(self):
        return (f"end {self.end} limit {self.limit!r} text {self.text!r} "
                f"out {bytes(self.out[-2000:])!r} err {bytes(self.err[-2000:])!r}")

    def take(self, kind, channel, body):
        if kind == DATA:
            (self.sink if channel == OUTPUT else self.err.extend)(body)
            # Behind a RESET nothing may be sent for its stream.
            if not self.is_reset:
                self.host.put(frame(WINDOW_ADD, self.stream, channel,
                                    struct.pack(">I", len(body))))
        elif kind == WINDOW_ADD:
            self.credit += struct.unpack(">I", body)[0]
        elif kind == STARTED:
            self.pid = struct.unpack(">I", body)[0]
        elif kind == EXIT:
            end, value, limit, _ = struct.unpack(">BIBH", body[:8])
            self.end, self.limit = (ENDS[end], value), LIMITS[limit]
            self.text = body[8:].decode("ascii")

    def feed(self):
        """Input that the window has room for, while little else waits."""
        while self.stdin and self.credit and self.host.waiting() < 4 * PAYLOAD_MAX:
            part = self.stdin[:min(self.credit, PAYLOAD_MAX)]
            self.host.put(frame(DATA, self.stream, INPUT, bytes(part)))
            self.credit -= len(part)
            self.stdin = self.stdin[len(part):]
        if not self.stdin and self.closes_stdin and self.stdin_open:
            self.stdin_open = False
            self.host.put(frame(EOF, self.stream, INPUT))

    def send(self, data):
        self.stdin = memoryview(bytes(self.stdin) + data)
        self.host.turn(0)

    def signal(self, number):
        self.host.put(frame(SIGNAL, self.stream, 0, bytes([number])))

    def resize(self, rows, cols):
        self.host.put(frame(RESIZE, self.stream, 0,
                            struct.pack(">HH", rows, cols)))

    def reset(self):
        self.stdin, self.closes_stdin = memoryview(b""), False
        self.is_reset = True
        self.host.put(frame(RESET, self.stream))

    def wait(self, seconds=60):
        self.host.until(lambda: self.end is not None, seconds, self)
        return self

    def wait_out(self, text, seconds=60):
        self.host.until(lambda: text in self.out, seconds, self)
        return self


class Host:
    """The end of a socket at whose other end an agent is, or tapward-vm."""

    def __init__(self, sock):
        self.sock = sock
        sock.setblocking(False)
        self.raw, self.out = bytearray(), bytearray()
        self.tasks, self.last = {}, 0
        self.hello_at = None
        self.states = []
        self.put(frame(HELLO, body=struct.pack(">II", 1, 0)))

    def put(self, raw):
        self.out += raw

    def waiting(self):
        return len(self.out)

    def take(self, kind, channel, stream, body):
        if kind == HELLO:
            self.hello_at = time.monotonic()
        elif kind == STATE:
            self.states.append(body)
        else:
            task = self.tasks[stream]
            task.take(kind, channel, body)
            if kind == EXIT:
                del self.tasks[stream]

    def parse(self):
        at = 0
        while len(self.raw) - at >= HEAD.size:
            length, kind, channel, _, stream = HEAD.unpack_from(self.raw, at)
            if len(self.raw) - at - HEAD.size < length:
                break
            body = bytes(self.raw[at + HEAD.size:at + HEAD.size + length])
            at += HEAD.size + length
            self.take(kind, channel, stream, body)
        del self.raw[:at]

    def turn(self, seconds=0.5):
        for task in list(self.tasks.values()):
            task.feed()
        readable, writable, _ = select.select(
            [self.sock], [self.sock] if self.out else [], [], seconds)
        if writable:
            sent = self.sock.send(self.out[:1 << 18])
            del self.out[:sent]
        if readable:
            raw = self.sock.recv(1 << 20)
            if not raw:
                raise EOFError("the other end is closed")
            self.raw += raw
            self.parse()

    def until(self, condition, seconds, what=""):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s: {what!r}")
            self.turn()

    def open(self, kind, body, stdin, sink):
        self.last += 1
        task = Task(self, self.last, stdin, sink)
        self.tasks[self.last] = task
        self.put(frame(kind, self.last, 0, body))
        return task

    def exec(self, *argv, env=None, cwd="", user="", tty=None, stdin=b"",
             sink=None):
        """Starts argv; stdin None leaves it open, without an end."""
        variables = [f"{k}={v}" for k, v in (env or {}).items()]
        args = b"".join(s.encode() + b"\0" for s in [*argv, *variables])
        rows, cols = tty or (0, 0)
        body = struct.pack(">IHHHHIIQ", bool(tty), rows, cols, len(argv),
                           len(variables), len(args), 0, 0)
        task = self.open(EXEC, body + text16(cwd) + text16(user), stdin, sink)
        task.closes_stdin = stdin is not None
        for at in range(0, len(args), PAYLOAD_MAX):
            self.put(frame(DATA, self.last, ARGS, args[at:at + PAYLOAD_MAX]))
        return task

    def sh(self, script, **more):
        return self.exec("sh", "-c", script, **more)

    def copy(self, kind, path, stdin=b"", merge=False, sink=None):
        body = struct.pack(">I", merge) + text16(path) + text16("")
        task = self.open(kind, body, stdin, sink)
        if kind == GET:
            task.stdin_open = False
        return task


class Digest:
    """A sink that keeps the sum of what it is given."""

    def __init__(self):
        self.hash, self.length = hashlib.sha256(), 0

    def __call__(self, data):
        self.hash.update(data)
        self.length += len(data)


def archive_of_file(data, mode=0o644):
    return (b"TWA1\x02" + struct.pack(">HqIHQ", mode, 10**9, 0, 0, len(data))
            + data + b"\x05")


def pair():
    """(ours, theirs); theirs is for a child to inherit."""
    ours, theirs = socket.socketpair()
    theirs.set_inheritable(True)
    return ours, theirs
