"""WebSocket by npm's ws on both sides: what goes through, what is refused, and
what ends one."""
import hashlib
import json
import os
import re
import signal
import time

from harness import memory, shell
from harness.claims import claim, contains, equal, lacks, until
from harness.node import environment
from harness.raw import connect, read, tls
from harness.websocket import (GUEST, HANDSHAKE, KEY, NO_WEBSOCKET, OPEN, POLICY,
                               ask, end, frame, gate_pid, guest, opens, world)


@claim("npm's ws over wss and ws: text, binary, ping, a protocol, compression, and who closes")
def _():
    _, s, _ = world()
    for url in ("wss://ws.example.com/chat?a=b", "ws://plain.example.com/open/c"):
        out = guest(s, f"""
  let ws = await open('{url}', ['a', 'b.c']);
  const pong = new Promise((got) => ws.on('pong', (d) => got(d.toString())));
  ws.ping('are you there');
  ws.send('hello'); console.log(await ws.next());
  ws.send(Buffer.from([0, 255, 1])); ws.send('digest');
  console.log(await ws.next());
  console.log(await pong, ws.protocol, ws.extensions);
  const long = 'long '.repeat(100000);
  ws.send(long); console.log(await ws.next() === long);
  ws.send('head');
  const head = JSON.parse(await ws.next());
  console.log(head.host, head.upgrade, head.connection, head.origin);
  ws.close(4000, 'enough'); console.log(await ws.closed);
  ws = await open('{url}');
  ws.send('bye'); console.log(await ws.closed);
  ws = await open('{url}');
  ws.send('die'); console.log(await ws.closed);
""")
        host = url.split("/")[2]
        equal(out.splitlines(), [
            "hello", "3 " + hashlib.sha256(b"\x00\xff\x01").hexdigest(),
            "are you there b.c permessage-deflate", "true",
            f"{host} websocket Upgrade undefined",
            "4000 enough", "4001 as you wish", "1006 "])
    record = s.audited(event="request", host="ws.example.com", status=101)
    equal((record["verdict"], record["rule"], record["path"], record["method"]),
          ("allow", "ws", "/chat?a=b", "GET"))
    assert record["up"] > 100 and record["down"] > 100 and "ms" in record, record


@claim("a message of 64 MiB each way, and a slow reader each way: the bytes by digest, the gate holds no heap of them")
def _():
    _, s, _ = world()
    pid = gate_pid(s)
    before = memory.resident(pid)
    out = guest(s, """
  const size = 64 << 20, part = crypto.randomBytes(1 << 20);
  const ws = await open('wss://ws.example.com/', [], {perMessageDeflate: false,
    maxPayload: 1 << 28});
  const sum = crypto.createHash('sha256');
  ws.send('slow');
  for (let at = 0; at < size; at += part.length) {
    sum.update(part);
    await new Promise((done) => ws.send(part, done));
  }
  ws.send('digest');
  console.log(await ws.next() === size + ' ' + sum.digest('hex'));
  const down = crypto.createHash('sha256');
  let got = 0;
  ws.send('make ' + size);
  for (;;) {
    const said = await ws.next();
    if (typeof said === 'string') {
      console.log(got === size, said === down.digest('hex'));
      break;
    }
    if (got === 0) {
      ws._socket.pause(); setTimeout(() => ws._socket.resume(), 700);
    }
    got += said.length; down.update(said);
  }
  ws.close(); await ws.closed;
  const one = await open('ws://plain.example.com/open/x', [],
    {perMessageDeflate: false});
  const big = Buffer.concat(Array(64).fill(part));
  one.send(big); one.send('digest');
  console.log(await one.next() === size + ' ' +
    crypto.createHash('sha256').update(big).digest('hex'));
  one.close();
""", timeout=120)
    equal(out.split(), ["true"] * 4)
    grown = (memory.resident(pid) - before) >> 10
    assert grown < 2048, f"{grown} KiB more"
    return f"{grown} KiB more"


@claim("explain and the gate say the same where a file, or the host's ceiling, does not say websocket = yes")
def _():
    w, s, _ = world()
    out = guest(s, """
  const got = await open('wss://narrow.example.com/chat');
  console.log(got.status, got.reason, got.text);
""")
    contains(out, "403 ceiling-websocket tapward: GET https://narrow.example.com"
                  "/chat refused: WebSocket is not allowed here")
    lacks(out, "ceiling.ini")
    ceiling = f"{w.folder}/ceiling.ini"
    for url, code in (("wss://ws.example.com/chat", 0),
                      ("ws://plain.example.com/open/x", 0),
                      ("ws://plain.example.com/x", 1),
                      ("wss://narrow.example.com/", 1)):
        got = w.cli("explain", "--policy", s.policy, "--ceiling", ceiling, url)
        equal(got.code, code, repr(got))
    contains(got.out, "reason:  ceiling-websocket")
    contains(got.out, "hint:    the host's administrator can add "
                      "`websocket = yes` to [allow all]")
    plain = w.file("plain.ini", NO_WEBSOCKET)
    got = w.cli("explain", "--policy", plain, "--json", "wss://ws.example.com")
    equal(got.code, 1)
    equal((json.loads(got.out)["reason"], json.loads(got.out)["websocket"]),
          ("websocket", True))
    # The page is there for whoever does not upgrade.
    equal(s.curl("https://ws.example.com/").ok().out, "HTTP/2.0")
    s.audited(event="request", reason="ceiling-websocket", verdict="deny")


