"""Origins: real servers in the tests' network, and one that says raw bytes."""
import os
import socket
import ssl
import threading

from . import shell
from .claims import until
from .net import RESOLVER


class Resolver:
    """dnsmasq for the tests' zone; it logs each query it was asked."""

    def __init__(self, net, folder, names, address=RESOLVER):
        self.log = f"{folder}/dnsmasq.log"
        argv = ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null",
                "--no-resolv", "--no-hosts", "--user=root", "--pid-file=",
                "--bind-interfaces", f"--listen-address={address}",
                "--log-queries", "--log-facility=-", "--local-ttl=1"]
        for name, ip in names:
            # "*.x" is any name below x, of which there is no other address.
            argv += [f"--address=/{name[2:]}/{ip}", f"--local=/{name[2:]}/"] \
                if name.startswith("*.") else [f"--host-record={name},{ip}"]
        self.net, self.argv = net, argv
        self.process = None
        self.start()

    def start(self):
        self.process = shell.start(self.net.plain(self.argv), self.log)
        until(lambda: "started" in self.queries_raw(), 10, "dnsmasq starts")

    def queries_raw(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def queries(self):
        """The names asked for, in order, in lower case; not the root, which we ask
        for to see who is there."""
        names = [line.split("] ", 1)[1].split()[0].lower()
                 for line in self.queries_raw().splitlines()
                 if ": query[" in line]
        return [name for name in names if name != "."]

    def close(self):
        shell.stop(self.process)


NGINX = """
daemon off; master_process off; user root; pid {folder}/nginx.pid;
error_log {folder}/error.log info;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
  access_log {folder}/access.log combined buffer=1k flush=1s;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fcgi; uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  client_max_body_size 0; keepalive_requests 100000; keepalive_timeout 60s;
  {servers}
}}
"""


class Nginx:
    """nginx with the server blocks given, in the tests' network."""

    def __init__(self, net, folder, servers):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        conf = f"{folder}/nginx.conf"
        with open(conf, "w", encoding="ascii") as f:
            f.write(NGINX.format(folder=folder, servers=servers))
        self.process = shell.start(
            net.plain(["nginx", "-p", folder, "-c", conf]), f"{folder}/out")
        until(lambda: os.path.exists(f"{folder}/nginx.pid")
              and os.path.getsize(f"{folder}/nginx.pid"), 10, "nginx starts")

    def close(self):
        shell.stop(self.process)


class RawOrigin:
    """Accepts in a namespace; answers each connection by handler(socket).

    seen holds the bytes of each connection, as they came.
    """

    def __init__(self, net, address, port, handler):
        self.seen = []
        self.handler = handler
        self.listener = listen_in(net, address, port)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(
                target=self._one, args=(peer,), daemon=True).start()

    def _one(self, peer):
        peer.settimeout(20)
        record = bytearray()
        self.seen.append(record)
        try:
            # Else what is written byte by byte waits to be sent together.
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.handler(peer, record)
        except OSError:
            pass
        finally:
            peer.close()

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()


class HeadsOrigin:
    """Over TLS, answers every request without a body with 200, or with 401
    if it holds a text of refuses; heads holds them as they came. ca signs
    for it, the world's own unless given; body is what it answers."""

    def __init__(self, world, address, *names, ca=None, body=b"ok\n",
                 media="text/plain"):
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(*(ca or world.authority).issue(*names))
        self.good = (b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n"
                     b"Content-Length: %d\r\n\r\n%s"
                     % (media.encode(), len(body), body))
        self.heads = []
        self.connections = 0
        self.refuses = set()
        self.raw = RawOrigin(world.net, address, 443, self.serve)

    def serve(self, peer, record):
        peer = self.tls.wrap_socket(peer, server_side=True)
        peer.settimeout(20)
        self.connections += 1
        while True:
            head = b""
            while b"\r\n\r\n" not in head:
                part = peer.recv(65536)
                if not part:
                    return
                head += part
            if not self.answer(peer, head):
                peer.close()
                return

    def answer(self, peer, head):
        """True: the connection goes on."""
        head = head.decode("latin-1")
        self.heads.append(head)
        if any(text in head for text in self.refuses):
            peer.sendall(b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: "
                         b"Bearer\r\nContent-Length: 3\r\n\r\nno\n")
        else:
            peer.sendall(self.good)
        return True

    def close(self):
        self.raw.close()


def listen_in(net, address, port):
    """A listening socket inside a namespace, made in a thread of its own."""
    result = []

    def make():
        setns(net.path)
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((address, port))
        s.listen(64)
        result.append(s)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    return result[0]


def socket_in(net, *args):
    """socket.socket(*args) inside a namespace."""
    result = []

    def make():
        setns(net.path)
        result.append(socket.socket(*args))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    return result[0]


def setns(path):
    """setns(2) of this thread (Python 3.11 has no os.setns)."""
    import ctypes

    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(fd, 0x40000000) != 0:
            raise OSError(ctypes.get_errno(), f"setns {path}")
    finally:
        os.close(fd)
