"""Claims side by side: each lane a process, with worlds of its own."""
import json
import os
import signal
import sys

# Modules whose guests are emulated, which takes a core; the others mostly wait.
# Those guests have time: what they take must not be missing where a claim looks
# at tenths of a second.
EMULATED = ("vm", "guest", "qemu")
NICE = 10


def split(chosen):
    """(what is added to its nice value, claims) of each: those with microVMs,
    and all others; in their order."""
    lanes = [], []
    for label, function in chosen:
        lanes[label.startswith(EMULATED)].append((label, function))
    return zip((0, NICE), lanes)


def run(lanes):
    """Runs each (nice, function that gives (passed, failed, skipped)) in a process
    of its own; the sums. One that dies counts as a failure."""
    sums = [0, 0, 0]
    sys.stdout.flush()
    children = [start(*lane) for lane in lanes]
    try:
        for pid, counts in children:
            with os.fdopen(counts, encoding="ascii") as f:
                text = f.read()
            os.waitpid(pid, 0)
            if not text:
                print("FAILED  a lane of claims died", flush=True)
            for i, n in enumerate(json.loads(text or "[0, 1, 0]")):
                sums[i] += n
    except BaseException:
        for pid, _ in children:
            try:
                os.kill(pid, signal.SIGINT)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
        raise
    return sums


def start(nice, lane):
    """(pid, descriptor that its counts come from)."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid != 0:
        os.close(theirs)
        return pid, ours
    os.close(ours)
    os.nice(nice)
    counts = lane()
    os.write(theirs, json.dumps(counts).encode())
    sys.exit(0)  # and whatever is to be done then
