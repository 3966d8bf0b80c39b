"""WebSocket by raw bytes, where one side lies.

The numbers are those of the catalogue of known escapes.
"""
import base64
import os
import re
import socket
import ssl
import time

from harness.claims import claim, contains, equal, lacks, until
from harness.raw import OK, connect, deliver, read, synthetic, tls
from harness.websocket import (ACCEPT, HANDSHAKE, KEY, OPEN, SWITCH, ask, end,
                               frame, guest, world)

H2C = (b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
       b"HTTP2-Settings: AAMAAABkAAQAAP__\r\n")
REST = HANDSHAKE.split(b"\r\n", 2)[2]
NOT_SENT_ON = {
    "h2c": ask("raw", H2C),
    "TLS": ask("raw", b"Connection: Upgrade\r\nUpgrade: TLS/1.0\r\n"),
    "something": ask("raw", b"Connection: upgrade\r\nUpgrade: foo/2, bar\r\n"),
    "two tokens": ask("raw", HANDSHAKE.replace(
        b"websocket\r\n", b"websocket, h2c\r\n", 1)),
    "two the other way": ask("raw", HANDSHAKE.replace(
        b": websocket", b": h2c, websocket", 1)),
    "two fields": ask("raw", HANDSHAKE + b"Upgrade: TLS/1.2\r\n"),
    "with a version": ask("raw", HANDSHAKE.replace(
        b": websocket", b": websocket/13", 1)),
    "no Connection": ask("raw", b"Upgrade: websocket\r\n" + REST),
    "by HTTP/1.0": ask("raw", HANDSHAKE, version=b"1.0"),
    "by POST": ask("raw", HANDSHAKE + b"Content-Length: 0\r\n",
                   method=b"POST"),
    "with a body": ask("raw", HANDSHAKE + b"Content-Length: 2\r\n") + b"hi",
}


@claim("row 74: h2c, TLS, several tokens, POST, HTTP/1.0: whatever is no handshake goes on as an ordinary request, or not at all")
def _():
    _, s, origins = world()
    raw = origins["raw"]
    for what, said in NOT_SENT_ON.items():
        for how in ("whole", "bytes", "lines"):
            raw.forget()
            raw.answer = lambda nth, head: OK
            with tls(s, "raw.example.com") as k:
                deliver(k, said, how)
                contains(read(k, re.compile(rb"ok\Z")), b" 200 ", what)
            lacks(raw.seen().lower(), b"upgrade", what)
            lacks(raw.seen().lower(), b"websocket", what)
            lacks(raw.seen().lower(), b"http2-settings", what)
        # Nor is an answer taken that says it was.
        raw.answer = lambda nth, head: OPEN
        with tls(s, "raw.example.com") as k:
            k.sendall(said)
            data = read(k)
        contains(data, b" 502 ", what)
        lacks(data, b" 101 ", what)
    raw.forget()
    for what, more in {
            "no key": HANDSHAKE.replace(b"-Key", b"-Kay"),
            "two keys": HANDSHAKE + b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n",
            "a short key": HANDSHAKE.replace(b"dGhlIHNhbXBsZSBub25jZQ==", b"AAAA"),
            "version 8": HANDSHAKE.replace(b": 13", b": 8"),
            "an alias": HANDSHAKE + b"Sec_WebSocket_Key: x\r\n"}.items():
        with tls(s, "raw.example.com") as k:
            k.sendall(ask("raw", more))
            contains(read(k), b" 400 ", what)
    equal(raw.seen(), b"")
    return f"{3 * len(NOT_SENT_ON) + 5} requests"


ANSWERS = {
    "200 as an upgrade": (b"HTTP/1.1 200 OK\r\nUpgrade: websocket\r\n"
                          b"Connection: Upgrade\r\n" + ACCEPT
                          + b"Content-Length: 2\r\n\r\nok", b" 200 "),
    "426": (b"HTTP/1.1 426 Upgrade Required\r\nUpgrade: TLS/1.0\r\n"
            b"Connection: Upgrade\r\nContent-Length: 2\r\n\r\nok", b" 426 "),
    "a wrong accept": (SWITCH + ACCEPT.replace(b"s3p", b"s3q") + b"\r\n",
                       b" 502 "),
    "no accept": (SWITCH + b"\r\n", b" 502 "),
    "to something else": (SWITCH.replace(b": websocket", b": h2c") + ACCEPT
                          + b"\r\n", b" 502 "),
    "without Connection": (SWITCH.replace(b"Connection: Upgrade\r\n", b"")
                           + ACCEPT + b"\r\n", b" 502 "),
    "a protocol of its own": (SWITCH + ACCEPT
                              + b"Sec-WebSocket-Protocol: chat\r\n\r\n",
                              b" 502 "),
    "an extension of its own": (SWITCH + ACCEPT + b"Sec-WebSocket-Extensions: "
                                b"permessage-deflate\r\n\r\n", b" 502 "),
    "a length": (SWITCH + ACCEPT + b"Content-Length: 2\r\n\r\nok", b" 502 "),
}


