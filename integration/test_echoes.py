"""An origin that repeats the credential it was sent: in every form, in every
place, cut at every byte, over each version of HTTP, coded and not."""
import base64
import json
import os
import secrets

from harness import shell
from harness.claims import claim, contains, equal, lacks, until
from harness.echoes import CODINGS, Teller, flushed, forms, readable
from harness.world import World

NAMES = {"h1.example.com": "10.201.0.40", "h2.example.com": "10.201.0.41",
         "keep1.example.com": "10.201.0.40", "keep2.example.com": "10.201.0.41"}
VERSIONS = ("h1", "h2")
HERE = os.path.dirname(os.path.abspath(__file__))

# With what each writer escapes, and each digit of base64 a chance.
CANARY = (f"tw+{secrets.token_hex(6)}/{secrets.token_urlsafe(9)}"
          f"&<\"'%=~{secrets.token_hex(3)}>?").encode()
TELLER = Teller(CANARY)

POLICY = """\
[policy]
version = 1

[allow echoes]
host       = h1.example.com, h2.example.com
path       = /**
credential = canary

[allow kept]
host       = keep1.example.com, keep2.example.com
path       = /**
credential = kept
"""

CREDENTIAL = """
[credential {name}]
value = file:{folder}/canary
host  = {hosts}
apply = bearer
grant = *
{more}
"""

BEFORE, AFTER = b'{"echo": "', b'", "and": ["more", 1, 2]}\n'

_cases = []
_world = {}


def case(pieces=(), head=(), trailers=(), status=200, reason="OK",
         has_length=False):
    """Registers what the origin may be asked for; its number."""
    _cases.append({
        "pieces": [base64.b64encode(p).decode() for p in pieces],
        "head": [[n, v.decode("latin1")] for n, v in head],
        "trailers": [[n, v.decode("latin1")] for n, v in trailers],
        "status": status, "reason": reason, "has_length": has_length})
    return len(_cases) - 1


def whole(number):
    return b"".join(base64.b64decode(p) for p in _cases[number]["pieces"])


def cut(data, *places):
    """data in parts; none of them is empty."""
    ends = [0, *sorted(places), len(data)]
    return [data[a:b] for a, b in zip(ends, ends[1:]) if a < b]


# --- what the origin may be asked for, made before it starts ---

class Echo:
    """One form in a body, at each cut."""

    def __init__(self, name, form):
        self.name = name
        data = BEFORE + form + AFTER
        first, last = len(BEFORE), len(BEFORE) + len(form)
        step = 1 + len(form) // 120
        self.cuts = [case(cut(data, at), has_length=at % 2 == 0)
                     for at in range(first, last + 1, step)]
        self.bytes = case([data[i:i + 1] for i in range(len(data))])


ECHOES = [Echo(name, form) for name, form in forms(CANARY).items()]

# In a field's value, in its name, in the reason: each form that fits there.
HEADS = {
    **{f"{name} in a value": case([b"x"], [("x-echo", b"a " + form + b" b")])
       for name, form in forms(CANARY).items()},
    "in a name": case([b"x"], [(f"x-{CANARY.hex()}", b"a")]),
    "in Location": case([], [("location", b"/?t=" + forms(CANARY)["a form"])],
                        status=302, reason="Found"),
    "in the reason": case([b"x"], reason=CANARY.decode(), status=200),
}
TRAILERS = {
    **{f"{name} in a value": case([b"x", b"y"],
                                  trailers=[("x-echo", form)])
       for name, form in forms(CANARY).items()},
    "in a name": case([b"x"], trailers=[(f"x-{CANARY.hex()}", b"a")]),
}

TEXT = b"".join(b"line %d of some text\n" % (i * i) for i in range(200))


def coded(name, data):
    encoding, code = CODINGS[name]
    return [("content-encoding", encoding.encode())], code(data)


