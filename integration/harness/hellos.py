"""ClientHellos that no library would send, and what they are answered."""
import os
import struct

SERVER_NAME, GROUPS, SIGNATURES, ALPN = 0, 10, 13, 16
PADDING, PSK, EARLY_DATA, VERSIONS, MODES, KEY_SHARE = 21, 41, 42, 43, 45, 51
ECH = 0xfe0d
P256, P521, X25519, X25519MLKEM768 = 23, 25, 29, 0x11ec
# A kind of alert that says nothing of its own: it may come anywhere.
WARNING = b"\x15\3\1\0\2\1\0"


def vec(size, data):
    """data with its length before it, in size bytes."""
    return len(data).to_bytes(size, "big") + data


def ext(kind, data=b""):
    return struct.pack(">H", kind) + vec(2, data)


def server_name(*names):
    """The extension, with (type, name)s or names of hosts."""
    pairs = [n if isinstance(n, tuple) else (0, n) for n in names]
    return ext(SERVER_NAME, vec(2, b"".join(
        bytes([kind]) + vec(2, name) for kind, name in pairs)))


def groups(*ids):
    return ext(GROUPS, vec(2, struct.pack(f">{len(ids)}H", *ids)))


def key_share(*shares):
    """Of (group, bytes)s; any 32 bytes are a key of X25519."""
    return ext(KEY_SHARE, vec(2, b"".join(
        struct.pack(">H", group) + vec(2, key) for group, key in shares)))


SIGNS = ext(SIGNATURES, vec(2, b"\4\3\x08\4\x08\5\4\1"))
# What a hello of TLS 1.2 needs beside a name: the certificate comes in clear.
TLS12 = (groups(P256), SIGNS)


def tls13(*shares, offered=(X25519, P256)):
    """What one of TLS 1.3 needs; without shares it is asked again."""
    return (groups(*offered), SIGNS, ext(VERSIONS, b"\2\3\4"), ext(MODES, b"\1\1"),
            key_share(*shares))


def share():
    return X25519, os.urandom(32)


def message(*extensions, ciphers=b"\x13\1\xc0\x2b", session=b""):
    """The handshake message, out of its records."""
    body = (b"\3\3" + os.urandom(32) + vec(1, session) + vec(2, ciphers)
            + b"\1\0" + vec(2, b"".join(extensions)))
    return b"\1" + vec(3, body)


def in_records(data, size=16384):
    """A handshake message in records of at most size bytes each."""
    return b"".join(b"\x16\3\1" + vec(2, data[i:i + size])
                    for i in range(0, len(data), size))


def again(stream, size):
    """One record's worth of stream, cut into records of at most size bytes."""
    return in_records(stream[5:], size)


def client_hello(names, *more):
    """One of TLS 1.2, with a server_name extension, as a stream."""
    return in_records(message(server_name(*names), *TLS12, *more))


def answer(data):
    """What came back: {"hello", "retry", "certificate"} that apply, "alert N"
    and how it ended. data is what raw.read() gave."""
    found = set()
    while len(data) >= 5 and data[0] in (20, 21, 22, 23):
        size = int.from_bytes(data[3:5], "big")
        kind, body, data = data[0], data[5:5 + size], data[5 + size:]
        if kind == 21 and size == 2:
            found.add(f"alert {body[1]}")
        while kind == 22 and len(body) >= 4:
            size = 4 + int.from_bytes(body[1:4], "big")
            if body[0] == 2:
                found.add("retry" if body[6:38] == RETRY else "hello")
            if body[0] == 11:
                found.add("certificate")
            body = body[size:]
    return found


# RFC 8446 4.1.3: the random of a HelloRetryRequest.
RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891"
                      "c2a211167abb8c5e079e09e2c8a8339c")
