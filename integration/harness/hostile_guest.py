#!/usr/bin/python3
"""Runs as root in a guest: stops its agent and takes the agent's port, as a
guest that was broken into may. What it says there is the first argument:

  silence   nothing, ever again
  noise     bytes that are no frames, without end
  flood     frames on a stream that nobody opened, without end
  archive   to one GET after the other: the archives whose hexadecimal forms
            are the other arguments

It begins when a line comes in, since its agent has passed on all else by then,
and says that the agent is stopped in the only way that is left: by a question
for STOPPED, which is in the audit log then.
"""
import ctypes
import os
import socket
import struct
import sys
import time

STOPPED = "agent-is-stopped.example"

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
WALL = 0x40000000
PIDFD_GETFD = 438
GET, EXIT, DATA, EOF = 18, 33, 48, 49
HEAD = struct.Struct(">IBBHI")

libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "of the agent's process")
    return result


def take_port():
    for name in os.listdir("/proc/1/fd"):
        try:
            path = os.readlink(f"/proc/1/fd/{name}")
        except OSError:
            continue
        if "vport" in path:
            return check(libc.syscall(PIDFD_GETFD, os.pidfd_open(1), int(name),
                                      0))
    raise SystemExit("the agent has no port open")


def stop_agent():
    check(libc.ptrace(PTRACE_SEIZE, 1, None, None))
    check(libc.ptrace(PTRACE_INTERRUPT, 1, None, None))
    os.waitpid(1, WALL)


def tell_stopped():
    try:
        socket.getaddrinfo(STOPPED, 80)
    except OSError:
        pass


def write(port, data):
    while data:
        try:
            data = data[os.write(port, data):]
        except BlockingIOError:
            time.sleep(0.001)


def read(port, size):
    data = b""
    while len(data) < size:
        try:
            data += os.read(port, size - len(data))
        except BlockingIOError:
            time.sleep(0.001)
    return data


def say(port, kind, channel, stream, body=b""):
    write(port, HEAD.pack(len(body), kind, channel, 0, stream) + body)


def answer_get(port, archive):
    while True:
        size, kind, _, _, stream = HEAD.unpack(read(port, HEAD.size))
        read(port, size)
        if kind == GET:
            break
    say(port, DATA, 1, stream, archive)
    say(port, EOF, 1, stream)
    # It ended well, with status 0, because of no limit, with no text.
    say(port, EXIT, 0, stream, struct.pack(">BIBH", 1, 0, 0, 0))


def main():
    print("ready", flush=True)
    sys.stdin.readline()
    port = take_port()
    stop_agent()
    tell_stopped()
    what = sys.argv[1]
    for archive in sys.argv[2:]:
        answer_get(port, bytes.fromhex(archive))
    while what == "noise":
        write(port, b"\xff" * 65536)
    while what == "flood":
        say(port, DATA, 1, 0x7fffffff, b"x" * 4096)
    while True:
        time.sleep(1)


if __name__ == "__main__":
    main()
