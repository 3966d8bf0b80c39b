"""Running programs, in and out of network namespaces."""
import os
import signal
import subprocess


class Result:
    """What a finished program left: code, out, err (text)."""

    def __init__(self, argv, code, out, err):
        self.argv, self.code, self.out, self.err = argv, code, out, err
        self.both = out + err

    def __repr__(self):
        return (
            f"{' '.join(self.argv)} -> {self.code}\n"
            f"--- out\n{self.out[-3000:]}\n--- err\n{self.err[-3000:]}"
        )

    def ok(self):
        if self.code != 0:
            raise AssertionError(repr(self))
        return self


def run(argv, timeout=60, stdin=None, env=None, cwd=None, text=True):
    """Runs argv to its end, or kills its whole group after timeout seconds."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        cwd=cwd,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(stdin, timeout=timeout)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        code = 124
    if text:
        out, err = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
    return Result(list(argv), code, out, err)


def in_net(namespace, argv):
    """argv, run in a named network namespace, mounts as they are."""
    return ["nsenter", f"--net=/run/netns/{namespace}", *argv]


def start(argv, log, env=None, cwd=None):
    """Starts a long-lived program that writes to the file log."""
    with open(log, "ab") as out:
        return subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env,
            cwd=cwd, start_new_session=True,
        )


def stop(process, seconds=5):
    """Ends it: SIGTERM, then SIGKILL to its group."""
    if process is None or process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
