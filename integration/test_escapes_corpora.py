"""Public collections of requests that have smuggled others, replayed.

Each goes whole, byte by byte, line by line and behind a good request; where
each is from, and what becomes of it, is in payloads/. Nothing is kept from an
origin by a rule here: every path and method is allowed.
"""
from harness import payloads, smuggle
from harness.claims import Skip, claim

POLICY = """\
[policy]
version = 1

[allow tls]
host = one.example.com, two.example.com

[allow plain]
host   = plain.example.com
port   = 80
scheme = http
"""

_world, _seen = {}, []


def field():
    if not _world:
        _world["field"] = smuggle.Field(POLICY)
    return _world["field"]


def replay(name):
    """All of a collection: with TLS in four ways, by the others once."""
    items, score = payloads.load(name), smuggle.Score()
    smuggle.replay(field(), items, ("tls",), ("tls to h2", "http"), score)
    refused = sum(p.statuses()[-1] != 200 for p in items)
    _seen.append((len(items), refused, score))
    return f"{len(items)} inputs, {refused} of them to be refused; {score}"


@claim("rows 36-58, 61-67: the payloads of the HTTP Garden")
def _():
    return replay("http_garden")


@claim("rows 36-51: the requests of Grenfeldt and Olofsson")
def _():
    return replay("grenfeldt")


@claim("rows 36-51: the requests of llhttp's tests")
def _():
    return replay("llhttp")


@claim("rows 36-65: the requests of Http11Probe")
def _():
    return replay("http11probe")


@claim("rows 61, 62, 64, 65, 67: the requests of haproxy's tests")
def _():
    return replay("haproxy")


@claim("rows 38, 39, 45-48: each blank at each place around the fields that frame")
def _():
    return replay("blanks")


@claim("of all the collections nothing else than one spelling, and nothing that is to be refused, reached an origin")
def _():
    if len(_seen) < 6:
        raise Skip("not all collections were replayed")
    inputs, refused = (sum(seen[i] for seen in _seen) for i in (0, 1))
    deliveries, forwarded = (sum(getattr(score, name) for *_, score in _seen)
                             for name in ("deliveries", "forwarded"))
    assert inputs > 600, inputs
    return (f"{inputs} inputs, {deliveries} deliveries, {forwarded} requests "
            f"sent on: 0 not canonical, 0 of {refused} to be refused sent on")


@claim("the world of the collections ends and leaves nothing")
def _():
    field().close()
    _world.clear()
