"""tapward under a terminal of its own."""
import fcntl
import os
import pty
import select
import struct
import termios
import time


class Terminal:
    """A command of the world's tapward under one of rows and columns."""

    def __init__(self, w, rows, cols, *argv):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            self.fd = 0
            self.resize(rows, cols)
            os.execve(f"{w.tree}/bin/tapward",
                      ["tapward", "--socket", w.socket, *argv], w.env)
        self.text = b""

    def resize(self, rows, cols):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, cols, 0, 0))

    def until(self, what, seconds=30):
        """Reads until it was written; forgets all up to its end."""
        end = time.monotonic() + seconds
        while what not in self.text:
            left = end - time.monotonic()
            assert left > 0 and select.select([self.fd], [], [], left)[0], \
                f"no {what} in {self.text}"
            self.text += os.read(self.fd, 4096)
        self.text = self.text.split(what, 1)[1]

    def status(self):
        try:
            while os.read(self.fd, 4096):
                pass
        except OSError:
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
