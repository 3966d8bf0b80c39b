"""tapward forward: a port of the host that leads to one of a guest."""
import hashlib
import os
import socket
import subprocess

from harness.claims import claim, contains, equal, until
from harness.vm import BOOT_S, VmWorld

_world = {}
# Answers with the digest and the size of what comes before the half-close,
# then with as many bytes as were asked for in the first line.
SERVER = """
import hashlib, socket
s = socket.create_server(("127.0.0.1", 7000), backlog=16)
while True:
    c, _ = s.accept()
    f = c.makefile("rwb")
    size = int(f.readline())
    d, n = hashlib.sha256(), 0
    while data := f.read(65536):
        d.update(data)
        n += len(data)
    f.write(f"{d.hexdigest()} {n}\\n".encode())
    for _ in range(size >> 16):
        f.write(b"\\x5a" * 65536)
    f.flush()
    f.close()
    c.close()
"""


def world():
    if not _world:
        w = VmWorld()
        w.cli("create", "forwarded", "--policy", w.policy, "--image", "default",
              timeout=BOOT_S).ok()
        _world["w"] = w
    return _world["w"]


class Forward:
    def __init__(self, w, spec):
        self.process = subprocess.Popen(
            [f"{w.tree}/bin/tapward", "--socket", w.socket, "forward",
             "forwarded", spec], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True)
        self.line = self.process.stdout.readline().decode()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()
        self.process.stderr.close()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def forward(guest_port):
    port = free_port()
    return port, Forward(world(), f"{port}:{guest_port}")


def serve(w):
    """The server, in the guest, once."""
    if "server" in _world:
        return
    argv = [f"{w.tree}/bin/tapward", "--socket", w.socket, "exec", "--no-input",
            "forwarded", "--", "python3", "-c", SERVER]
    process = subprocess.Popen(argv, env=w.env, stdout=subprocess.DEVNULL)
    _world["server"] = process
    w.closers.append(lambda: (process.kill(), process.wait()))
    until(lambda: ":1B58" in w.cli("exec", "forwarded", "--", "cat",
                                   "/proc/net/tcp").out, 60, "it listens")


def talk(port, data, ask):
    """Sends data, closes that way, reads to the end."""
    with socket.create_connection(("127.0.0.1", port), 60) as s:
        f = s.makefile("rwb")
        f.write(f"{ask}\n".encode())
        f.write(data)
        f.flush()
        s.shutdown(socket.SHUT_WR)
        digest, size = f.readline().decode().split()
        return digest, int(size), f.read()


@claim("it says what leads where")
def _():
    port, f = forward(7000)
    with f:
        equal(f.line, f"127.0.0.1:{port} leads to port 7000 of forwarded\n")


@claim("8 MiB each way through a half-closed connection, whole")
def _():
    serve(world())
    port, f = forward(7000)
    data = os.urandom(8 << 20)
    with f:
        digest, size, back = talk(port, data, 8 << 20)
    equal((digest, size), (hashlib.sha256(data).hexdigest(), len(data)))
    equal(back == b"\x5a" * (8 << 20), True, f"{len(back)} bytes")


@claim("connection after connection, and several at once")
def _():
    serve(world())
    port, f = forward(7000)
    with f:
        for n in range(3):
            equal(talk(port, b"x" * n, 0)[1], n)
        held = [socket.create_connection(("127.0.0.1", port), 60)
                for _ in range(4)]
        for n, s in enumerate(held):
            s.sendall(b"0\n" + b"y" * n)
            s.shutdown(socket.SHUT_WR)
        for n, s in enumerate(held):
            contains(s.makefile().readline(), f" {n}\n")
            s.close()


@claim("a guest's port that nobody listens on closes the connection")
def _():
    port, f = forward(7001)
    with f:
        with socket.create_connection(("127.0.0.1", port), 60) as s:
            equal(s.recv(100), b"")
        contains(f.process.stderr.readline().decode(), "port 7001: ")


@claim("nothing is opened in the sandbox's network for it")
def _():
    w = world()
    port, f = forward(7000)
    with f:
        got = w.cli("verify", "forwarded", timeout=BOOT_S)
    contains(got.out, "5 sockets, all of the gate's")
    equal(got.code, 0, repr(got))
    return f"port {port}"


@claim("forward's own end closes the port; a command in the guest ends with it")
def _():
    serve(world())
    port, f = forward(7000)
    with f:
        s = socket.create_connection(("127.0.0.1", port), 60)
        s.sendall(b"0\n")
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except ConnectionRefusedError:
        pass
    else:
        raise AssertionError("it still listens")
    try:
        equal(s.recv(100), b"")
    except ConnectionResetError:
        pass
    s.close()
    w = world()
    until(lambda: "--connect" not in w.cli(
        "exec", "forwarded", "--", "sh", "-c",
        "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").out.replace(
            "cat /proc", ""), 20, "no relay is left in the guest")


@claim("bad ones: told at once, before anybody connects")
def _():
    w = world()
    for spec in ("7000", "0:7000", "1:65536", "x:1", "nowhere:1:80",
                 "1:2:3:4"):
        got = w.cli("forward", "forwarded", spec)
        assert got.code in (1, 64) and got.err, repr(got)
    got = w.cli("forward", "nobody", "7000:7000")
    equal(got.code, 1, repr(got))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        got = w.cli("forward", "forwarded", f"{s.getsockname()[1]}:7000")
        equal(got.code, 1, repr(got))
        contains(got.err, "in use")


@claim("the world of forward ends and leaves nothing")
def _():
    w = world()
    w.close()
    equal(w.left(), [])
    _world.clear()
