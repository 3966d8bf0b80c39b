"""Both ends of an exchange, by the program `peer` (integration/peer/peer.h):
an origin that does what a request's query says, and a guest."""
import itertools
import json

from . import shell
from .claims import until
from .world import BUILD

PROGRAM = f"{BUILD}/integration/peer"
_ids = itertools.count(1)


class PeerOrigin:
    """At address:443 of the tests' network; version is "h1" or "h2"."""

    def __init__(self, w, address, version, cert, key):
        self.log = f"{w.folder}/peer-{address}.log"
        self.process = shell.start(
            w.net.plain([PROGRAM, "origin", f"{address}:443", cert, key, version]),
            self.log)
        self.hex = "".join(f"{int(n):02X}" for n in reversed(address.split(".")))
        until(lambda: "ready\n" in self.text(), 10, f"peer starts: {self.text()}")

    def text(self):
        with open(self.log, encoding="ascii") as f:
            return f.read()

    def saw(self, number):
        """What it saw of the request with this id: dicts, in their order."""
        return [json.loads(line) for line in self.text().splitlines()
                if line.startswith(f'{{"id":"{number}"')]

    def connections(self):
        """How many are open, as its kernel sees it."""
        with open(f"/proc/{self.process.pid}/net/tcp", encoding="ascii") as f:
            rows = [line.split() for line in f.read().splitlines()[1:]]
        # 01: established; 08: the other side has closed, ours has not.
        return sum(1 for row in rows if row[1] == f"{self.hex}:01BB"
                   and row[3] in ("01", "08"))

    def close(self):
        shell.stop(self.process)


def words(pairs, between):
    return between.join(f"{k}={v}" for k, v in pairs.items())


class Ask:
    """One guest's connection: what it shall do, and what the origin shall."""

    def __init__(self, guest, origin):
        self.id = next(_ids)
        self.origin = dict(origin, id=self.id)
        self.guest = dict({"path": f"/x?{words(self.origin, '&')}"}, **guest)

    def argv(self, s, host, version):
        return [PROGRAM, "guest", host, s.ca, version,
                *(f"{k}={v}" for k, v in self.guest.items())]

    def run(self, s, host, version):
        """What the guest saw: a dict for each exchange."""
        got = s.run(self.argv(s, host, version), timeout=90).ok()
        return [json.loads(line) for line in got.out.splitlines()]
