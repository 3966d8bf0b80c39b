"""A nameserver that says what a test tells it to, byte for byte."""
import contextlib
import socket
import struct
import threading

from .origins import listen_in, socket_in

A, CNAME, AAAA = 1, 5, 28
HERE = b"\xc0\x0c"  # points at the question's name


def name(text):
    return b"".join(bytes([len(label)]) + label.encode()
                    for label in text.split(".") if label) + b"\0"


def record(owner, kind, data, ttl=0, of_class=1):
    return owner + struct.pack(">HHIH", kind, of_class, ttl, len(data)) + data


class Question:
    def __init__(self, packet, is_tcp):
        at, labels = 12, []
        while packet[at]:
            labels.append(packet[at + 1:at + 1 + packet[at]].decode())
            at += 1 + packet[at]
        self.id, self.is_tcp = packet[:2], is_tcp
        self.name = ".".join(labels).lower()
        self.kind = struct.unpack(">H", packet[at + 1:at + 3])[0]
        self.bytes = packet[12:at + 5]

    def answer(self, *records, flags=0x8180, count=None, question=None):
        return (self.id + struct.pack(">5H", flags, 1, len(records)
                                      if count is None else count, 0, 0)
                + (question or self.bytes) + b"".join(records))

    def addresses(self, *texts):
        """These for A, nothing for AAAA."""
        return self.answer(*(record(HERE, A, socket.inet_aton(t))
                             for t in texts)) if self.kind == A \
            else self.answer()


class Nameserver:
    """rules: {name: function of a Question that gives packets}."""

    def __init__(self, w, address):
        self.rules, self.asked = {}, []
        self.udp = socket_in(w.net, socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((address, 53))
        self.tcp = listen_in(w.net, address, 53)
        for serve in (self._serve_udp, self._serve_tcp):
            threading.Thread(target=serve, daemon=True).start()
        w.own(self)

    def _answers(self, packet, is_tcp):
        q = Question(packet, is_tcp)
        # The root is what we ask to see who is there, and no guest's question.
        if q.name:
            self.asked.append(q.name)
        rule = self.rules.get(q.name)
        said = rule(q) if rule else q.answer(flags=0x8183)
        return said if isinstance(said, list) else [said]

    def _serve_udp(self):
        while True:
            try:
                packet, peer = self.udp.recvfrom(4096)
            except OSError:
                return
            if not packet:  # shut down
                return
            for said in self._answers(packet, False):
                # It may have been closed while a late answer was waited for.
                with contextlib.suppress(OSError):
                    self.udp.sendto(said, peer)

    def _serve_tcp(self):
        while True:
            try:
                peer, _ = self.tcp.accept()
            except OSError:
                return
            with peer:
                for said in self._answers(peer.recv(4096)[2:], True):
                    peer.sendall(struct.pack(">H", len(said)) + said)

    def close(self):
        for s in (self.udp, self.tcp):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()
