"""An origin that speaks HTTP/2 frame by frame, and says whatever it is told."""
import select
import socket
import ssl
import threading

from . import h2frames as h2
from .origins import RawOrigin


def ok(stream):
    return answer(stream, b"ok")


def answer(stream, body, *fields):
    head = [(":status", "200"), *fields]
    return h2.headers(stream, head, h2.END_HEADERS) + h2.data(stream, body)


class Shared:
    """A TLS socket that one thread reads while another one writes: Python's ssl
    module before 3.13 does not keep the two apart."""

    def __init__(self, k):
        self.k, self.lock, self.seconds = k, threading.Lock(), None

    def settimeout(self, seconds):
        self.seconds = seconds

    def recv(self, size):
        with self.lock:
            is_there = self.k.pending() > 0
        if not is_there and not select.select([self.k], [], [], self.seconds)[0]:
            raise socket.timeout
        with self.lock:
            return self.k.recv(size)

    def sendall(self, data):
        with self.lock:
            self.k.sendall(data)

    def close(self):
        self.k.close()


class Asked:
    """A request as it came: fields in order, the body, trailers."""

    def __init__(self, fields):
        self.fields, self.body, self.trailers = fields, b"", None

    def field(self, name):
        return dict(self.fields).get(name)


class Origin:
    """answer(peer, stream, asked) says something once a request is whole.

    early(peer, stream, asked), if set, is called when its head is there.
    peers: a connection each, with all frames that came on it. asked: all
    requests, once their head is there.
    """

    def __init__(self, w, address, names, port=443):
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(*w.authority.issue(*names))
        self.tls.set_alpn_protocols(["h2"])
        self.reset()
        self.peers = []
        self.raw = w.own(RawOrigin(w.net, address, port, self._serve))

    def reset(self):
        """Good answers from here on; what was asked is forgotten."""
        self.asked, self.early = [], None
        self.settings = ()
        self.answer = lambda peer, stream, asked: peer.send(ok(stream))

    def _serve(self, peer, _record):
        k = self.tls.wrap_socket(peer, server_side=True,
                                 suppress_ragged_eofs=False)
        p = h2.Peer(Shared(k))
        p.ended = None
        self.peers.append(p)
        try:
            self._talk(p)
        except h2.Closed:
            p.ended = "closed"
        except (h2.Silent, OSError) as e:
            p.ended = type(e).__name__
        finally:
            k.close()

    def _talk(self, p):
        p.take(len(h2.PREFACE), 20)
        p.send(h2.settings(*self.settings))
        open_streams = {}
        while True:
            f = p.read(60)
            if f.kind == h2.SETTINGS and not f.flags & h2.ACK:
                p.send(h2.frame(h2.SETTINGS, h2.ACK))
            elif f.fields is not None:
                self._head(p, f, open_streams)
            elif f.kind == h2.DATA and f.stream in open_streams:
                open_streams[f.stream].body += h2.unpadded(f)
                if f.payload:
                    p.send(h2.window_update(0, len(f.payload)))
                    if not f.ends:
                        p.send(h2.window_update(f.stream, len(f.payload)))
            if f.ends and f.stream in open_streams:
                self.answer(p, f.stream, open_streams.pop(f.stream))

    def _head(self, p, f, open_streams):
        if f.stream in open_streams:
            open_streams[f.stream].trailers = f.fields
            return
        asked = open_streams[f.stream] = Asked(f.fields)
        self.asked.append(asked)
        if self.early:
            self.early(p, f.stream, asked)

    def count(self):
        """Connections so far."""
        return len(self.peers)

    def seen(self):
        """What was asked since reset(), as bytes to search in."""
        return b"".join(
            repr(a.fields).encode() + a.body + repr(a.trailers).encode()
            for a in list(self.asked))
