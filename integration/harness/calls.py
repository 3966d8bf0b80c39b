"""How many system calls processes make, as strace counts them."""
import re
import signal
import subprocess

from .claims import until


def _is_traced(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return re.search(r"^TracerPid:\s+[1-9]", f.read(), re.M) is not None


def count(folder, pids, run):
    """{role: {call: times}} of pids, {role: pid}, while run() runs."""
    tracers = {}
    for role, pid in pids.items():
        tracers[role] = subprocess.Popen(
            ["strace", "-c", "-f", "-U", "calls,name", "-o",
             f"{folder}/calls-{role}", "-p", str(pid)],
            stderr=subprocess.DEVNULL)
    try:
        for pid in pids.values():
            until(lambda p=pid: _is_traced(p), 20, "strace attaches")
        run()
    finally:
        for tracer in tracers.values():
            tracer.send_signal(signal.SIGINT)
            tracer.wait(20)
    return {role: _read(f"{folder}/calls-{role}") for role in pids}


def _read(path):
    with open(path, encoding="ascii") as f:
        rows = re.findall(r"^\s*(\d+)\s+([a-z]\w*)$", f.read(), re.M)
    return {name: int(times) for times, name in rows if name != "total"}


def of_each(counted, units):
    """(calls for each unit, "role 12.3: call 1.0, ...") of what count() gave."""
    total, said = 0.0, []
    for role, calls in counted.items():
        each = sum(calls.values()) / units
        total += each
        most = sorted(calls.items(), key=lambda c: -c[1])
        said.append(f"{role} {each:.1f}: " + ", ".join(
            f"{name} {times / units:.1f}" for name, times in most
            if times / units >= 0.1))
    return total, "; ".join(said)
