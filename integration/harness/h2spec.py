"""What h2spec asks of an HTTP/2 server: its 146 cases, and two more.

Each row is a sentence, what is sent behind the handshake, and last what has to
come of it. The sections, their order and what is taken for right are h2spec's,
so that a row can be named as it names it ("http2/5.1/8"). Beyond its 146 go the
one that it runs with --strict only (http2/5.4.1/2), and one that a later
version of it added (http2/5.1.1/3).
"""
import collections

from .h2frames import (
    ACK, BOTH, COMPRESSION_ERROR, DATA, ENABLE_PUSH, END_HEADERS,
    END_STREAM, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR, GOAWAY, HEADERS,
    HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS,
    MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE, NO_ERROR, PADDED, PING, PREFACE,
    PRIORITY, PROTOCOL_ERROR, PUSH_PROMISE, REFUSED_STREAM, RST_STREAM,
    SETTINGS, STREAM_CLOSED, WINDOW, WINDOW_UPDATE, Closed, Silent, block,
    continuation, data, frame, goaway, headers, integer, ping, priority,
    request, reset, settings, window_update)

# h2spec waits for 2 s; a busy machine is given more.
SECONDS = 5
BEYOND = ("http2/5.1.1/3", "http2/5.4.1/2")

Case = collections.namedtuple("Case", "id claim steps")


class Wrong(Exception):
    """Something else came of it."""


# --- what has to come ---

def _next(p):
    try:
        return p.read(SECONDS)
    except Silent:
        raise Wrong(f"silent after {p.frames[-3:]}") from None
    except OSError as e:
        raise Wrong(f"cut by {e!r} after {p.frames[-3:]}") from None


def closed(p):
    """The connection ends, by close_notify; GOAWAY may go before."""
    try:
        while True:
            _next(p)
    except Closed:
        return


def _error(p, kinds, codes):
    try:
        while True:
            f = _next(p)
            if f.kind in kinds and f.code in codes:
                return
    except Closed:
        return


def fails(*codes):
    """GOAWAY with one of codes, or the end of the connection."""
    return lambda p: _error(p, (GOAWAY,), codes)


def resets(*codes):
    """The same, or RST_STREAM."""
    return lambda p: _error(p, (GOAWAY, RST_STREAM), codes)


def comes(kind, is_right=lambda f: True):
    """The next frame of this kind is right."""
    def check(p):
        try:
            while True:
                f = _next(p)
                if f.kind == kind:
                    break
        except Closed:
            raise Wrong(f"closed after {p.frames[-3:]}") from None
        if not is_right(f):
            raise Wrong(f"came: {f}")
    return check


def answered(stream=1):
    return comes(HEADERS, lambda f: f.stream == stream)


def pongs(payload=bytes(8)):
    return comes(PING, lambda f: f.flags & ACK and f.payload == payload)


def acknowledged(p):
    comes(SETTINGS, lambda f: f.flags & ACK)(p)


def one_byte(p):
    comes(DATA, lambda f: len(f.payload) == 1)(p)


def pongs_or_closed(p):
    try:
        while True:
            f = _next(p)
            if f.kind == PING and f.flags & ACK and f.payload == bytes(8):
                return
    except Closed:
        return


def ended(p):
    """Stream 1 was answered to its end."""
    try:
        while True:
            f = _next(p)
            if f.ends or f.kind == RST_STREAM and f.code == NO_ERROR:
                return
    except Closed:
        raise Wrong("closed") from None


def first_is_settings(p):
    f = _next(p)
    if f.kind != SETTINGS or f.flags & ACK:
        raise Wrong(f"came first: {f}")


def begin(p):
    p.send(PREFACE)
    try:
        p.begin((INITIAL_WINDOW_SIZE, WINDOW))
    except (Silent, Closed, OSError) as e:
        raise Wrong(f"handshake: {e!r}") from None


def run(case, dial):
    """Raises Wrong. dial() gives a Peer that has said nothing."""
    with dial() as p:
        for step in case.steps:
            if callable(step):
                step(p)
                continue
            try:
                p.send(step)
            except OSError:
                pass  # what was read of it tells


# --- the rows ---

