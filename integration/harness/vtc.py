"""Scripts of varnishtest between a guest and an origin.

varnishtest is one process and knows no namespaces: its client connects to a
Unix socket that is led into the guest and on to the gate, its server listens
on one that an origin's address is led to. Bytes pass as they are, and so does
the end of each direction; TLS, if there is any, is added on the way.
"""
import glob
import os
import select
import socket
import ssl
import threading

from .origins import RawOrigin
from .shell import run

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vtc")


def scripts():
    """The names of all scripts."""
    return [os.path.basename(path)[:-len(".vtc")]
            for path in sorted(glob.glob(f"{FOLDER}/*.vtc"))]


def at_once(k, call, *args):
    """What a call that may not wait returns; None if it would have to."""
    k.setblocking(False)
    try:
        return call(*args)
    except (ssl.SSLWantReadError, BlockingIOError):
        return None
    finally:
        k.setblocking(True)


def finish(k):
    """Nothing more is sent, and the peer is told so."""
    try:
        if isinstance(k, ssl.SSLSocket):
            at_once(k, k.unwrap)  # what the peer says to it is read in turn
        else:
            k.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def join(a, b):
    """Bytes both ways until both have ended, or one is cut.

    By one thread: two may not use a TLS connection at a time.
    """
    other, open_ = {a: b, b: a}, [a, b]
    try:
        while open_:
            ready = [k for k in open_
                     if isinstance(k, ssl.SSLSocket) and k.pending()]
            for k in ready or select.select(open_, [], [])[0]:
                data = at_once(k, k.recv, 65536)
                if data:
                    other[k].sendall(data)
                elif data is not None:
                    open_.remove(k)
                    finish(other[k])
    except OSError:
        pass  # nothing says that what came before was all
    finally:
        a.close()
        b.close()


class Entry:
    """A Unix socket in front of open(), which gives connections of a guest."""

    def __init__(self, path, open_):
        self.open = open_
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(8)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                k, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._one, args=(k,), daemon=True).start()

    def _one(self, k):
        join(k, self.open())

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()


class Exit:
    """An origin whose connections go on to a Unix socket."""

    def __init__(self, w, address, port, path, names=None):
        self.path, self.tls = path, None
        if names:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(*w.authority.issue(*names))
        self.raw = w.own(RawOrigin(w.net, address, port, self._serve))

    def _serve(self, peer, record):
        k = socket.socket(socket.AF_UNIX)
        k.connect(self.path)
        join(self.tls.wrap_socket(peer, server_side=True)
             if self.tls else peer, k)


def play(name, folder, **macros):
    """Runs a script; fails with all it said if anything was not as it says."""
    argv = ["varnishtest", "-t", "30", "-l"]
    for key, value in macros.items():
        argv += ["-D", f"{key}={value}"]
    got = run([*argv, f"{FOLDER}/{name}.vtc"], timeout=60,
              env={**os.environ, "TMPDIR": folder})
    if got.code != 0:
        raise AssertionError(f"{name}:\n{got.both[-6000:]}")