@claim("row 74: only the right 101 opens a tunnel; after any other answer the origin's connection serves nobody, and what the guest sent is a request")
def _():
    _, s, origins = world()
    raw = origins["raw"]
    frame = b"\x81\x82\0\0\0\0hi"
    for what, (said, want) in ANSWERS.items():
        raw.forget()
        raw.answer = lambda nth, head, said=said: said if b"/chat" in head else OK
        ended = raw.ended
        with tls(s, "raw.example.com") as k:
            k.sendall(ask("raw", HANDSHAKE))
            data = read(k, re.compile(rb"ok\Z|Tapward-Reason: .*\n\Z", re.DOTALL))
            contains(data, want, what)
            lacks(data, b" 101 ", what)
            until(lambda: raw.ended > ended, 5, f"{what}: its connection ends")
            k.sendall(ask("raw", target=b"/next"))
            contains(read(k, re.compile(rb"ok\Z")), b" 200 ", what)
            k.sendall(frame)
            contains(read(k), b" 400 ", what)
        lacks(raw.seen(), b"hi", what)
    # And a handshake takes no connection that has served another.
    with tls(s, "raw.example.com") as k:
        k.sendall(ask("raw", target=b"/first"))
        read(k, re.compile(rb"ok\Z"))
        before = raw.count()
        raw.answer = lambda nth, head: OPEN
        k.sendall(ask("raw", HANDSHAKE))
        contains(read(k, re.compile(rb"\r\n\r\n\Z")), b" 101 ")
        equal(raw.count(), before + 1)
    return f"{len(ANSWERS)} answers"


@claim("bytes before the 101 wait in the guest's socket; bytes behind it are not lost")
def _():
    _, s, origins = world()
    raw = origins["raw"]
    gate = []
    heard = bytearray()

    def wait(peer):
        gate.append(peer)
        until(lambda: len(gate) == 2, 10, "the test lets it answer")
        peer.sendall(OPEN + b"\x81\x05hello")
        until(lambda: more(peer) >= len(early), 10, "all bytes come")
        return False

    def more(peer):
        heard.extend(peer.recv(65536))
        return len(heard)

    raw.answer = lambda nth, head: wait
    early = b"\x82\xfe\x20\0\0\0\0\0" + os.urandom(8192)
    with tls(s, "raw.example.com") as k:
        k.sendall(ask("raw", HANDSHAKE) + early)
        until(lambda: gate, 10, "the origin has the head")
        time.sleep(0.1)  # what would have come would be there
        equal(raw.seen().split(b"\r\n\r\n", 1)[1], b"")
        gate.append(None)
        contains(read(k, re.compile(b"hello")), OPEN.split(b"\r\n")[0])
        until(lambda: len(heard) >= len(early), 10, "they come")
    equal(bytes(heard), early)


@claim("row 121: the credential goes into the handshake, never behind it; a handshake may carry only one whose definition says so")
def _():
    _, s, origins = world()
    key, shut = origins["key"], origins["shut"]
    heard = bytearray()

    def echo(peer):
        peer.sendall(OPEN)
        while part := peer.recv(65536):
            heard.extend(part)
            peer.sendall(b"\x81\x02ok")
        return False

    key.answer = lambda nth, head: echo
    with tls(s, "key.example.com") as k:
        k.sendall(ask("key", HANDSHAKE + b"Authorization: Bearer mine\r\n"
                      b"Sec-WebSocket-Extensions: permessage-deflate\r\n"))
        contains(read(k, re.compile(rb"\r\n\r\n\Z")), b" 101 ")
        contains(key.seen(), b"Bearer " + KEY.encode())
        lacks(key.seen(), b"mine")
        lacks(key.seen(), b"Extensions")
        request = ask("key", b"Authorization: Bearer mine\r\n")
        k.sendall(request)
        read(k, re.compile(rb"ok\Z"))
        equal(bytes(heard), request)
    record = s.audited(event="request", host="key.example.com", status=101)
    equal((record["verdict"], record["credential"]), ("allow", "key"))
    with tls(s, "shut.example.com") as k:
        k.sendall(ask("shut", HANDSHAKE))
        data = read(k)
        contains(data, b" 403 ")
        contains(data, b"Tapward-Reason: websocket\r\n")
        contains(data, b"shut: its definition does not say websocket = yes")
        # An ordinary request gets it.
        k.sendall(ask("shut"))
        contains(read(k, re.compile(rb"ok\Z")), b" 200 ")
    equal(shut.seen().count(b"\r\n\r\n"), 1)
    contains(shut.seen(), KEY.encode())
    s.audited(event="request", host="shut.example.com", reason="websocket")
    s.audited(event="lease", credential="shut", reason="websocket",
              verdict="deny")