class Rows:
    """All of them for an origin's host; its "/" has five bytes or more."""

    def __init__(self, host):
        self.get = request(host)
        self.post = request(host, "/", "POST")
        self.get_block, self.post_block = block(*self.get), block(*self.post)
        self.ask = headers(1, self.get)
        self.ask_open = headers(1, self.get, END_HEADERS)
        self.post_open = headers(1, self.post, END_HEADERS)
        self.dummy = block(("x-dummy0", "x" * 4000))

    def all(self):
        """[Case], in h2spec's order."""
        found = []
        for part in (self.generic, self.generic_hpack, self.frames, self.states,
                     self.definitions, self.parameters, self.windows, self.blocks,
                     self.messages, self.pseudo, self.hpack):
            for section, rows in part().items():
                found += [Case(f"{section}/{i}", row[0], self._steps(row[1:]))
                          for i, row in enumerate(rows, 1)]
        return found

    @staticmethod
    def _steps(steps):
        """A row that begins with None has no handshake."""
        return steps[1:] if steps[0] is None else (begin, *steps)

    def generic(self):
        zero = settings((INITIAL_WINDOW_SIZE, 0))
        trailer = self.post + [("trailer", "x-test")]
        return {
            "generic/1": [
                ("a preface", None, PREFACE,
                 settings((INITIAL_WINDOW_SIZE, WINDOW)), first_is_settings)],
            "generic/2": [
                ("PRIORITY on an idle stream", priority(1), ping(), pongs()),
                ("WINDOW_UPDATE on a half-closed stream", zero, self.ask,
                 window_update(1, 1), comes(DATA)),
                ("PRIORITY on a half-closed stream", zero, self.ask,
                 priority(1), window_update(1, 1), comes(DATA)),
                ("RST_STREAM on a half-closed stream", self.ask, reset(1),
                 ping(), pongs_or_closed),
                ("PRIORITY on a closed stream", self.ask, ended, priority(1),
                 ping(), pongs())],
            "generic/3.1": [
                ("DATA", self.post_open, data(1, b"test"), answered()),
                ("DATA twice", self.post_open, data(1, b"test", 0),
                 data(1, b"test"), answered()),
                ("DATA with padding", self.post_open,
                 data(1, b"\6test" + bytes(6), END_STREAM | PADDED), answered())],
            "generic/3.2": [
                ("HEADERS", self.ask, answered()),
                ("HEADERS with padding", headers(1, self.get, pad=8), answered()),
                ("HEADERS with a priority", headers(1, self.get, priority=()),
                 answered())],
            "generic/3.3": [
                ("PRIORITY 1", priority(1, 0, 0), self.ask, answered()),
                ("PRIORITY 256", priority(1), self.ask, answered()),
                ("PRIORITY with a dependency", priority(3, 1, 0), self.ask,
                 answered()),
                ("PRIORITY that is exclusive", priority(1, 0, 0, True), self.ask,
                 answered()),
                ("PRIORITY of an idle stream, then HEADERS of a lower one",
                 priority(3), self.ask, answered())],
            "generic/3.4": [
                ("RST_STREAM", self.ask_open, reset(1), ping(), pongs_or_closed)],
            "generic/3.5": [
                ("SETTINGS", settings(
                    (HEADER_TABLE_SIZE, 4096), (ENABLE_PUSH, 1),
                    (MAX_CONCURRENT_STREAMS, 100), (INITIAL_WINDOW_SIZE, 65535),
                    (MAX_FRAME_SIZE, 16384), (MAX_HEADER_LIST_SIZE, 100)),
                 acknowledged)],
            "generic/3.7": [("PING", ping(b"h2spec\0\0"), pongs(b"h2spec\0\0"))],
            "generic/3.8": [("GOAWAY", goaway(0, NO_ERROR, b"h2spec"), closed)],
            "generic/3.9": [
                ("WINDOW_UPDATE of the connection", window_update(0, 1), ping(),
                 comes(PING)),
                ("WINDOW_UPDATE of a stream", self.ask, window_update(1, 1),
                 comes(HEADERS))],
            "generic/3.10": [
                ("CONTINUATION", headers(1, self.get_block[:5], END_STREAM),
                 continuation(1, self.get_block[5:]), answered()),
                ("CONTINUATION twice",
                 headers(1, self.get_block[:5], END_STREAM),
                 continuation(1, self.get_block[5:10], 0),
                 continuation(1, self.get_block[10:]), answered())],
            "generic/4": [
                ("GET", self.ask, answered()),
                ("HEAD", headers(1, [(":method", "HEAD"), *self.get[1:]]),
                 answered()),
                ("POST", self.post_open, data(1, b"test"), answered()),
                ("POST with trailers", headers(1, trailer, END_HEADERS),
                 data(1, b"test", 0), headers(1, [("x-test", "ok")]),
                 answered())],
        }

    def generic_hpack(self):
        agent = b"\x0auser-agent\x06h2spec"
        short_agent = bytes.fromhex("87b505b161cc5a93849c48aca4")
        test = b"\x06x-test\x06h2spec"
        short_test = bytes.fromhex("85f2b24a84ff849c48aca4")
        behind = [("an indexed field", b"\xba")]
        for first, what in ((b"\x40", "with indexing"),
                            (b"\x00", "without indexing"),
                            (b"\x10", "never indexed")):
            behind += [(f"a literal {what}, {how}", first + text)
                       for how, text in (("known name", short_agent),
                                         ("known name, plain", agent),
                                         ("new name", test),
                                         ("new name, Huffman", short_test))]
        before = [("a table size of 0", b"\x20"),
                  ("a table size of 0, then of 4096", b"\x20\x3f\xe1\x1f")]
        return {"generic/5": [
            (what, headers(1, self.get_block + text), answered())
            for what, text in behind] + [
            (what, headers(1, text + self.get_block), answered())
            for what, text in before]}

    def frames(self):
        unknown = frame(0x16, 0, 0, bytes(8))
        many = [(f"x-dummy{i}", "x" * 4000) for i in range(5)]
        open_block = headers(1, self.get, 0)
        return {
            "http2/3.5": [
                ("a preface", None, PREFACE,
                 settings((INITIAL_WINDOW_SIZE, WINDOW)), first_is_settings),
                ("no preface", None, b"INVALID CONNECTION PREFACE\r\n\r\n",
                 fails(PROTOCOL_ERROR))],
            "http2/4.1": [
                ("a frame of an unknown type", unknown, ping(), comes(PING)),
                ("an undefined flag", ping(flags=0x16), comes(PING)),
                ("the reserved bit", frame(PING, 0x16, 1 << 31, bytes(8)),
                 comes(PING))],
            "http2/4.2": [
                ("DATA of 16384 bytes", self.post_open, data(1, b"x" * 16384),
                 comes(HEADERS)),
                ("DATA of 16385 bytes", self.post_open, data(1, b"x" * 16385),
                 resets(FRAME_SIZE_ERROR)),
                ("HEADERS of more than 16384 bytes",
                 headers(1, self.get + many), fails(FRAME_SIZE_ERROR))],
            "http2/4.3": [
                ("a block that is none", frame(HEADERS, BOTH, 1, b"\x40"),
                 fails(COMPRESSION_ERROR)),
                ("PRIORITY within a block", headers(1, self.get, 0), priority(1),
                 continuation(1, self.dummy), fails(PROTOCOL_ERROR)),
                ("another stream's HEADERS within a block", open_block,
                 headers(3, self.get), continuation(1, self.dummy),
                 fails(PROTOCOL_ERROR))],
        }

    def states(self):
        closes = resets(STREAM_CLOSED)
        closes_or = resets(STREAM_CLOSED, PROTOCOL_ERROR)
        lasting = settings((INITIAL_WINDOW_SIZE, 0))
        over = b"".join(headers(i, self.get) for i in range(1, 2 * 101, 2))
        bad_ping = frame(PING, 0, 3, bytes(8))
        unknown = frame(0x16, 0, 0, bytes(8))
        return {
            "http2/5.1": [
                ("idle: DATA", data(1, b"test"), fails(PROTOCOL_ERROR)),
                ("idle: RST_STREAM", reset(1), fails(PROTOCOL_ERROR)),
                ("idle: WINDOW_UPDATE", window_update(1, 100),
                 fails(PROTOCOL_ERROR)),
                ("idle: CONTINUATION", continuation(1, self.get),
                 fails(PROTOCOL_ERROR)),
                ("half-closed: DATA", self.ask, data(1, b"test"), closes),
                ("half-closed: HEADERS", self.ask, self.ask, closes),
                ("half-closed: CONTINUATION", self.ask,
                 continuation(1, self.get), closes_or),
                ("closed by RST_STREAM: DATA", self.ask_open, reset(1),
                 data(1, b"test"), closes),
                ("closed by RST_STREAM: HEADERS", self.ask_open, reset(1),
                 self.ask, closes),
                ("closed by RST_STREAM: CONTINUATION", self.ask_open, reset(1),
                 continuation(1, self.dummy), closes_or),
                ("closed: DATA", self.ask, ended, data(1, b"test"), closes),
                ("closed: HEADERS", self.ask, ended, self.ask,
                 fails(STREAM_CLOSED)),
                ("closed: CONTINUATION", self.ask, ended,
                 continuation(1, self.dummy),
                 fails(STREAM_CLOSED, PROTOCOL_ERROR))],
            "http2/5.1.1": [
                ("an even stream", headers(2, self.get), fails(PROTOCOL_ERROR)),
                ("a stream below the last", headers(5, self.get),
                 headers(3, self.get), fails(PROTOCOL_ERROR)),
                ("HEADERS again on a half-closed stream", headers(5, self.get),
                 headers(5, self.get), closes)],
            "http2/5.1.2": [
                ("a stream more than may be", lasting, over,
                 resets(PROTOCOL_ERROR, REFUSED_STREAM))],
            "http2/5.3.1": [
                ("HEADERS that depend on themselves",
                 headers(1, self.get, priority=(1,)), resets(PROTOCOL_ERROR)),
                ("PRIORITY that depends on itself", priority(1, 1),
                 resets(PROTOCOL_ERROR))],
            "http2/5.4.1": [
                ("PING on a stream", bad_ping, closed),
                ("PING on a stream: GOAWAY", bad_ping, comes(GOAWAY))],
            "http2/5.5": [
                ("a frame of an unknown type", unknown, ping(), comes(PING)),
                ("a frame of an unknown type within a block",
                 headers(1, self.get, END_STREAM), unknown,
                 fails(PROTOCOL_ERROR))],
        }

    def definitions(self):
        size = len(self.get_block)
        length = self.post + [("content-length", "4")]
        return {
            "http2/6.1": [
                ("DATA on stream 0", data(0, b"test"), fails(PROTOCOL_ERROR)),
                ("DATA on a stream that is not open", headers(1, self.post),
                 data(1, b"test"), resets(STREAM_CLOSED)),
                ("DATA with too much padding", headers(1, length, END_HEADERS),
                 data(1, b"\6Test", END_STREAM | PADDED),
                 fails(PROTOCOL_ERROR))],
            "http2/6.2": [
                ("PRIORITY behind HEADERS that go on", headers(1, self.get, 0),
                 priority(1), continuation(1, self.dummy),
                 fails(PROTOCOL_ERROR)),
                ("another stream's HEADERS behind them",
                 headers(1, self.get, 0), headers(3, self.get),
                 continuation(1, self.dummy), fails(PROTOCOL_ERROR)),
                ("HEADERS on stream 0", headers(0, self.get),
                 fails(PROTOCOL_ERROR)),
                ("HEADERS with too much padding",
                 frame(HEADERS, BOTH | PADDED, 1,
                       bytes([size + 2]) + self.get_block),
                 resets(PROTOCOL_ERROR))],
            "http2/6.3": [
                ("PRIORITY on stream 0", priority(0), fails(PROTOCOL_ERROR)),
                ("PRIORITY of 4 bytes", self.ask,
                 frame(PRIORITY, 0, 1, b"\x80\0\0\1"), resets(FRAME_SIZE_ERROR))],
            "http2/6.4": [
                ("RST_STREAM on stream 0", reset(0), fails(PROTOCOL_ERROR)),
                ("RST_STREAM on an idle stream", reset(1), fails(PROTOCOL_ERROR)),
                ("RST_STREAM of 3 bytes", self.ask,
                 frame(RST_STREAM, 0, 1, bytes(3)), resets(FRAME_SIZE_ERROR))],
        }

    def parameters(self):
        return {
            "http2/6.5": [
                ("an acknowledgement with a payload",
                 frame(SETTINGS, ACK, 0, b"\0"), fails(FRAME_SIZE_ERROR)),
                ("SETTINGS on a stream",
                 frame(SETTINGS, 0, 1, b"\0\3\0\0\0\x64"), fails(PROTOCOL_ERROR)),
                ("SETTINGS of 9 bytes",
                 frame(SETTINGS, 0, 0, b"\0\3\0\0\0\x64\0\2", 9),
                 resets(PROTOCOL_ERROR, FRAME_SIZE_ERROR))],
            "http2/6.5.2": [
                ("ENABLE_PUSH of 2", settings((ENABLE_PUSH, 2)),
                 fails(PROTOCOL_ERROR)),
                ("INITIAL_WINDOW_SIZE of 2^31",
                 settings((INITIAL_WINDOW_SIZE, 1 << 31)),
                 fails(FLOW_CONTROL_ERROR)),
                ("MAX_FRAME_SIZE of 16383", settings((MAX_FRAME_SIZE, 16383)),
                 fails(PROTOCOL_ERROR)),
                ("MAX_FRAME_SIZE of 2^24", settings((MAX_FRAME_SIZE, 1 << 24)),
                 fails(PROTOCOL_ERROR)),
                ("an unknown setting", settings((0xff, 1)), ping(), comes(PING))],
            "http2/6.5.3": [
                ("INITIAL_WINDOW_SIZE twice: the last counts",
                 settings((INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1)),
                 comes(SETTINGS), self.ask, one_byte),
                ("SETTINGS are acknowledged", settings((ENABLE_PUSH, 0)),
                 acknowledged)],
            "http2/6.7": [
                ("PING", ping(b"h2spec\0\0"), pongs(b"h2spec\0\0")),
                ("PING with ACK gets no answer", ping(b"invalid\0", ACK),
                 ping(b"h2spec\0\0"), pongs(b"h2spec\0\0")),
                ("PING on a stream", frame(PING, 0, 1, bytes(8)),
                 fails(PROTOCOL_ERROR)),
                ("PING of 6 bytes", frame(PING, 0, 0, bytes(6)),
                 fails(FRAME_SIZE_ERROR))],
            "http2/6.8": [
                ("GOAWAY on a stream", frame(GOAWAY, 0, 1, bytes(8)),
                 fails(PROTOCOL_ERROR))],
        }

    def windows(self):
        most = (1 << 31) - 1
        return {
            "http2/6.9": [
                ("an increment of 0", window_update(0, 0), fails(PROTOCOL_ERROR)),
                ("an increment of 0 on a stream", self.ask_open,
                 window_update(1, 0), resets(PROTOCOL_ERROR)),
                ("WINDOW_UPDATE of 3 bytes",
                 frame(WINDOW_UPDATE, 0, 0, b"\0\0\1"), fails(FRAME_SIZE_ERROR))],
            "http2/6.9.1": [
                ("a window of 1 byte", settings((INITIAL_WINDOW_SIZE, 1)),
                 comes(SETTINGS), self.ask, one_byte),
                ("a connection's window above 2^31-1", window_update(0, most),
                 window_update(0, most),
                 comes(GOAWAY, lambda f: f.code == FLOW_CONTROL_ERROR)),
                ("a stream's window above 2^31-1", self.ask_open,
                 window_update(1, most), window_update(1, most),
                 comes(RST_STREAM, lambda f: (f.stream, f.code)
                       == (1, FLOW_CONTROL_ERROR)))],
            "http2/6.9.2": [
                ("a window that SETTINGS open",
                 settings((INITIAL_WINDOW_SIZE, 0)), acknowledged, self.ask,
                 settings((INITIAL_WINDOW_SIZE, 1)), one_byte),
                ("a window that SETTINGS make negative",
                 settings((INITIAL_WINDOW_SIZE, 3)), acknowledged, self.ask,
                 comes(DATA), settings((INITIAL_WINDOW_SIZE, 2)), acknowledged,
                 window_update(1, 2), one_byte),
                ("INITIAL_WINDOW_SIZE of 2^31",
                 settings((INITIAL_WINDOW_SIZE, 1 << 31)),
                 fails(FLOW_CONTROL_ERROR))],
        }

    def blocks(self):
        wrong = fails(PROTOCOL_ERROR)
        return {
            "http2/6.10": [
                ("CONTINUATION twice behind HEADERS",
                 headers(1, self.get, END_STREAM), continuation(1, self.dummy, 0),
                 continuation(1, self.dummy), comes(HEADERS)),
                ("DATA behind CONTINUATION that goes on",
                 headers(1, self.post, 0), continuation(1, self.dummy, 0),
                 data(1, b"test"), wrong),
                ("CONTINUATION on stream 0", headers(1, self.get, END_STREAM),
                 continuation(0, self.dummy), wrong),
                ("CONTINUATION behind HEADERS that have ended", self.ask,
                 continuation(1, self.dummy), wrong),
                ("CONTINUATION behind CONTINUATION that has ended",
                 headers(1, self.get, END_STREAM), continuation(1, self.dummy),
                 continuation(1, self.dummy), wrong),
                ("CONTINUATION behind DATA", headers(1, self.post, 0),
                 data(1, b"test"), continuation(1, self.dummy, 0),
                 continuation(0, self.dummy), wrong)],
            "http2/7": [
                ("GOAWAY with an unknown error", goaway(0, 0xff), closed),
                ("RST_STREAM with an unknown error", self.post_open,
                 reset(1, 0xff), ping(), comes(PING))],
        }

    def _bad(self, *fields):
        return headers(1, self.get + list(fields))

    def messages(self):
        wrong = resets(PROTOCOL_ERROR)
        trailers = headers(1, [("x-test", "ok")], END_HEADERS)
        return {
            "http2/8.1": [
                ("a second HEADERS that does not end the stream", self.post_open,
                 data(1, b"test", 0), trailers, wrong)],
            "http2/8.1.2": [
                ("a name in upper case", self._bad(("X-TEST", "ok")), wrong)],
            "http2/8.1.2.1": [
                ("an unknown pseudo-field", self._bad((":test", "ok")), wrong),
                ("a pseudo-field of answers", self._bad((":status", "200")),
                 wrong),
                ("a pseudo-field in trailers", self.post_open,
                 data(1, b"test", 0),
                 headers(1, [(":method", "POST")], END_HEADERS), wrong),
                ("a pseudo-field behind a field",
                 headers(1, [("x-test", "ok"), *self.get]), wrong)],
            "http2/8.1.2.2": [
                ("connection", self._bad(("connection", "keep-alive")), wrong),
                ("te other than trailers",
                 self._bad(("trailers", "test"), ("te", "trailers, deflate")),
                 wrong)],
        }

    def pseudo(self):
        wrong = resets(PROTOCOL_ERROR)
        method, scheme, path, authority = self.get
        one = headers(1, self.post + [("content-length", "1")], END_HEADERS)
        promise = frame(PUSH_PROMISE, END_HEADERS, 1, b"\0\0\0\3" + self.get_block)
        return {
            "http2/8.1.2.3": [
                ("an empty :path",
                 headers(1, [method, scheme, (":path", ""), authority]), wrong),
                ("no :method", headers(1, [path, authority]), wrong),
                ("no :scheme", headers(1, [method, path, authority]), wrong),
                ("no :path", headers(1, [method, scheme, authority]), wrong),
                (":method twice", self._bad(method), wrong),
                (":scheme twice", self._bad(scheme), wrong),
                (":path for a second :method",
                 self._bad((":method", path[1])), wrong)],
            "http2/8.1.2.6": [
                ("content-length is not that of DATA", one, data(1, b"test"),
                 wrong),
                ("content-length is not the sum of DATA", one,
                 data(1, b"test", 0), data(1, b"test"), wrong)],
            "http2/8.2": [("PUSH_PROMISE", promise, fails(PROTOCOL_ERROR))],
        }

    def hpack(self):
        wrong = fails(COMPRESSION_ERROR)
        long_pad, zero_pad, eos = (bytes.fromhex(text) for text in (
            "0085f2b24a84ff8449509fff", "0085f2b24a84ff83495090",
            "0085f2b24a87fffffffd25427f"))
        behind = {
            "hpack/2.3.3": [("a field whose index is 70", b"\xc6"),
                            ("a name whose index is 70", b"\x7f\x07\x00")],
            "hpack/4.2": [("a table size behind fields", b"\x21")],
            "hpack/5.2": [("a Huffman string with 8 bits of padding", long_pad),
                          ("a Huffman string padded by zeros", zero_pad),
                          ("a Huffman string with EOS in it", eos)],
            "hpack/6.1": [("index 0", b"\x80")],
        }
        rows = {section: [(what, headers(1, self.get_block + text), wrong)
                          for what, text in cases]
                for section, cases in behind.items()}

        def too_large(p):
            size = p.settings.get(HEADER_TABLE_SIZE, 4096) + 1
            p.send(headers(1, integer(size, 5, 0x20) + self.get_block))

        rows["hpack/6.3"] = [
            ("a table size above that of SETTINGS", too_large, wrong)]
        return rows
