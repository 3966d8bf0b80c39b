"""A world with origins that speak WebSocket: npm's ws, and raw bytes.

Its worlds are one for each module that asks; end() ends the present one.
"""
import json
import re
import struct

from . import shell
from .claims import contains, until
from .node import environment
from .raw import OK, Recorder, read, tls
from .world import World

NAMES = {
    "ws.example.com": "10.201.0.30",     # node: HTTP/2, HTTP/1.1, ws
    "plain.example.com": "10.201.0.31",  # node: http, ws
    "raw.example.com": "10.201.0.32",    # raw bytes
    "key.example.com": "10.201.0.33",    # raw bytes, with a credential
    "shut.example.com": "10.201.0.34",   # ... that is not for WebSocket
    "narrow.example.com": "10.201.0.35",
}

POLICY = """\
[policy]
version = 1

[allow ws]
host      = ws.example.com, raw.example.com, narrow.example.com
websocket = yes

[allow plain]
host      = plain.example.com
port      = 80
scheme    = http
path      = /open/**
websocket = yes

[allow key]
host       = key.example.com
credential = key
websocket  = yes

[allow shut]
host       = shut.example.com
credential = shut
websocket  = yes
"""
NO_WEBSOCKET = POLICY.replace("websocket = yes", "websocket = no").replace(
    "websocket  = yes", "websocket  = no")

# The ceiling says so for all but one.
CEILING = """\
[policy]
version = 1

[allow all]
host = **.example.com

[allow ws]
host = ws.example.com, raw.example.com, key.example.com, shut.example.com
websocket = yes

[allow plain]
host = plain.example.com
port = 80
scheme = http
websocket = yes
"""

CREDENTIAL = """
[credential {name}]
kind  = static
value = file:{file}
host  = {name}.example.com
apply = bearer
{more}grant = * user:root
"""
KEY = "k3y/of+Many=Bytes/9876543210"

# Echoes; tells and makes digests; reads slowly when it is told to.
ORIGIN = """
const crypto = require('crypto'), fs = require('fs'), http = require('http');
const http2 = require('http2'), { WebSocketServer } = require('ws');
const [,, cert, key] = process.argv;
const block = Buffer.from(crypto.createHash('sha512').update('x').digest('hex')
  .repeat(512));
const serve = (server) => {
  const wss = new WebSocketServer({server, perMessageDeflate: {threshold: 64},
    maxPayload: 1 << 28, handleProtocols: (all) => [...all].pop()});
  wss.on('connection', (ws, req) => {
    let hash = crypto.createHash('sha256'), size = 0;
    ws.on('error', () => {});
    ws.on('message', async (data, isBinary) => {
      const text = isBinary ? '' : data.toString();
      if (isBinary) {
        hash.update(data);
        size += data.length;
      } else if (text === 'digest') {
        ws.send(size + ' ' + hash.digest('hex'));
      } else if (text === 'slow') {
        ws._socket.pause();
        setTimeout(() => ws._socket.resume(), 700);
      } else if (text.startsWith('make ')) {
        const sum = crypto.createHash('sha256');
        for (let left = Number(text.slice(5)); left > 0; left -= block.length) {
          const part = block.subarray(0, Math.min(left, block.length));
          sum.update(part);
          await new Promise((done) => ws.send(part, {compress: false}, done));
        }
        ws.send(sum.digest('hex'));
      } else if (text === 'head') {
        ws.send(JSON.stringify(req.headers));
      } else if (text === 'bye') {
        ws.close(4001, 'as you wish');
      } else if (text === 'die') {
        ws.terminate();
      } else {
        ws.send(data, {binary: isBinary});
      }
    });
  });
};
const page = (req, res) => res.end('HTTP/' + req.httpVersion);
const secure = http2.createSecureServer({cert: fs.readFileSync(cert),
  key: fs.readFileSync(key), allowHTTP1: true}, page);
const plain = http.createServer(page);
serve(secure); serve(plain);
secure.listen(443, '10.201.0.30', () =>
  plain.listen(80, '10.201.0.31', () => console.log('ready')));
"""

