"""A program on a terminal of its own, and what stands on its screen."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

from .claims import until

ORDER = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Screen:
    """argv as the session leader of a new pty; keys go in by type()."""

    def __init__(self, argv, columns=80, rows=24, env=None):
        self.main, sub = pty.openpty()
        self.sub = sub
        self.size(columns, rows)
        self.before = termios.tcgetattr(sub)
        self.raw = b""
        self.status = None
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.main)
            self._login(sub)
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            try:
                os.execvpe(argv[0], argv, {
                    "PATH": os.environ["PATH"], "TERM": "xterm", **(env or {})})
            finally:
                os._exit(127)

    @staticmethod
    def _login(sub):
        os.setsid()
        fcntl.ioctl(sub, termios.TIOCSCTTY, 0)
        for fd in (0, 1, 2):
            os.dup2(sub, fd)
        if sub > 2:
            os.close(sub)

    def size(self, columns, rows):
        fcntl.ioctl(self.sub, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self.main, keys.encode())

    def read(self):
        """All that has come so far."""
        while select.select([self.main], [], [], 0)[0]:
            try:
                part = os.read(self.main, 65536)
            except OSError:
                break
            if not part:
                break
            self.raw += part
        return self.raw.decode("ascii")

    def comes(self, text, seconds=30):
        """Waits until it was written; forgets all up to its end."""
        until(lambda: text in self.read(), seconds, text)
        self.raw = self.raw.split(text.encode(), 1)[1]

    def screen(self):
        """The lines of the last whole frame, without colors."""
        frames = self.read().split("\x1b[H")
        return ORDER.sub("", frames[-1]).replace("\r", "").split("\n")

    def fits(self, columns, rows):
        """The last frame has so many lines, and none is as wide as that."""
        lines = self.screen()
        return len(lines) == rows and max(map(len, lines)) < max(columns, 2)

    def shows(self, part, seconds=5):
        """Waits until part stands on the screen; returns the lines."""
        until(lambda: any(part in line for line in self.screen()), seconds,
              part)
        return self.screen()

    def is_restored(self):
        """Modes as before, the first screen, and the cursor, in this order."""
        text = self.read()
        return (termios.tcgetattr(self.sub) == self.before
                and text.rfind("\x1b[?1049l") > text.rfind("\x1b[?1049h")
                and text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l"))

    def kill(self, number):
        os.kill(self.pid, number)

    def is_stopped(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "T"

    def ended(self, seconds=5):
        """Its exit status, or minus the signal that ended it."""
        end = time.monotonic() + seconds
        while self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.read()
            if pid != 0:
                self.status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                raise AssertionError(f"runs on: {self.screen()}")
            else:
                select.select([self.main], [], [], 0.02)
        return self.status

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.status = -9
        for fd in (self.main, self.sub):
            os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close()
