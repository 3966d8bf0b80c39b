"""gRPC by @grpc/grpc-js on both sides: every kind of call, every way to end."""
import json

from harness import shell
from harness.claims import claim, contains, equal, until
from harness.node import environment
from harness.world import World

NAMES = {
    "grpc.example.com": "10.201.0.40",
    "key.example.com": "10.201.0.40",
    "other.example.com": "10.201.0.40",
}

POLICY = """\
[policy]
version = 1

[allow calls]
host   = grpc.example.com
method = POST
path   = /tap.Echo/*

[deny secret]
host = grpc.example.com
path = /tap.Echo/Secret
say  = ask the platform team

[allow key]
host       = key.example.com
method     = POST
path       = /tap.Echo/*
credential = key
"""
KEY = "canary-of-the-host-7f2e"

CREDENTIAL = """
[credential key]
kind  = static
value = file:{file}
host  = key.example.com
apply = bearer
grant = * user:root
"""

# Both sides: messages are bytes, so that no compiler of theirs is needed.
SERVICE = """
const grpc = require('@grpc/grpc-js'), fs = require('fs');
const crypto = require('crypto');
const kind = (name, up, down) => ({path: '/tap.Echo/' + name,
  requestStream: up, responseStream: down, requestSerialize: (m) => m,
  requestDeserialize: (m) => m, responseSerialize: (m) => m,
  responseDeserialize: (m) => m});
const service = {
  Unary: kind('Unary', false, false), Fail: kind('Fail', false, false),
  Slow: kind('Slow', false, false), Secret: kind('Secret', false, false),
  Head: kind('Head', false, false), Up: kind('Up', true, false),
  Down: kind('Down', false, true), Bidi: kind('Bidi', true, true)};
"""

ORIGIN = SERVICE + """
const server = new grpc.Server({'grpc.max_receive_message_length': -1});
const trailers = (more) => {
  const m = new grpc.Metadata();
  m.set('x-trailer', 'a, b'); m.set('x-some-bin', Buffer.from([0, 255, 10]));
  for (const [k, v] of Object.entries(more || {})) m.set(k, v);
  return m;
};
const cancelled = (call, name) =>
  call.on('cancelled', () => console.log('cancelled', name));
server.addService(service, {
  Unary: (call, done) => done(null, call.request, trailers()),
  Fail: (call, done) => done({code: Number(call.request.toString()),
    details: 'not so: 100 % "no"\\u00fc', metadata: trailers({n: 'y'})}),
  Slow: (call) => cancelled(call, call.request.toString()),
  Secret: (call, done) => { console.log('SECRET'); done(null, call.request); },
  Head: (call, done) =>
    done(null, Buffer.from(JSON.stringify(call.metadata.getMap()))),
  Up: (call, done) => {
    const hash = crypto.createHash('sha256');
    let n = 0;
    call.on('data', (m) => { n++; hash.update(m); });
    call.on('end', () => done(null, Buffer.from(n + ' ' + hash.digest('hex')),
                              trailers()));
  },
  Down: async (call) => {
    const [n, size] = call.request.toString().split(' ').map(Number);
    cancelled(call, 'Down');
    for (let i = 0; i < n && !call.cancelled; i++)
      if (!call.write(Buffer.alloc(size, i)))
        await new Promise((go) => {
          call.once('drain', go); call.once('cancelled', go); });
    call.end(trailers());
  },
  Bidi: (call) => {
    const first = new grpc.Metadata();
    first.set('x-initial', 'yes');
    call.sendMetadata(first);
    let n = 0;
    cancelled(call, 'Bidi');
    call.on('data', (m) => { n++; call.write(m); });
    call.on('error', () => {});
    // After the guest's half has ended.
    call.on('end', () => { call.write(Buffer.from('in all ' + n));
                           call.end(trailers()); });
  },
});
server.bindAsync('10.201.0.40:443', grpc.ServerCredentials.createSsl(null,
  [{cert_chain: fs.readFileSync(process.argv[2]),
    private_key: fs.readFileSync(process.argv[3])}]),
  (e) => console.log(e || 'ready'));
"""

GUEST = SERVICE + """
const Echo = grpc.makeGenericClientConstructor(service, 'Echo');
const connect = (host) => new Echo(host + ':443', grpc.credentials.createSsl(
  fs.readFileSync(process.env.NODE_EXTRA_CA_CERTS)),
  {'grpc.max_receive_message_length': -1});
const show = (status) => status === undefined ? undefined :
  [status.code, status.details, status.metadata ? status.metadata.getMap() : {}];
const unary = (client, name, text, options) => new Promise((got) => {
  let answer, failed;
  const call = client[name](Buffer.from(text), new grpc.Metadata(), options || {},
    (e, m) => { failed = e; answer = m; });
  call.on('status', (s) => setTimeout(() =>
    got({message: answer && answer.toString(), status: show(s),
         error: failed && failed.code}), 5));
  if (options && options.cancel) setTimeout(() => call.cancel(), options.cancel);
});
const all = (call, take) => new Promise((got) => {
  call.on('data', take);
  call.on('error', () => {});
  call.on('status', (s) => got(show(s)));
});
(async () => {
%s
})().then(() => process.exit(0),
  (e) => { console.log('failed', e); process.exit(1); });
"""

