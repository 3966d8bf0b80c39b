"""Resolvers by TLS: unbound, and one that does what a test tells it to."""
import os
import ssl
import struct

from . import shell
from .claims import until
from .nameserver import Question
from .origins import RawOrigin


def framed(packet):
    return struct.pack(">H", len(packet)) + packet


class Dot:
    """way(self, peer) is what it does with a connection; zone(question) what it
    answers."""

    def __init__(self, w, address, cert, zone):
        self.way, self.cert, self.zone = Dot.plain, cert, zone
        self.max_version = ssl.TLSVersion.TLSv1_3
        self.asked, self.connections = [], 0
        self.raw = w.own(RawOrigin(w.net, address, 853, self._serve))

    def _serve(self, peer, record):
        self.connections += 1
        self.way(self, peer)

    def talk(self, peer):
        """(the TLS connection, questions as they come)."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if self.max_version < ssl.TLSVersion.TLSv1_2:
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = self.max_version
        context.load_cert_chain(*self.cert)
        tls = context.wrap_socket(peer, server_side=True)
        return tls, self._questions(tls)

    def _questions(self, tls):
        data = b""
        while part := tls.recv(4096):
            data += part
            while len(data) >= 2 and \
                    len(data) >= 2 + (length := struct.unpack(">H", data[:2])[0]):
                q = Question(data[2:2 + length], True)
                data = data[2 + length:]
                self.asked.append(q.name)
                yield q

    def plain(self, peer):
        tls, questions = self.talk(peer)
        for q in questions:
            tls.sendall(framed(self.zone(q)))


UNBOUND = """\
server:
  interface: {address}@853
  tls-service-key: {key}
  tls-service-pem: {cert}
  tls-port: 853
  username: ""
  chroot: ""
  directory: {folder}
  pidfile: {folder}/pid
  use-syslog: no
  logfile: {folder}/log
  log-queries: yes
  log-time-ascii: no
  num-threads: 1
  module-config: "iterator"
  do-not-query-localhost: no
  access-control: 0.0.0.0/0 allow
{zones}
remote-control:
  control-enable: no
"""


ZONE = """\
  local-zone: "{0}." redirect
  local-data: "{0}. 1 A {1}"
"""


class Unbound:
    """zones: {name: address}; all names below it lead there, too."""

    def __init__(self, w, address, cert, zones):
        self.w, self.address = w, address
        self.folder = f"{w.folder}/unbound"
        os.mkdir(self.folder)
        w.file("unbound/conf", UNBOUND.format(
            folder=self.folder, address=address, cert=cert[0], key=cert[1],
            zones="".join(ZONE.format(*z) for z in zones.items())))
        self.process = None
        self.start()
        w.own(self)

    def start(self):
        self.process = shell.start(
            self.w.net.plain(["unbound", "-d", "-c", f"{self.folder}/conf"]),
            f"{self.folder}/out")
        until(lambda: f"{self.address}:853" in self.w.net.run(
            ["ss", "-Hltn", "sport = :853"]).out, 10, "unbound listens")

    def log(self):
        with open(f"{self.folder}/log", encoding="ascii") as f:
            return f.read()

    def close(self):
        shell.stop(self.process, 5)
