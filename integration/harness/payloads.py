r"""What hostile guests and origins write: integration/payloads/*.txt.

A file has one payload a line: ID WANT BYTES. WANT of a guest's is what it is
to read, statuses joined by "+" ("200+400"); each 200 is a request that reaches
its origin whole and in one spelling, anything else is an answer of ours, and
the last of those closes the connection. "~" behind it: the payload is not
whole, and is refused when the guest ends it. One for /begun may reach an origin
in part. WANT of an origin's is explained in answers.txt.

BYTES are as in a Python literal (\r\n, \x00, \\), and hold macros:
{u} what comes before the path ("" or "http://host"), {h} the host, {scheme} and
{SCHEME} the scheme, {other} the other one, {H} a whole Host field, {E} a
request for /open/evil, {66000*a} 66,000 times "a", {#E} how long {E} is and
{##E} so in hexadecimal. "@NAME TEXT" defines one for its file.
"""
import codecs
import os
import re

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "..", "payloads")
COMMON = {
    "H": r"Host: {h}\r\n",
    "E": r"GET {u}/open/evil HTTP/1.1\r\n{H}\r\n",
    "G": r"GET {u}/open/good HTTP/1.1\r\n{H}\r\n",
}
OURS = {"h", "u", "scheme", "SCHEME", "other"}
MACRO = re.compile(r"\{(?:(\d+)\*([^{}]+)|(##?)(\w+)|(\w+))\}")


class Payload:
    def __init__(self, name, want, text, macros):
        self.id, self.want, self.text = name, want, text
        self.macros = macros

    def __repr__(self):
        return f"{self.id}: {self.text[:160]}"

    def statuses(self):
        return [int(s) for s in self.want.rstrip("~").split("+")]

    def bytes(self, host, prefix="", scheme="http"):
        """What is written to reach host, targets beginning with prefix."""
        other = "http" if scheme == "https" else "https"
        return unescape(expand(self.text, {
            **self.macros, "h": host, "u": prefix, "scheme": scheme,
            "SCHEME": scheme.upper(), "other": other}))


def unescape(text):
    return codecs.escape_decode(text.encode("ascii"))[0]


def expand(text, macros):
    def put(match):
        if match[1]:
            return int(match[1]) * match[2]
        if match[3]:
            size = len(unescape(expand(macros[match[4]], macros)))
            return f"{size:x}" if match[3] == "##" else str(size)
        return expand(macros[match[5]], macros) if match[5] in macros \
            else match[0]

    return MACRO.sub(put, text)


def load(name):
    """The payloads of a file, in order."""
    macros, found = dict(COMMON), []
    with open(f"{FOLDER}/{name}.txt", encoding="ascii") as f:
        for line in f.read().split("\n"):
            if line.startswith("@"):
                key, _, text = line[1:].partition(" ")
                if key in OURS or key in macros:
                    raise AssertionError(f"{name}: {{{key}}} is taken")
                macros[key] = text
            elif line and not line.startswith("#"):
                found.append(Payload(*line.split(" ", 2), macros))
    if len({p.id for p in found}) != len(found):
        raise AssertionError(f"{name}: an id is there twice")
    return found


def answers():
    """The payloads of answers.txt, in order."""
    return [Said(p) for p in load("answers")]


class Said:
    """An answer: method that it is to, want ("200", "cut") and bytes."""

    WANT = re.compile(r"(?:([A-Z]+):)?(\d{3}|cut)([=!]?)")

    def __init__(self, payload):
        self.id = payload.id
        method, self.want, how = self.WANT.fullmatch(payload.want).groups()
        self.method = method or "GET"
        self.is_kept, self.closes = how == "=", how == "!"
        self.bytes = payload.bytes("")


def rows(name):
    """{row: its payloads} of a file whose ids are ROW or ROW.WHAT."""
    found = {}
    for payload in load(name):
        found.setdefault(int(payload.id.split(".")[0]), []).append(payload)
    return found
