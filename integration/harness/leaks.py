"""What a test may have left on the machine."""
import os
import time

from .shell import run


def snapshot():
    """Names of namespaces, devices, mounts and processes of ours."""
    things = set()
    if os.path.isdir("/run/netns"):
        things |= {f"namespace {n}" for n in os.listdir("/run/netns")}
    if os.path.isdir("/etc/netns"):
        things |= {f"folder /etc/netns/{n}" for n in os.listdir("/etc/netns")}
    with open("/proc/self/mounts", encoding="utf-8") as f:
        things |= {f"mount {line.split()[1]}" for line in f
                   if "tapward" in line or "/run/netns/" in line}
    for line in run(["ip", "-o", "link"]).out.splitlines():
        things.add(f"device {line.split()[1]}")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
                comm = f.read().strip()
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read()
        except OSError:
            continue
        # Whatever was started for a world names its folder somewhere.
        if comm.startswith("tapward") or b"tapward-test-" in words:
            things.add(f"process {comm} {pid}")
    return things


def since(before, seconds=5):
    """What is there now and was not before, once it has settled."""
    end = time.monotonic() + seconds
    while True:
        left = sorted(snapshot() - before)
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.1)
