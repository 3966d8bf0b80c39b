#!/usr/bin/python3
"""Runs, in a guest of debian_guest.py, what its host asks for.

Usage: debian_agent.py PORT
PORT is the name of a virtio-serial port. A request is a line of JSON with
argv, timeout, cwd and env; so is the answer, with code, out and err. With
lines as well, each line that it writes goes before that, as it comes.
"""
import glob
import json
import os
import signal
import subprocess
import sys
import threading


def find(name):
    """The device of the port; there is no udev that links it by its name."""
    for path in glob.glob("/sys/class/virtio-ports/*/name"):
        with open(path, encoding="ascii") as f:
            if f.read().strip() == name:
                return f"/dev/{path.split('/')[-2]}"
    sys.exit(f"no port {name}")


def start(request, err):
    return subprocess.Popen(
        request["argv"], cwd=request["cwd"], start_new_session=True,
        env={**os.environ, "HOME": "/root", **request["env"]},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err)


def answer(request, say_line):
    try:
        process = start(request, subprocess.STDOUT if request.get("lines")
                        else subprocess.PIPE)
    except OSError as e:
        return {"code": 127, "out": "", "err": str(e)}
    late = threading.Event()

    def end():
        late.set()
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(request["timeout"], end)
    timer.start()
    if request.get("lines"):
        for line in process.stdout:
            say_line(line.decode("utf-8", "replace"))
    out, err = process.communicate()
    timer.cancel()
    return {"code": 124 if late.is_set() else process.returncode,
            "out": out.decode("utf-8", "replace"),
            "err": (err or b"").decode("utf-8", "replace")}


def main():
    fd = os.open(find(sys.argv[1]), os.O_RDWR)
    send(fd, {"ready": True})
    with os.fdopen(os.dup(fd), "rb") as lines:
        for line in lines:
            send(fd, answer(json.loads(line),
                            lambda text: send(fd, {"line": text})))


def send(fd, message):
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(fd, data):]


main()
