"""A guest that asks for one thing again and again, and what became of it."""
import subprocess

from . import shell
from .claims import until

LOOP = """
import http.client, ssl, sys, time
host, path, ca = sys.argv[1:]
tls = ssl.create_default_context(cafile=ca)
while True:
    began = time.monotonic()
    try:
        c = http.client.HTTPSConnection(host, timeout=15, context=tls)
        c.request("GET", path)
        answer = c.getresponse()
        answer.read()
        word = "ok" if answer.status == 200 else f"status-{answer.status}"
        c.close()
    except Exception as e:
        word = type(e).__name__
    print(word, time.monotonic() - began, flush=True)
    time.sleep(0.05)
"""


class Steady:
    """Requests of sandbox s, one after another, each on its own connection."""

    def __init__(self, world, s, host, path):
        self.log = f"{world.folder}/steady-{s.name}"
        with open(self.log, "w", encoding="ascii") as out:
            self.process = subprocess.Popen(
                s.guest.argv(["/usr/bin/python3", "-c", LOOP, host, path, s.ca]),
                stdout=out, stderr=subprocess.DEVNULL, env=s.env,
                stdin=subprocess.DEVNULL, start_new_session=True)
        self.more(1)

    def rows(self):
        with open(self.log, encoding="ascii") as f:
            return [(line.split()[0], float(line.split()[1]))
                    for line in f.read().rpartition("\n")[0].splitlines()]

    def more(self, count=3, seconds=40):
        """Waits for this many more of its requests."""
        want = len(self.rows()) + count
        until(lambda: len(self.rows()) >= want, seconds, "a steady guest asks")

    def stop(self, limit):
        """All of them succeeded, none took longer than limit seconds."""
        shell.stop(self.process)
        rows = self.rows()
        bad = [row for row in rows if row[0] != "ok"]
        times = sorted(row[1] for row in rows)
        said = (f"{len(rows)} requests of the other sandbox, median "
                f"{times[len(times) // 2] * 1000:.0f} ms, longest "
                f"{times[-1] * 1000:.0f} ms")
        if bad or times[-1] > limit:
            raise AssertionError(f"{said}; failed: {bad[:5]}")
        return said

    def close(self):
        shell.stop(self.process)