@claim("a reload that takes the rule's websocket away ends what is open within a second, and nothing else")
def _():
    _, s, _ = world()
    script = s.world.file("stays.js", GUEST % """
  const ws = await open('wss://ws.example.com/');
  const other = await open('ws://plain.example.com/open/x');
  console.log('open');
  console.log('ended', await ws.closed);
  other.send('hello'); console.log(await other.next());
  other.close();
""")
    log = f"{s.world.folder}/stays.log"
    process = shell.start(s.guest.argv(["node", script]), log,
                          env=environment(s.env))

    def said():
        with open(log, encoding="ascii") as f:
            return f.read()

    try:
        until(lambda: "open" in said(), 20, "two are open")
        s.reload(POLICY.replace("narrow.example.com\nwebsocket = yes",
                                "narrow.example.com\nwebsocket = no")).ok()
        began = time.monotonic()
        until(lambda: "ended 1006" in said(), 5, "the first ends")
        took = time.monotonic() - began
        assert took < 1, took
        until(lambda: "hello" in said(), 5, "the second goes on")
        process.wait(10)
    finally:
        shell.stop(process)
    s.reload(POLICY).ok()
    record = s.audited(event="request", reason="policy-reloaded", status=101)
    equal(record["host"], "ws.example.com")
    return f"{took * 1000:.0f} ms"


def broker_pid(w):
    status = json.loads(w.cli("status", "--json").ok().out)
    return next(p["pid"] for p in status["processes"] if p["role"] == "broker")


def change(w):
    w.file("key.secret", f"{os.urandom(8).hex()}-{KEY}\n", 0o600)
    os.kill(w.daemon.pid, signal.SIGHUP)


@claim("a credential that changes, or a broker that dies, takes the WebSocket it opened with it; one that is open without any stays")
def _():
    w, s, _ = world()
    took = []
    for revoke in (change, lambda w: os.kill(broker_pid(w), signal.SIGKILL),
                   lambda w: s.reload(POLICY).ok()):
        one, other = opens(s, "key"), opens(s, "raw")
        with one, other:
            began = time.monotonic()
            revoke(w)
            data = read(one, None, 10)
            assert data.startswith(b"<") and b"nothing" not in data, data
            took.append(time.monotonic() - began)
            equal(read(other, None, 0.3), b"<nothing more>")
        until(lambda: w.cli("status").code == 0
              and s.curl("https://key.example.com/").code == 0, 10, "it is back")
    records = s.world.audit(s.name, reason="credential-unavailable", status=101)
    equal(["revoked" in r["detail"] for r in records], [True] * 3)
    return f"{max(took) * 1000:.0f} ms"


@claim("the explicit proxy: wss by CONNECT, ws by an absolute target, each as without it")
def _():
    _, s, origins = world()
    proxy = ("100.64.0.1", 3128)
    origins["raw"].answer = lambda nth, head: OPEN + frame(b"by CONNECT")
    with connect(s, proxy) as k:
        k.sendall(b"CONNECT raw.example.com:443 HTTP/1.1\r\n"
                  b"Host: raw.example.com:443\r\n\r\n")
        contains(read(k, re.compile(rb"\r\n\r\n")), b" 200 ")
        with tls(s, "raw.example.com", k) as t:
            t.sendall(ask("raw", HANDSHAKE))
            contains(read(t, re.compile(b"CONNECT")), b" 101 ")
    for target, want in ((b"http://plain.example.com/open/x", b" 101 "),
                         (b"http://plain.example.com/x", b" 403 ")):
        with connect(s, proxy) as k:
            k.sendall(ask("plain", HANDSHAKE, target=target)
                      + b"\x81\x85\0\0\0\0hello")
            data = read(k, re.compile(rb"hello\Z|refused: .*\n\Z"))
            contains(data, want)
            if b"101" in want:
                contains(data, b"\x81\x05hello")


@claim("a sandbox that ends takes its WebSockets with it")
def _():
    w, _, origins = world()
    s = w.sandbox(POLICY)
    k = opens(s, "raw")
    ended = origins["raw"].ended
    s.rm().ok()
    until(lambda: origins["raw"].ended > ended, 5, "the origin's ends")
    k.close()


@claim("the world of npm's WebSockets ends and leaves nothing")
def _():
    end()