_world = {}


def world():
    if not _world:
        w = World(NAMES, start=False)
        secret = w.file("key.secret", KEY + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(CREDENTIAL.format(file=secret))
        w.start()
        cert, key = w.authority.issue(*NAMES)
        w.grpc_log = f"{w.folder}/grpc.log"
        node = shell.start(
            w.net.plain(["node", w.file("origin.js", ORIGIN), cert, key]),
            w.grpc_log, env=environment())
        w.closers.append(lambda: shell.stop(node))
        until(lambda: "ready" in said(w), 20, "the origin starts")
        _world.update(w=w, s=w.sandbox(POLICY))
    return _world["w"], _world["s"]


def said(w):
    with open(w.grpc_log, encoding="utf-8") as f:
        return f.read()


def guest(s, script):
    path = s.world.file("guest.js", GUEST % script)
    return s.run(["node", path], env=environment(s.env)).ok().out


TRAILERS = {"x-trailer": "a, b",
            "x-some-bin": {"type": "Buffer", "data": [0, 255, 10]}}


@claim("unary calls: message, status, its text and trailers arrive as they were sent, whatever the status")
def _():
    _, s = world()
    got = json.loads(guest(s, """
  const c = connect('grpc.example.com'), got = [];
  got.push(await unary(c, 'Unary', 'hello'));
  got.push(await unary(c, 'Unary', ''));
  const big = 'x'.repeat(6 << 20);
  const back = await unary(c, 'Unary', big);
  got.push([back.message === big, back.status[0]]);
  for (let code = 1; code <= 16; code++)
    got.push(await unary(c, 'Fail', String(code)));
  console.log(JSON.stringify(got));
"""))
    for i, text in enumerate(("hello", "")):
        equal((got[i]["message"], got[i]["status"]), (text, [0, "OK", TRAILERS]))
    equal(got[2], [True, 0])
    for code, one in enumerate(got[3:], 1):
        equal(one["status"][:2], [code, 'not so: 100 % "no"\u00fc'])
        # Which are the head here: it holds more.
        equal({**one["status"][2], **TRAILERS, "n": "y"}, one["status"][2])
    record = s.audited(event="request", path="/tap.Echo/Unary", status=200)
    equal((record["method"], record["verdict"], record["rule"]),
          ("POST", "allow", "calls"))


@claim("streams: 2,000 messages up by digest, 2,000 down in their order, 16 MiB either way")
def _():
    _, s = world()
    got = json.loads(guest(s, """
  const c = connect('grpc.example.com'), hash = crypto.createHash('sha256');
  const up = await new Promise(async (got) => {
    const call = c.Up((e, m) => { got(e || m.toString()); });
    for (let i = 0; i < 2000; i++) {
      const m = crypto.randomBytes(8192);
      hash.update(m);
      if (!call.write(m)) await new Promise((go) => call.once('drain', go));
    }
    call.end();
  });
  let n = 0, inOrder = true, size = 0;
  const status = await all(c.Down(Buffer.from('2000 8192')), (m) => {
    inOrder = inOrder && m[0] === n % 256 && m[8191] === n % 256;
    n++; size += m.length;
  });
  console.log(JSON.stringify([up === '2000 ' + hash.digest('hex'), n, inOrder,
                              size, status]));
"""))
    equal(got, [True, 2000, True, 2000 * 8192, [0, "OK", TRAILERS]])


@claim("both ways at once: 1,000 messages each answered before the next, 1,000 that nobody waits for, and words behind the guest's end")
def _():
    _, s = world()
    got = json.loads(guest(s, """
  const c = connect('grpc.example.com');
  const call = c.Bidi();
  let heard = [], woken = () => {}, initial;
  call.on('metadata', (m) => { initial = m.get('x-initial')[0]; });
  const status = all(call, (m) => { heard.push(m.toString()); woken(); });
  let right = 0;
  for (let i = 0; i < 1000; i++) {
    call.write(Buffer.from('m' + i));
    while (heard.length <= i) await new Promise((go) => { woken = go; });
    right += heard[i] === 'm' + i;
  }
  for (let i = 1000; i < 2000; i++) call.write(Buffer.from('m' + i));
  call.end();
  const ended = await status;
  for (let i = 1000; i < 2000; i++) right += heard[i] === 'm' + i;
  console.log(JSON.stringify([right, heard.length, heard[2000], initial, ended]));
"""))
    equal(got, [2000, 2001, "in all 2000", "yes", [0, "OK", TRAILERS]])


@claim("100 calls at once on one connection, slow ones among them, each with its own answer")
def _():
    _, s = world()
    got = json.loads(guest(s, """
  const c = connect('grpc.example.com');
  const slow = unary(c, 'Slow', 'hundred', {cancel: 2000});
  const calls = [];
  for (let i = 0; i < 100; i++) calls.push(unary(c, 'Unary', 'n' + i));
  const texts = (await Promise.all(calls)).map((r) => r.message);
  console.log(JSON.stringify([texts.every((t, i) => t === 'n' + i),
                              (await slow).status[0]]));
"""))
    equal(got, [True, 1])


@claim("a call that is cancelled, or runs out of time, is cancelled at the origin")
def _():
    w, s = world()
    got = json.loads(guest(s, """
  const c = connect('grpc.example.com'), got = [];
  got.push((await unary(c, 'Slow', 'by-hand', {cancel: 100})).status);
  got.push((await unary(c, 'Slow', 'by-time',
                        {deadline: Date.now() + 300})).status);
  const down = c.Down(Buffer.from('1000000 8192'));
  let n = 0;
  const status = all(down, () => { if (++n === 10) down.cancel(); });
  got.push(await status);
  const bidi = c.Bidi(), ended = all(bidi, () => bidi.cancel());
  bidi.write(Buffer.from('x'));
  got.push(await ended);
  console.log(JSON.stringify(got.map((g) => g[0])));
"""))
    equal(got, [1, 4, 1, 1])
    for name in ("by-hand", "by-time", "Down", "Bidi"):
        until(lambda: f"cancelled {name}\n" in said(w), 5, f"{name} is told")


@claim("a call that is denied is PERMISSION_DENIED in our words; so is one to a host that no rule names")
def _():
    w, s = world()
    got = json.loads(guest(s, """
  const got = [];
  const c = connect('grpc.example.com');
  got.push((await unary(c, 'Secret', 'x')).status);
  got.push((await unary(c, 'Unary', 'still')).message);
  got.push((await unary(connect('other.example.com'), 'Unary', 'x')).status);
  console.log(JSON.stringify(got));
"""))
    equal(got[0][0], 7)
    contains(got[0][1], "ask the platform team (denied-by-rule, ")
    contains(got[0][1], "POST https://grpc.example.com/tap.Echo/Secret refused")
    equal(got[1], "still")
    equal(got[2][0], 7)
    contains(got[2][1], "no rule names this host (no-rule")
    assert "SECRET" not in said(w)
    s.audited(event="request", reason="denied-by-rule", rule="secret",
              path="/tap.Echo/Secret")
    s.audited(event="request", reason="no-rule", host="other.example.com")


@claim("a credential goes into a call; the guest's own does not, and neither comes back")
def _():
    _, s = world()
    got = json.loads(guest(s, """
  const c = connect('key.example.com');
  const m = new grpc.Metadata();
  m.set('authorization', 'Bearer mine'); m.set('x-mine', 'stays');
  const head = await new Promise((got) => c.Head(Buffer.from(''), m, (e, r) =>
    got(e ? [e.code, e.details] : JSON.parse(r.toString()))));
  console.log(JSON.stringify(head));
"""))
    equal((got["x-mine"], got["authorization"]),
          ("stays", "Bearer " + "*" * len(KEY)))
    record = s.audited(event="request", host="key.example.com",
                       path="/tap.Echo/Head")
    equal((record["credential"], record["reason"]), ("key", "credential-leak"))


@claim("a reload that denies a stream ends it, and never with OK")
def _():
    w, s = world()
    script = w.file("stays.js", GUEST % """
  const call = connect('grpc.example.com').Bidi();
  const status = all(call, () => console.log('open'));
  call.write(Buffer.from('x'));
  console.log('ended', (await status)[0]);
""")
    log = f"{w.folder}/stays.log"
    process = shell.start(s.guest.argv(["node", script]), log,
                          env=environment(s.env))

    def heard():
        with open(log, encoding="utf-8") as f:
            return f.read()

    try:
        until(lambda: "open" in heard(), 20, "a stream is open")
        s.reload(POLICY.replace("[allow calls]\nhost   = grpc.example.com",
                                "[allow calls]\nhost   = gone.example.com")).ok()
        until(lambda: "ended" in heard(), 5, "it ends")
        assert "ended 0" not in heard(), heard()
    finally:
        shell.stop(process)
    s.reload(POLICY).ok()
    s.audited(event="request", reason="policy-reloaded", path="/tap.Echo/Bidi")


@claim("the world of gRPC ends and leaves nothing")
def _():
    w, s = world()
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    s.rm().ok()
    w.close()
    _world.clear()
