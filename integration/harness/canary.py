"""Where secrets must not be: the search that every kind of credential ends
with, over all processes of a world, their environment and arguments, the log,
the daemon's output and what the sandboxes are told."""
import base64
import json

from . import memory
from .claims import equal

LOGS = ("log/audit.jsonl", "tapwardd.log")


def forms(secret):
    """It, and what it is at the end of a Basic pair, at three alignments."""
    raw = secret if isinstance(secret, bytes) else secret.encode()
    yield raw
    for lead in range(3):
        # Without the characters that what stands beside it decides.
        yield base64.b64encode(b"\0" * lead + raw)[(0, 2, 3)[lead]:-4]


def search(w, granted, roots, lent):
    """roots may be in the broker alone, and those that are lent in the gates of
    granted, which are sandboxes, too. Says what was looked at."""
    gates = {json.loads(w.cli("show", s.name, "--json").ok().out)["gate_pid"]
             for s in granted}
    roots = [form for secret in roots for form in forms(secret)]
    lent = [form for secret in lent for form in forms(secret)]
    looked, in_broker = 0, 0
    family = memory.children(w.daemon.pid)
    for pid in family:
        program = memory.comm(pid)
        for name in ("environ", "cmdline"):
            with open(f"/proc/{pid}/{name}", "rb") as f:
                lacks_all(f.read(), (*roots, *lent), f"{name} of {program}")
        if program == "tapward-broker":
            in_broker += len(memory.holds(pid, *roots, *lent)[0])
            continue
        found, size = memory.holds(
            pid, *(roots if pid in gates else (*roots, *lent)))
        equal(found, [], program)
        looked += size
    # Else the search itself would have found nothing.
    assert in_broker > 0, "not even the broker has them"
    for name in LOGS:
        with open(f"{w.folder}/{name}", "rb") as f:
            lacks_all(f.read(), (*roots, *lent), name)
    for s in granted:
        lacks_all(json.dumps(s.env).encode(), (*roots, *lent), "tapward env")
    return f"{len(family)} processes, {looked >> 20} MiB searched"


def lacks_all(data, needles, what):
    equal([n[:8] for n in needles if n in data], [], what)
