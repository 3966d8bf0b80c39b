"""HTTP/2 frame by frame (RFC 9113, RFC 7541), as no library would send it.

Peer speaks over a connected socket of either side. What is sent is made of
bytes: frames are built here, and header blocks hold literals that nothing is
indexed or compressed in. What comes is decoded in full.
"""
import collections
import socket
import ssl
import struct
import time

from .raw import connect, synthetic

(DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY,
 WINDOW_UPDATE, CONTINUATION) = range(10)
NAMES = ("DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE",
         "PING", "GOAWAY", "WINDOW_UPDATE", "CONTINUATION")
END_STREAM = ACK = 1
END_HEADERS, PADDED, WITH_PRIORITY = 4, 8, 32
BOTH = END_HEADERS | END_STREAM

(NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT,
 STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, COMPRESSION_ERROR,
 CONNECT_ERROR, ENHANCE_YOUR_CALM) = range(12)

(HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE,
 MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE) = range(1, 7)

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
WINDOW = 65535


# --- HPACK ---

def integer(value, bits, first=0):
    """RFC 7541 5.1: value with a prefix of so many bits, first around it."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    out, value = [first | most], value - most
    while value >= 128:
        out.append(128 | value % 128)
        value //= 128
    return bytes([*out, value])


def string(text):
    text = text if isinstance(text, bytes) else text.encode()
    return integer(len(text), 7) + text


def literal(name, value, first=0):
    """One field. first: 0x40 puts it into the table, 0x10 forbids that."""
    return bytes([first]) + string(name) + string(value)


def block(*fields):
    """A header block of (name, value), nothing of it indexed."""
    return b"".join(literal(*f) for f in fields)


# The lengths of the codes of each byte and of EOS (RFC 7541, appendix B). Codes
# of one length follow each other as their bytes do.
_LENGTHS = bytes.fromhex(
    "0d171c1c1c1c1c1c1c181e1c1c1e1c1c1c1c1c1c1c1c1e1c1c1c1c1c1c1c1c1c060a0a0c0d06"
    "080b0a0a080b080606060505050606060606060607080f060c0a0d0607070707070707070707"
    "0707070707070707070707070807080d130d0e060f0506050605060606050707060606050607"
    "0605050607070707070f0b0e0d1c141614141616161716171717171718171818161718171717"
    "1715161716171718161514161617171517161618151617171515161516171717141616161716"
    "16171a1a1413161716191a1a1a1b1b1a181913151a1b1b1a1b1815151a1a1c1b1b1b14181415"
    "161515171616191918181a171a1b1a1a1b1b1b1b1b1c1b1b1b1b1b1a1e")


def _codes():
    codes, code, before = {}, 0, 0
    for length, byte in sorted((n, i) for i, n in enumerate(_LENGTHS)):
        code <<= length - before
        codes[length, code] = byte
        code, before = code + 1, length
    return codes


_CODES = _codes()


def huffman(data):
    out, code, length = bytearray(), 0, 0
    for byte in data:
        for bit in range(7, -1, -1):
            code, length = code << 1 | byte >> bit & 1, length + 1
            found = _CODES.get((length, code))
            if found is not None:
                out.append(found)
                code = length = 0
    assert length < 8 and code == (1 << length) - 1, "padding of a string"
    return bytes(out)


_STATIC = [tuple(line.partition("=")[::2]) for line in """\
:authority
:method=GET
:method=POST
:path=/
:path=/index.html
:scheme=http
:scheme=https
:status=200
:status=204
:status=206
:status=304
:status=400
:status=404
:status=500
accept-charset
accept-encoding=gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate""".splitlines()]
assert len(_STATIC) == 61


class Decoder:
    """Header blocks of one direction of a connection."""

    def __init__(self):
        self.table, self.size, self.most = [], 0, 4096

    def fields(self, data):
        """[(name, value)], as text; a byte that is no text is one, too."""
        self.data, self.at, found = data, 0, []
        while self.at < len(data):
            first = data[self.at]
            if first & 0x80:
                found.append(self._entry(self._integer(7)))
            elif first & 0x40:
                found.append(self._literal(6))
                self._keep(found[-1])
            elif first & 0x20:
                self.most = self._integer(5)
                self._keep(None)
            else:
                found.append(self._literal(4))
        return found

    def _integer(self, bits):
        most = (1 << bits) - 1
        value, shift = self.data[self.at] & most, 0
        self.at += 1
        if value < most:
            return value
        while True:
            byte = self.data[self.at]
            self.at += 1
            value += (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def _string(self):
        is_huffman = self.data[self.at] & 0x80
        end = self._integer(7)
        end += self.at
        text, self.at = self.data[self.at:end], end
        return (huffman(text) if is_huffman else text).decode("latin-1")

    def _literal(self, bits):
        index = self._integer(bits)
        name = self._entry(index)[0] if index else self._string()
        return name, self._string()

    def _entry(self, index):
        assert index > 0, "index 0"
        return (_STATIC + self.table)[index - 1]

    def _keep(self, field):
        if field:
            self.table.insert(0, field)
        size = [len(n) + len(v) + 32 for n, v in self.table]
        while sum(size) > self.most:
            size.pop()
            self.table.pop()


# --- frames ---

def frame(kind, flags=0, stream=0, payload=b"", length=None):
    """length: what the head says where that is not how long payload is."""
    length = len(payload) if length is None else length
    return struct.pack(">I", length)[1:] + bytes([kind, flags]) + struct.pack(
        ">I", stream) + payload


def headers(stream, fields, flags=BOTH, priority=None, pad=None):
    """fields: a list of (name, value), or the bytes of a block."""
    payload = fields if isinstance(fields, bytes) else block(*fields)
    if priority is not None:
        payload = priority_of(*priority) + payload
        flags |= WITH_PRIORITY
    if pad is not None:
        payload = bytes([pad]) + payload + bytes(pad)
        flags |= PADDED
    return frame(HEADERS, flags, stream, payload)


def continuation(stream, fields, flags=END_HEADERS):
    payload = fields if isinstance(fields, bytes) else block(*fields)
    return frame(CONTINUATION, flags, stream, payload)


def data(stream, payload=b"", flags=END_STREAM):
    return frame(DATA, flags, stream, payload)


def priority_of(depends=0, weight=255, is_exclusive=False):
    return struct.pack(">IB", depends | is_exclusive << 31, weight)


def priority(stream, *args):
    return frame(PRIORITY, 0, stream, priority_of(*args))


def reset(stream, code=CANCEL):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


def settings(*pairs):
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *p) for p in pairs))


def ping(payload=bytes(8), flags=0):
    return frame(PING, flags, 0, payload)


def goaway(last=0, code=NO_ERROR, text=b""):
    return frame(GOAWAY, 0, 0, struct.pack(">II", last, code) + text)


def window_update(stream, size):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", size))


class Frame(collections.namedtuple("Frame", "kind flags stream payload")):
    """One that came; fields are those of HEADERS, with its CONTINUATION.

    The last CONTINUATION ends the stream if its HEADERS said so.
    """
    fields, has_ended = None, False

    @property
    def code(self):
        """The error of RST_STREAM or GOAWAY; else None."""
        if self.kind == RST_STREAM:
            return struct.unpack(">I", self.payload)[0]
        if self.kind == GOAWAY:
            return struct.unpack(">I", self.payload[4:8])[0]
        return None

    @property
    def ends(self):
        return self.has_ended or (
            self.kind in (DATA, HEADERS) and bool(self.flags & END_STREAM))

    def field(self, name):
        return dict(self.fields or ()).get(name)

    def __repr__(self):
        name = NAMES[self.kind] if self.kind < 10 else hex(self.kind)
        more = "" if self.code is None else f" code {self.code}"
        return (f"{name}(stream {self.stream}, flags {self.flags:#x}, "
                f"{len(self.payload)} bytes{more})")


class Closed(Exception):
    """The other side ended the connection in order: close_notify."""


class Silent(Exception):
    """Nothing more came in time."""


class Peer:
    """One side of a connection. frames: all that came; sent stays out of it."""

    def __init__(self, k):
        self.k, self.buffer, self.decoder = k, bytearray(), Decoder()
        self.frames, self.settings, self.blocks = [], {}, bytearray()
        self.block_ends = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.k.close()

    def send(self, *parts):
        self.k.sendall(b"".join(parts))

    def _fill(self, size, end):
        while len(self.buffer) < size:
            left = end - time.monotonic()
            if left <= 0:
                raise Silent
            self.k.settimeout(left)
            try:
                part = self.k.recv(65536)
            except socket.timeout:
                raise Silent from None
            if not part:
                raise Closed
            self.buffer += part

    def take(self, size, seconds=2):
        """Bytes that are no frame: the preface. Raises as read()."""
        self._fill(size, time.monotonic() + seconds)
        taken = bytes(self.buffer[:size])
        del self.buffer[:size]
        return taken

    def read(self, seconds=2):
        """The next frame. Raises Silent or Closed, or the OSError of a cut."""
        end = time.monotonic() + seconds
        self._fill(9, end)
        size = int.from_bytes(self.buffer[:3], "big")
        self._fill(9 + size, end)
        kind, flags = self.buffer[3:5]
        stream = int.from_bytes(self.buffer[5:9], "big")
        f = Frame(kind, flags, stream, bytes(self.buffer[9:9 + size]))
        del self.buffer[:9 + size]
        self._note(f)
        self.frames.append(f)
        return f

    def _note(self, f):
        if f.kind == SETTINGS and not f.flags & ACK:
            self.settings.update(struct.iter_unpack(">HI", f.payload))
        if f.kind == HEADERS:
            self.block_ends = f.ends
        if f.kind in (HEADERS, CONTINUATION):
            self.blocks += unpadded(f)
            if f.flags & END_HEADERS:
                f.has_ended = self.block_ends
                f.fields = self.decoder.fields(bytes(self.blocks))
                self.blocks.clear()

    def until(self, wanted, seconds=2):
        """The first frame from here on that is wanted. Raises as read()."""
        end = time.monotonic() + seconds
        while True:
            f = self.read(end - time.monotonic())
            if wanted(f):
                return f

    def rest(self, seconds=2):
        """All that comes until it ends or falls silent; how it ended."""
        end = time.monotonic() + seconds
        try:
            while True:
                self.read(end - time.monotonic())
        except Silent:
            return "silent"
        except Closed:
            return "closed"
        except OSError as e:
            return type(e).__name__

    def begin(self, *pairs):
        """SETTINGS both ways, each acknowledged."""
        self.send(settings(*pairs))
        waits = {0, ACK}
        while waits:
            f = self.until(lambda f: f.kind == SETTINGS, 5)
            waits.discard(f.flags & ACK)
            if not f.flags & ACK:
                self.send(frame(SETTINGS, ACK))

    def answer(self, stream, seconds=5):
        """(fields, body, trailers) of an answer that ends with its stream."""
        head, body, more = None, b"", None
        while True:
            f = self.until(lambda f: f.stream == stream, seconds)
            assert f.kind != RST_STREAM, f
            if f.kind == HEADERS and head is None:
                head = dict(f.fields)
            elif f.kind == HEADERS:
                more = dict(f.fields)
            elif f.kind == DATA:
                body += unpadded(f)
                if f.payload and not f.ends:
                    self.send(window_update(stream, len(f.payload)),
                              window_update(0, len(f.payload)))
            if f.ends:
                return head, body, more


def unpadded(f):
    payload, flags = f.payload, f.flags
    if f.kind != CONTINUATION and flags & PADDED:
        payload = payload[1:len(payload) - payload[0]]
    if f.kind == HEADERS and flags & WITH_PRIORITY:
        payload = payload[5:]
    return payload


# --- both sides ---

def context(ca=None):
    """Of one who connects and speaks h2 only. Without a CA nothing is checked."""
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca is None:
        c.check_hostname, c.verify_mode = False, ssl.CERT_NONE
    else:
        c.load_verify_locations(ca)
    c.set_alpn_protocols(["h2"])
    return c


def over(k, name, ca=None):
    """A Peer on a connected socket k whose TLS agreed on h2."""
    k.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        # A cut is told from an end: only close_notify is one.
        t = context(ca).wrap_socket(k, server_hostname=name,
                                    suppress_ragged_eofs=False)
        assert t.selected_alpn_protocol() == "h2", "h2 was not agreed on"
        return Peer(t)
    except BaseException:
        k.close()
        raise


def guest(s, name):
    """A Peer in sandbox s, connected to the gate for name. Says nothing yet."""
    return over(connect(s, (synthetic(s, name), 443)), name, s.ca)


def request(host, path="/", method="GET", *more):
    return [(":method", method), (":scheme", "https"), (":path", path),
            (":authority", host), *more]
