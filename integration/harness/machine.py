"""What a test does in a machine with systemd as process 1, be it a container
(boot.py) or a guest (debian_guest.py): all by its own run(argv)."""
import base64

from .claims import until


class Machine:
    """run(argv, timeout=60) gives a shell.Result, as root in there. slower:
    what a bound on time is multiplied by."""

    slower = 1

    def run(self, argv, timeout=60):
        raise NotImplementedError

    def sh(self, script, timeout=60):
        return self.run(["bash", "-ec", script], timeout=timeout)

    def file(self, path, text, mode=0o644):
        """Writes it there."""
        data = base64.b64encode(text.encode()).decode()
        self.run(["sh", "-ec", 'mkdir -p "$(dirname "$1")"; '
                  'echo "$3" | base64 -d >"$1"; chmod "$2" "$1"', "-", path,
                  f"{mode:o}", data]).ok()

    def read(self, path):
        return self.run(["cat", path]).out

    def unit(self, name, *properties):
        """Properties of a unit, as a dict."""
        got = self.run(["systemctl", "show", name, "-p", ",".join(properties)])
        return dict(line.split("=", 1) for line in got.out.splitlines()
                    if "=" in line)

    def pid(self, unit):
        return int(self.unit(unit, "MainPID")["MainPID"])

    def journal(self, unit):
        return self.run(["journalctl", "--no-pager", "-o", "cat", "-u", unit]).out

    def spawn(self, name, argv):
        """A program that goes on meanwhile; what it writes is in output()."""
        self.run(["systemd-run", "--quiet", "--collect", f"--unit=test-{name}",
                  f"-pStandardOutput=truncate:/run/test-{name}",
                  f"-pStandardError=truncate:/run/test-{name}.err", *argv]).ok()

    def output(self, name):
        return self.read(f"/run/test-{name}")

    def errors(self, name):
        return self.read(f"/run/test-{name}.err")

    def await_end(self, name, seconds=20):
        until(lambda: self.run(["systemctl", "is-active", "--quiet",
                                f"test-{name}"]).code != 0, seconds,
              f"the end of {name}")

    def end(self, name):
        self.run(["systemctl", "stop", f"test-{name}"])
