"""Raw bytes on both sides: an origin that records them, a guest that makes them."""
import re
import socket
import ssl

from .origins import RawOrigin, socket_in

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
# A whole answer of ours; its last line ends in a newline.
REFUSAL = re.compile(rb"Tapward-Reason: .*\r\n\r\n.*\n\Z", re.DOTALL)
LENGTH = re.compile(rb"(?im)^content-length: (\d+)")
CHUNKED = re.compile(rb"(?im)^transfer-encoding:")


class Recorder:
    """An origin that keeps every byte it was sent, decrypted.

    answer(nth, head) gives the bytes of an answer, a callable that is given
    the socket and says whether to go on, or None to close.
    """

    def __init__(self, w, address, port=443, names=None, cert=None):
        self.tls = None
        if names or cert:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(*(cert or w.authority.issue(*names)))
        self.answer = lambda nth, head: OK
        self.streams, self.marks = [], {}
        self.ended = 0  # connections
        self.raw = w.own(RawOrigin(w.net, address, port, self._serve))

    def _serve(self, peer, record):
        try:
            self._talk(peer)
        finally:
            self.ended += 1

    def _talk(self, peer):
        if self.tls:
            peer = self.tls.wrap_socket(peer, server_side=True)
        peer.settimeout(20)
        stream = bytearray()
        self.streams.append(stream)
        at, nth = 0, 0
        while True:
            end = self._until(peer, stream, lambda: stream.find(b"\r\n\r\n", at))
            head = bytes(stream[at:end + 4])
            at = self._body(peer, stream, head, end + 4)
            said = self.answer(nth, head)
            nth += 1
            if callable(said):
                if not said(peer):
                    return
            elif said is None:
                return
            else:
                peer.sendall(said)

    def _until(self, peer, stream, found):
        while (at := found()) < 0:
            part = peer.recv(65536)
            if not part:
                raise OSError("ended")
            stream += part
        return at

    def _body(self, peer, stream, head, at):
        length = LENGTH.search(head)
        if length:
            end = at + int(length.group(1))
            return self._until(
                peer, stream, lambda: end if len(stream) >= end else -1)
        if CHUNKED.search(head):
            return self._until(
                peer, stream, lambda: stream.find(b"0\r\n\r\n", at)) + 5
        return at

    def seen(self):
        """All bytes since forget(), of all connections."""
        return b"".join(self.parts())

    def parts(self):
        """The same, of each connection that brought any."""
        found = (bytes(s[self.marks.get(id(s), 0):])
                 for s in list(self.streams))
        return [part for part in found if part]

    def forget(self):
        self.marks = {id(s): len(s) for s in list(self.streams)}

    def count(self):
        return len(self.raw.seen)


def connect(s, address, seconds=5, kind=socket.SOCK_STREAM):
    """A socket of the guest, connected."""
    k = socket_in(s.guest, socket.AF_INET, kind)
    k.settimeout(seconds)
    try:
        k.connect(address)
        if kind == socket.SOCK_STREAM:
            k.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError:
        k.close()
        raise
    return k


def synthetic(s, name, _known={}):
    """The address that the guest is told for name."""
    key = s.world.id, s.name, name
    if key not in _known:
        _known[key] = s.run(["dig", "+short", name]).ok().out.split()[-1]
    return _known[key]


def tls(s, name, k=None, ca=None):
    """A TLS connection of the guest to name; over k if given."""
    k = k or connect(s, (synthetic(s, name), 443))
    try:
        return ssl.create_default_context(cafile=ca or s.ca).wrap_socket(
            k, server_hostname=name)
    except OSError:
        k.close()
        raise


def read(k, until=REFUSAL, seconds=3):
    """What comes until it matches, or ends; how it ended is told by "<...>"."""
    data = b""
    k.settimeout(seconds)
    try:
        while not (until and until.search(data)):
            part = k.recv(65536)
            if not part:
                return data + b"<end>"
            data += part
    except socket.timeout:
        data += b"<nothing more>"
    except OSError as e:
        data += f"<{type(e).__name__}>".encode()
    return data


def deliver(k, data, how):
    """whole, byte by byte, or line by line; a peer that closes is no error.

    What is long comes in more bytes at once, so that it does not take minutes.
    """
    if how == "bytes":
        step = 1 + len(data) // 8192
        parts = [data[i:i + step] for i in range(0, len(data), step)]
    elif how == "lines":
        parts = data.splitlines(keepends=True)
    else:
        parts = [data]
    try:
        for part in parts:
            k.sendall(part)
    except OSError:
        pass


def hello(name, ca):
    """(ClientHello, object, in, out) for a handshake by hand."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    o = ssl.create_default_context(cafile=ca).wrap_bio(
        incoming, outgoing, server_hostname=name)
    try:
        o.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read(), o, incoming, outgoing


def exchange(k, started, request, seconds=5):
    """Goes on with what hello() began: the answer's head."""
    _, o, incoming, outgoing = started
    k.settimeout(seconds)
    data, asked = b"", False
    while b"\r\n\r\n" not in data:
        try:
            if not asked:
                o.do_handshake()
                o.write(request)
                asked = True
                k.sendall(outgoing.read())
            data += o.read(65536)
        except ssl.SSLWantReadError:
            out = outgoing.read()
            if out:
                k.sendall(out)
            part = k.recv(65536)
            if not part:
                return data + b"<end>"
            incoming.write(part)
    return data