CODED_CLEAN, CODED_ECHO, CODED_BAD = {}, {}, {}
for coding_name in CODINGS:
    fields, body = coded(coding_name, TEXT)
    CODED_CLEAN[coding_name] = [
        case(cut(body, at), fields, has_length=at % 2 == 0)
        for at in range(0, len(body), 1 + len(body) // 25)]
    for form_name in ("raw", "base64 after 1", "PHP's JSON"):
        fields, body = coded(coding_name, BEFORE + forms(CANARY)[form_name]
                             + AFTER)
        CODED_ECHO[coding_name, form_name] = [
            case(cut(body, at), fields, has_length=at % 2 == 0)
            for at in range(0, len(body), 7)]
    fields, body = coded(coding_name, TEXT)
    CODED_BAD.update({
        f"{coding_name}, not whole": case([body[:-9]], fields),
        f"{coding_name}, a byte behind it": case([body + b"x"], fields),
        f"{coding_name}, a part": case([body], fields, status=206),
        f"{coding_name} on another": case(
            [body], [("content-encoding", fields[0][1] + b", br")]),
        f"{coding_name}, as an unknown one": case(
            [body], [("content-encoding", b"compress")]),
    })
BARE = [case(status=s, head=[("content-encoding", b"gzip, br")])
        for s in (204, 304)]

# Full of starts of it, and of escapes.
CLEAN = [case(cut(data, *range(7, len(data), 101)), has_length=True)
         for data in (TEXT, CANARY[:-1] * 40, b"%2" + CANARY[:9] * 99 + b"\\u00",
                      secrets.token_bytes(60000))]

# An event that ends with a start of it, flushed, and then the next.
EVENTS = {}
for n in range(1, len(CANARY)):
    first, second = b"data: " + CANARY[:n] + b"\n\n", b"data: next\n\n"
    EVENTS["as it is", n] = (case([first, second], [
        ("content-type", b"text/event-stream")]), len(first))
    for c in ("gzip", "deflate"):
        parts = flushed(c, [first, second])
        EVENTS[c, n] = (case(parts, [
            ("content-type", b"text/event-stream"),
            ("content-encoding", c.encode())]), len(parts[0]))

SESSIONS = case([b"x"], [("set-cookie", b"a=1"), ("x-session", b"b"),
                         ("x-other", b"c")],
                [("x-session", b"d"), ("x-other", b"e")])


# --- the world ---

def world():
    if not _world:
        w = World(NAMES, start=False)
        w.file("canary", CANARY.decode() + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            for name, hosts, more in (
                    ("canary", "h1.example.com, h2.example.com", ""),
                    ("kept", "keep1.example.com, keep2.example.com",
                     "set-cookie = keep\nstrip-response = X-Session\n")):
                f.write(CREDENTIAL.format(name=name, folder=w.folder,
                                          hosts=hosts, more=more))
        w.start()
        cert, key = w.authority.issue(*NAMES)
        cases = w.file("cases.json", json.dumps(
            {"canary": CANARY.decode(), "cases": _cases}))
        log = f"{w.folder}/origin.log"
        origin = shell.start(w.net.plain(
            ["node", f"{HERE}/echoes/origin.js", cert, key, cases,
             "10.201.0.40", "10.201.0.41"]), log)
        w.closers.append(lambda: shell.stop(origin))
        until(lambda: "ready" in open(log, encoding="ascii").read(), 20,
              "the origin listens")
        _world.update(w=w, s=w.sandbox(POLICY))
    return _world["w"], _world["s"]


class Got:
    """What a guest has of one answer."""

    def __init__(self, number, r):
        self.number = number
        self.status, self.end = r["status"], r.get("end", "none")
        self.reason = r.get("reason", "")
        self.head, self.trailers = r["head"], r["trailers"]
        self.body = base64.b64decode(r["body"])
        self.early = r.get("early", 0)

    def everything(self):
        return "\n".join([self.reason, *self.head, *self.trailers]).encode() \
            + b"\n" + self.body

    def is_cut(self):
        """Begun and not whole; a reset may come before its head is read."""
        return self.status in (0, 200) and self.end == "cut"

    def tells(self):
        return TELLER.tells(self.everything())

    def __repr__(self):
        return f"{self.status} {self.end} {self.head} {self.body[:300]!r}"


def ask(guest, origin, jobs, host=None):
    """[Got] of cases; a job is a number, or (number, bytes of an event)."""
    _, s = world()
    lines = []
    for i, job in enumerate(jobs):
        if isinstance(job, tuple):
            lines.append({"path": f"/event/{guest}{origin}{i}/{job[0]}",
                          "expect": job[1]})
        else:
            lines.append({"path": f"/case/{job}"})
    r = s.run(["node", f"{HERE}/echoes/guest.js", guest,
               host or f"{origin}.example.com"],
              stdin=json.dumps(lines).encode(), timeout=120).ok()
    return [Got(job[0] if isinstance(job, tuple) else job, got)
            for job, got in zip(jobs, json.loads(r.out))]


def each_pair():
    return [(g, o) for g in VERSIONS for o in VERSIONS]


@claim("row 105: in a body, in each form, cut at each byte: masked, and as long as it was")
def _():
    count = 0
    for e in ECHOES:
        assert TELLER.tells(whole(e.cuts[0])), f"{e.name} would go unseen"
    for guest, origin in each_pair():
        # Each cut where both speak the same, some where they do not.
        jobs = [n for e in ECHOES
                for n in [*e.cuts[::1 if guest == origin else 9], e.bytes]]
        names = {n: e.name for e in ECHOES for n in [*e.cuts, e.bytes]}
        for got in ask(guest, origin, jobs):
            what = f"{guest}, {origin}, {names[got.number]}: {got!r}"
            equal([got.status, got.end], [200, "whole"], what)
            assert not got.tells(), what
            sent = whole(got.number)
            equal(len(got.body), len(sent), what)
            assert got.body.startswith(BEFORE) and got.body.endswith(AFTER), what
            contains(got.body, b"********", what)
            count += 1
    _, s = world()
    record = s.audited(event="request", reason="credential-leak")
    contains(record["detail"], "masked in its body, ", record)
    return f"{len(ECHOES)} forms, {count} answers"


@claim("row 105: in a field, a name or a reason: refused, in each form and version")
def _():
    w, s = world()
    count = 0
    for guest, origin in each_pair():
        kinds = [k for k in HEADS if k != "in the reason" or origin == "h1"]
        for kind, got in zip(kinds, ask(guest, origin,
                                        [HEADS[k] for k in kinds])):
            what = f"{guest}, {origin}, {kind}: {got!r}"
            equal(got.status, 403, what)
            contains(got.everything(), b"credential-leak", what)
            assert not got.tells(), what
            count += 1
    details = {r["detail"] for r in w.audit(s.name, reason="credential-leak")}
    assert any(d.startswith("in its head, ") for d in details), details
    return f"{count} answers"


@claim("row 105: in trailers: the answer ends without them, in each form and version")
def _():
    w, s = world()
    count = 0
    for guest, origin in each_pair():
        for kind, got in zip(TRAILERS, ask(guest, origin, list(TRAILERS.values()))):
            what = f"{guest}, {origin}, {kind}: {got!r}"
            assert got.is_cut(), what
            assert not got.tells(), what
            equal(got.trailers, [], what)
            count += 1
    details = {r["detail"] for r in w.audit(s.name, reason="credential-leak")}
    assert any(d.startswith("in its trailers, ") for d in details), details
    return f"{count} answers"


@claim("bodies that do not hold it are the same byte for byte, whatever they look like")
def _():
    for guest, origin in each_pair():
        for got in ask(guest, origin, CLEAN):
            equal([got.status, got.end], [200, "whole"], repr(got))
            assert got.body == whole(got.number), f"{guest}, {origin}: {got!r}"


@claim("rows 105, 114: a body that is coded comes as it is, cut anywhere, and ends where it says it")
def _():
    count = 0
    for guest, origin in each_pair():
        step = 1 if guest == origin else 7
        clean = [n for cuts in CODED_CLEAN.values() for n in cuts[::step]]
        for got in ask(guest, origin, clean):
            equal([got.status, got.end], [200, "whole"], repr(got))
            assert got.body == whole(got.number), f"{guest}, {origin}: {got!r}"
            names = [n.lower() for n in got.head]
            contains(names, "content-encoding", repr(got))
            lacks(names, "content-length", f"row 114: {got!r}")
        echo = [(n, kind) for kind, cuts in CODED_ECHO.items()
                for n in cuts[::step]]
        for (_, kind), got in zip(echo, ask(guest, origin,
                                            [n for n, _ in echo])):
            what = f"{guest}, {origin}, {kind}: {got!r}"
            assert got.is_cut(), what
            sent = whole(got.number)
            assert sent.startswith(got.body) and len(got.body) < len(sent), what
            text = readable(CODINGS[kind[0]][0], got.body)
            assert text is None or len(text) <= len(BEFORE) + 3, f"{text} {what}"
            count += 1
        count += len(clean)
    return f"{count} answers"


@claim("a coding that is broken, unknown, on another or in part: refused, or ended")
def _():
    for guest, origin in each_pair():
        for kind, got in zip(CODED_BAD, ask(guest, origin,
                                            list(CODED_BAD.values()))):
            what = f"{guest}, {origin}, {kind}: {got!r}"
            if got.status == 502:
                contains(got.everything(), b"bad-response", what)
            else:
                assert got.is_cut(), what
        for got in ask(guest, origin, BARE):
            equal([got.status, got.end],
                  [_cases[got.number]["status"], "whole"], repr(got))


@claim("an event is with the guest before the next is sent, whatever start of it it ends with")
def _():
    count = 0
    for guest, origin in each_pair():
        step = 1 if guest == origin else 11
        jobs = [EVENTS[k] for k in list(EVENTS)[::step]]
        for job, got in zip(jobs, ask(guest, origin, jobs)):
            what = f"{guest}, {origin}: {got!r}"
            equal([got.status, got.end], [200, "whole"], what)
            equal(got.early, job[1], what)
            equal(got.body, whole(got.number), what)
            count += 1
    return f"{count} streams"


@claim("sessions, and what strip-response lists, are withheld; set-cookie = keep keeps one")
def _():
    for guest, origin in each_pair():
        got = ask(guest, origin, [SESSIONS])[0].everything().lower()
        lacks(got, b"a=1", "Set-Cookie")
        contains(got, b"x-session")
        host = f"keep{origin[1]}.example.com"
        got = ask(guest, origin, [SESSIONS], host)[0].everything().lower()
        contains(got, b"a=1", "Set-Cookie")
        lacks(got, b"x-session", "a field and a trailer that are stripped")
        contains(got, b"x-other", "one that is not")


@claim("the world of echoes ends and leaves nothing, and no record tells of it")
def _():
    w, _ = world()
    with open(f"{w.folder}/log/audit.jsonl", "rb") as f:
        assert not TELLER.tells(f.read()), "the audit log"
    assert not TELLER.tells(w.log_text().encode()), "the daemon's log"
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    w.close()
    _world.clear()