@claim("row 121: a credential that comes back in frames, whole, in parts or in another spelling, ends the tunnel before the guest has it")
def _():
    _, s, origins = world()
    key = KEY.encode()
    half = len(key) // 2
    good = frame(b"good")
    echoes = {
        "one frame": frame(b"<" + key + b">"),
        "two frames": frame(key[:half], 1) + frame(key[half:], 0x80),
        "a ping between": frame(key[:half], 1) + frame(b"x", 0x89)
        + frame(key[half:], 0x80),
        "two messages": frame(key[:half]) + frame(key[half:]),
        "a ping": frame(key, 0x89),
        "base64": frame(b"x" + base64.b64encode(b"Bearer " + key)),
        "percent": frame(b"k3y%2Fof%2BMany%3DBytes%2F9876543210"),
        "a long message": frame(b"a" * 5000 + key),
        "masked": b"\x81\x84\1\2\3\4abcd",
        "compressed": frame(b"abcd", 0xc1),
        "no frame": key,
    }
    for what, said in echoes.items():
        for size in (len(said), 1, 7):
            def say(peer, said=said, size=size):
                peer.sendall(OPEN + good)
                for at in range(0, len(said), size):
                    peer.sendall(said[at:at + size])
                return peer.recv(1) != b""
            origins["key"].answer = lambda nth, head: say
            with tls(s, "key.example.com") as k:
                k.sendall(ask("key", HANDSHAKE))
                data = read(k, None, 5)
            assert data.endswith((b"<end>", b"<SSLEOFError>",
                                  b"<ConnectionResetError>")), (what, data)
            for at in range(len(key) - 7):
                lacks(data, key[at:at + 8], what)
    until(lambda: len(s.world.audit(s.name, reason="credential-leak",
                                    status=101)) >= 8 * 3, 5, "the records")
    return f"{3 * len(echoes)} echoes"


@claim("row 86: over HTTP/2 a WebSocket is not offered and is refused; the same client opens one by HTTP/1.1")
def _():
    _, s, origins = world()
    before = origins["raw"].count()
    out = guest(s, """
  const session = http2.connect('https://ws.example.com',
    {ca: fs.readFileSync(process.env.NODE_EXTRA_CA_CERTS)});
  await new Promise((got) => session.on('remoteSettings', got));
  console.log(session.remoteSettings.enableConnectProtocol);
  const page = session.request({':path': '/'});
  let text = ''; page.on('data', (d) => { text += d; });
  await new Promise((got) => page.on('end', got));
  console.log(text);
  const ws = await open('wss://ws.example.com/');
  ws.send('hello'); console.log(await ws.next());
  ws.close(); await ws.closed;
  console.log(session.destroyed);
  session.close();
""")
    equal(out.split(), ["false", "HTTP/2.0", "hello", "false"])
    for row in (extended_connect(s, b"websocket"), extended_connect(s, b"x")):
        equal(row, {"settings": False, "reset": True})
    equal(origins["raw"].count(), before)


def extended_connect(s, protocol):
    """What a gate does with :protocol (RFC 8441), frame by frame."""
    fields = [(b":method", b"CONNECT"), (b":protocol", protocol),
              (b":scheme", b"https"), (b":path", b"/chat"),
              (b":authority", b"raw.example.com"),
              (b"sec-websocket-version", b"13")]
    # HPACK: literals that are not indexed, not Huffman-coded.
    block = b"".join(b"\0" + bytes([len(n)]) + n + bytes([len(v)]) + v
                     for n, v in fields)
    context = ssl.create_default_context(cafile=s.ca)
    context.set_alpn_protocols(["h2"])
    k = connect(s, (synthetic(s, "raw.example.com"), 443))
    found = {"settings": False, "reset": False}
    with context.wrap_socket(k, server_hostname="raw.example.com") as t:
        equal(t.selected_alpn_protocol(), "h2")
        t.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + h2_frame(4, 0, 0)
                  + h2_frame(1, 5, 1, block))
        data = b""
        t.settimeout(5)
        while len(data) < 65536:
            while len(data) < 9 or len(data) < 9 + int.from_bytes(data[:3], "big"):
                try:
                    part = t.recv(65536)
                except socket.timeout:
                    return found
                if not part:
                    return found
                data += part
            size, kind, flags = int.from_bytes(data[:3], "big"), data[3], data[4]
            body, data = data[9:9 + size], data[9 + size:]
            if kind == 4 and not flags & 1:
                ids = [int.from_bytes(body[i:i + 2], "big")
                       for i in range(0, size, 6)]
                found["settings"] = 8 in ids
            elif kind == 3:
                found["reset"] = True
                return found


def h2_frame(kind, flags, stream, body=b""):
    return (len(body).to_bytes(3, "big") + bytes([kind, flags])
            + stream.to_bytes(4, "big") + body)


@claim("the world of raw WebSockets ends and leaves nothing")
def _():
    end()