# Runs the script with open(url, ...); what it prints is the answer.
GUEST = """
const crypto = require('crypto'), fs = require('fs'), http2 = require('http2');
const WebSocket = require('ws');
const open = (url, protocols, options) => new Promise((done, failed) => {
  const ws = new WebSocket(url, protocols, options);
  ws.heard = []; ws.waiting = [];
  ws.next = () => new Promise((got) => {
    if (ws.heard.length) got(ws.heard.shift()); else ws.waiting.push(got); });
  ws.on('message', (data, isBinary) => {
    const said = isBinary ? data : data.toString();
    if (ws.waiting.length) ws.waiting.shift()(said); else ws.heard.push(said);
  });
  ws.closed = new Promise((got) => ws.on('close', (code, reason) =>
    got(code + ' ' + reason)));
  ws.on('open', () => done(ws));
  ws.on('unexpected-response', (req, res) => {
    let text = ''; res.on('data', (d) => { text += d; });
    res.on('end', () => done({status: res.statusCode, text,
      reason: res.headers['tapward-reason']}));
  });
  ws.on('error', (e) => failed(e));
});
(async () => {
%s
})().then(() => process.exit(0),
  (e) => { console.log('failed', e); process.exit(1); });
"""

HANDSHAKE = (b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
             b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
             b"Sec-WebSocket-Version: 13\r\n")
ACCEPT = b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
SWITCH = (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
          b"Connection: Upgrade\r\n")
OPEN = SWITCH + ACCEPT + b"\r\n"

_world = {}


def ask(host, more=b"", method=b"GET", target=b"/chat", version=b"1.1"):
    return (method + b" " + target + b" HTTP/" + version + b"\r\nHost: "
            + host.encode() + b".example.com\r\n" + more + b"\r\n")


def start_node(w):
    cert, key = w.authority.issue("ws.example.com")
    node = shell.start(
        w.net.plain(["node", w.file("origin.js", ORIGIN), cert, key]),
        f"{w.folder}/node.log", env=environment())
    w.closers.append(lambda: shell.stop(node))
    until(lambda: "ready" in open(f"{w.folder}/node.log", encoding="ascii").read(),
          20, "node's origin starts")


def world():
    if not _world:
        w = World(NAMES, start=False, ceiling=CEILING)
        secret = w.file("key.secret", KEY + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(CREDENTIAL.format(name="key", file=secret,
                                      more="websocket = yes\n"))
            f.write(CREDENTIAL.format(name="shut", file=secret, more=""))
        w.start()
        start_node(w)
        origins = {host: Recorder(w, NAMES[f"{host}.example.com"], 443,
                                  [f"{host}.example.com"])
                   for host in ("raw", "key", "shut")}
        _world.update(w=w, s=w.sandbox(POLICY), origins=origins)
    for origin in _world["origins"].values():
        origin.forget()
        origin.answer = lambda nth, head: OK
    return _world["w"], _world["s"], _world["origins"]


def guest(s, script, **kwargs):
    path = s.world.file("guest.js", GUEST % script)
    return s.run(["node", path], env=environment(s.env), **kwargs).ok().out


def gate_pid(s):
    return json.loads(s.world.cli("show", s.name, "--json").ok().out)["gate_pid"]


def opens(s, host, more=b"", behind=b""):
    """A TLS connection of the guest whose WebSocket is open; the origin says
    101 and what is behind it."""
    origin = _world["origins"][host]
    origin.answer = lambda nth, head: OPEN + behind
    k = tls(s, f"{host}.example.com")
    k.sendall(ask(host, HANDSHAKE + more))
    data = read(k, re.compile(rb"\r\n\r\n" + re.escape(behind) + rb"\Z"))
    contains(data, b" 101 ")
    return k


def frame(payload, first=0x81):
    size = (bytes([len(payload)]) if len(payload) < 126
            else b"\x7e" + struct.pack(">H", len(payload)))
    return bytes([first]) + size + payload


def end():
    w, s, _ = world()
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    s.rm().ok()
    w.close()
    _world.clear()
