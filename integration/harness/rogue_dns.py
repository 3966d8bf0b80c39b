"""A resolver in a sandbox's network that answers with an address of its choice.

Run as: rogue_dns.py DEVICE LABEL. It answers, through a packet socket, every
question that reaches DEVICE and whose name starts with a label of LABEL bytes;
whoever starts it keeps those questions from the gate. Prints "ready" first.
"""
import socket
import struct
import sys

ETHER, IP, UDP, DNS = 14, 20, 8, 12
ETH_P_ALL = 3


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def answer(frame):
    ether, ip = frame[:ETHER], frame[ETHER:ETHER + IP]
    udp = frame[ETHER + IP:ETHER + IP + UDP]
    question = frame[ETHER + IP + UDP:]
    record = b"\xc0\x0c" + struct.pack("!HHIH4B", 1, 1, 5, 4, 203, 0, 113, 7)
    dns = question[:2] + struct.pack("!5H", 0x8180, 1, 1, 0, 0) + \
        question[DNS:] + record
    length = UDP + len(dns)
    udp = udp[2:4] + udp[:2] + struct.pack("!HH", length, 0)
    head = struct.pack("!BBHHHBBH", 0x45, 0, IP + length, 0, 0, 64, 17, 0) + \
        ip[16:20] + ip[12:16]
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return ether[6:12] + ether[:6] + ether[12:14] + head + udp + dns


def main():
    device, label = sys.argv[1], int(sys.argv[2])
    # One for all protocols sees frames before tc and the ruleset do.
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                         socket.htons(ETH_P_ALL))
    sock.bind((device, ETH_P_ALL))
    print("ready", flush=True)
    while True:
        frame, (_, _, kind, *_) = sock.recvfrom(2048)
        at = ETHER + IP + UDP + DNS
        if kind != socket.PACKET_OUTGOING and len(frame) > at and \
                frame[ETHER + 9] == 17 and frame[ETHER + IP + 3] == 53 and \
                frame[at] == label:
            sock.send(answer(frame))


main()
