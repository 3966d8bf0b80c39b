"""A secret as origins write it back, and whether a text tells of it."""
import base64
import gzip
import html
import json
import re
import subprocess
import urllib.parse
import zlib

# Windows of a secret: whoever has one of them has most of what is random.
RAW_WINDOW, CODED_WINDOW = 12, 16


def _escape(data, pattern, spell):
    return re.sub(pattern, lambda m: spell(m.group()[0]), data, flags=re.DOTALL)


def _spelled(spell, pattern=rb"."):
    return lambda data: _escape(data, pattern, spell)


def spellings():
    """{what writes so: what it makes of bytes}."""
    quote = urllib.parse.quote
    return {
        "encodeURIComponent()": lambda d: quote(d, safe="!*'()").encode(),
        "small digits": lambda d: _escape(
            d, rb"[^A-Za-z0-9._~-]", lambda c: b"%%%02x" % c),
        "a form": lambda d: urllib.parse.quote_plus(d).encode(),
        "every byte in a URL": _spelled(lambda c: b"%%%02X" % c),
        "digits of any case": _spelled(
            lambda c: b"%%%x%X" % (c >> 4, c & 15) if c % 2
            else b"%%%X%x" % (c >> 4, c & 15)),
        "JSON": lambda d: json.dumps(d.decode()).encode()[1:-1],
        "PHP's JSON": lambda d: json.dumps(d.decode()).replace(
            "/", "\\/").encode()[1:-1],
        ".NET's JSON": _spelled(
            lambda c: b"\\u%04X" % c, rb"[+<>&'\"`\\/=]"),
        "\\u for every byte": _spelled(lambda c: b"\\u%04x" % c),
        "\\x for every byte": _spelled(lambda c: b"\\x%02x" % c),
        "HTML": lambda d: html.escape(d.decode()).replace(
            "/", "&#x2F;").encode(),
        "HTML in numbers": _spelled(lambda c: b"&#%d;" % c),
    }


def forms(secret):
    """{name: the secret in that form, part of some text}."""
    found = {"raw": secret, "small letters": secret.lower(),
             "capitals": secret.upper(), "hexadecimal": secret.hex().encode(),
             "hexadecimal capitals": secret.hex().upper().encode()}
    for skip in range(3):
        text = base64.b64encode(b"u:x"[:skip] + secret + b":more")
        found[f"base64 after {skip}"] = text
        found[f"base64url after {skip}"] = text.replace(
            b"+", b"-").replace(b"/", b"_")
    for name, spell in spellings().items():
        found[name] = spell(secret)
    found["base64 in PHP's JSON"] = found["base64 after 1"].replace(b"/", b"\\/")
    found["base64 in a form"] = urllib.parse.quote_plus(
        found["base64 after 2"]).encode()
    return found


class Teller:
    """tells(data): does it hold a window of the secret, in any reading?"""

    def __init__(self, secret):
        self.windows = set(self._windows(secret.lower(), RAW_WINDOW))
        self.windows |= set(self._windows(secret.hex().encode(), CODED_WINDOW))
        self.coded = set()
        for skip in range(3):
            text = base64.b64encode(b"\0" * skip + secret)
            inner = text[(skip * 8 + 5) // 6:(skip + len(secret)) * 8 // 6]
            self.coded |= set(self._windows(inner, CODED_WINDOW))

    @staticmethod
    def _windows(data, size):
        return (data[i:i + size] for i in range(len(data) - size + 1))

    @staticmethod
    def _readings(data):
        yield data
        text = urllib.parse.unquote_to_bytes(data)
        text = re.sub(rb"\\(?:u00|x)([0-9a-fA-F]{2})|\\([^ux])",
                      lambda m: bytes.fromhex(m.group(1).decode())
                      if m.group(1) else m.group(2), text)
        yield html.unescape(text.decode("latin1")).encode("latin1", "replace")
        yield text.replace(b"+", b" ")

    def tells(self, data):
        for text in self._readings(data):
            lower = text.lower()
            if any(w in lower for w in self.windows):
                return True
            text = text.replace(b"-", b"+").replace(b"_", b"/")
            if any(w in text for w in self.coded):
                return True
        return False


def _tool(*argv):
    return lambda data: subprocess.run(
        argv, input=data, capture_output=True, check=True).stdout


def _raw_deflate(data):
    c = zlib.compressobj(wbits=-15)
    return c.compress(data) + c.flush()


# {name: (Content-Encoding, what codes)}
CODINGS = {
    "gzip": ("gzip", lambda d: gzip.compress(d, mtime=0)),
    "gzip of two members": ("gzip", lambda d: gzip.compress(d[:50], mtime=0)
                            + gzip.compress(d[50:], mtime=0)),
    "deflate": ("deflate", zlib.compress),
    "deflate without a frame": ("deflate", _raw_deflate),
    "br": ("br", _tool("brotli", "-c")),
    "zstd": ("zstd", _tool("zstd", "-cq")),
}


def flushed(coding, parts):
    """[each part, coded so that it can be read at once]."""
    c = zlib.compressobj(wbits=31 if coding == "gzip" else 15)
    coded = [c.compress(p) + c.flush(zlib.Z_SYNC_FLUSH) for p in parts]
    coded[-1] += c.flush()
    return coded


def readable(coding, data):
    """What can be read of the first bytes of a body; None: not known here."""
    if coding not in ("gzip", "deflate"):
        return None
    for wbits in (31, 15, -15):
        try:
            return zlib.decompressobj(wbits=wbits).decompress(data)
        except zlib.error:
            continue
    return b""
