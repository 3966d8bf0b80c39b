"""HTTP/2 on either side of the gate, by real programs and real origins."""
import hashlib
import json
import os

from harness import h2frames, shell
from harness.claims import claim, contains, equal, lacks, until
from harness.origins import Nginx
from harness.world import World

NAMES = {
    "two.example.com": "10.201.0.20",      # nginx, HTTP/2
    "one.example.com": "10.201.0.21",      # nginx, HTTP/1.1
    "ng.example.com": "10.201.0.22",       # nghttpd
    "node.example.com": "10.201.0.23",     # node's http2
    "short.example.com": "10.201.0.24",    # nginx: 20 requests a connection
}

POLICY = """\
[policy]
version = 1

[allow origins]
host   = two.example.com, one.example.com, ng.example.com, node.example.com, short.example.com
method = GET, HEAD, POST, PUT
path   = /**

[deny secret]
host = two.example.com
path = /secret/**
"""

SERVERS = """
  server {{ listen 10.201.0.20:443 ssl http2; listen 10.201.0.21:443 ssl;
    ssl_certificate {cert}; ssl_certificate_key {key};
    root {folder}/www; client_body_in_file_only off;
    add_header X-Protocol $server_protocol always;
    location /up {{ dav_methods PUT; create_full_put_path on; }}
    location /none {{ return 204; }}
    location /length {{ return 200 "$request_method $content_length\\n"; }} }}
  server {{ listen 10.201.0.24:443 ssl http2; keepalive_requests 20;
    ssl_certificate {cert}; ssl_certificate_key {key}; root {folder}/www; }}
"""

# An origin that streams, ends with trailers, and answers early.
NODE_ORIGIN = """
const http2 = require('http2'), fs = require('fs');
let waiting = null;
const server = http2.createSecureServer({
  cert: fs.readFileSync(process.argv[2]), key: fs.readFileSync(process.argv[3])});
server.on('stream', (s, h) => {
  s.on('error', () => {});
  if (h[':path'] === '/events') {
    s.respond({':status': 200, 'content-type': 'text/event-stream'});
    s.write('data: first\\n\\n');
    waiting = s;
  } else if (h[':path'] === '/go') {
    if (waiting) waiting.end('data: second\\n\\n');
    s.respond({':status': 204}, {endStream: true});
  } else if (h[':path'] === '/trailers') {
    s.respond({':status': 200, 'content-type': 'application/grpc'},
              {waitForTrailers: true});
    s.on('wantTrailers', () => s.sendTrailers(
      {'grpc-status': '0', 'x-te': h['te'] || 'none'}));
    s.on('data', (d) => s.write(d));
    s.on('end', () => s.end());
  } else if (h[':path'] === '/early') {
    s.respond({':status': 413});
    s.end('too large');
  } else if (h[':path'] === '/reset') {
    s.respond({':status': 200});
    s.write('part', () => s.destroy(new Error('reset')));
  }
});
server.listen(443, '10.201.0.23', () => console.log('ready'));
"""

# Runs the script with `connect`, and what it printed is the answer.
NODE_GUEST = """
const http2 = require('http2'), fs = require('fs');
const connect = (host) => http2.connect('https://' + host,
  {ca: fs.readFileSync(process.env.NODE_EXTRA_CA_CERTS)});
const get = (c, headers, body) => new Promise((done) => {
  const r = c.request(headers, {endStream: body === undefined});
  const got = {status: 0, text: '', trailers: {}, error: ''};
  r.on('response', (h) => { got.status = h[':status']; got.head = h; });
  r.on('trailers', (t) => { got.trailers = t; });
  r.on('data', (d) => { got.text += d; });
  r.on('error', (e) => { got.error = e.code; });
  // Not on 'close' alone: node forgets it when its upload was cut short.
  for (const e of ['end', 'close']) r.on(e, () => setTimeout(done, 5, got));
  if (body !== undefined) r.end(body);
});
(async () => {
%s
})().catch((e) => { console.log('failed', e); process.exit(1); });
"""

_world = {}


def start_origins(w):
    cert, key = w.authority.issue(*NAMES)
    os.makedirs(f"{w.folder}/www")
    with open(f"{w.folder}/www/hello", "w", encoding="ascii") as f:
        f.write("hello from the origin\n")
    with open(f"{w.folder}/www/big", "wb") as f:
        f.write(os.urandom(1 << 20) * 64)
    w.own(Nginx(w.net, f"{w.folder}/nginx",
                SERVERS.format(cert=cert, key=key, folder=w.folder)))
    ng = shell.start(w.net.plain(
        ["nghttpd", "-d", f"{w.folder}/www", "--echo-upload", "-a",
         "10.201.0.22", "--trailer=x-checked: yes", "443", key, cert]),
        f"{w.folder}/nghttpd.log")
    w.closers.append(lambda: shell.stop(ng))
    script = w.file("origin.js", NODE_ORIGIN)
    node = shell.start(w.net.plain(["node", script, cert, key]),
                       f"{w.folder}/node.log")
    w.closers.append(lambda: shell.stop(node))
    until(lambda: "ready" in open(f"{w.folder}/node.log", encoding="ascii").read(),
          20, "node's origin starts")


def world():
    if not _world:
        w = World(NAMES)
        start_origins(w)
        _world.update(w=w, s=w.sandbox(POLICY))
    return _world["w"], _world["s"]


def node(s, script):
    path = f"{s.world.folder}/guest.js"
    with open(path, "w", encoding="ascii") as f:
        f.write(NODE_GUEST % script)
    return s.run(["node", path]).ok().out


def digest(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        while part := f.read(1 << 20):
            h.update(part)
    return h.hexdigest()


def gate_kib(w, s):
    """Memory of the sandbox's gate: the largest gate of this world."""
    sizes = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/status", encoding="ascii") as f:
                text = f.read()
        except OSError:
            continue
        uid = int(text.split("Uid:\t")[1].split()[0])
        if text.startswith("Name:\ttapward-gate") and \
                w.uid_first <= uid < w.uid_first + 4096:
            sizes.append(int(text.split("VmRSS:")[1].split()[0]))
    return max(sizes)


@claim("curl speaks h2 to the gate, and the gate what each origin has")
def _():
    _, s = world()
    for host, protocol in (("two", "HTTP/2.0"), ("one", "HTTP/1.1")):
        for flag, version in (("--http2", "2"), ("--http2-prior-knowledge", "2"),
                              ("--http1.1", "1.1")):
            got = s.curl("-f", flag, "-D", "-", "-w", "%{http_version}",
                         f"https://{host}.example.com/hello").ok().out
            contains(got, "hello from the origin\n" + version, repr(got))
            contains(got.lower(), f"x-protocol: {protocol.lower()}", repr(got))


@claim("HEAD, 204, 304 and a range keep their shape between any two versions")
def _():
    _, s = world()
    for host in ("two", "one"):
        url = f"https://{host}.example.com"
        for flag in ("--http2", "--http1.1"):
            got = s.curl(flag, "-I", f"{url}/hello").ok().out
            contains(got.lower(), "content-length: 22", got)
            got = s.curl(flag, "-w", "%{http_code}", f"{url}/none").ok().out
            equal(got, "204")
            date = [l for l in s.curl(flag, "-I", f"{url}/hello").out.splitlines()
                    if l.lower().startswith("last-modified")][0].split(": ")[1]
            got = s.curl(flag, "-w", "%{http_code}", "-H",
                         f"If-Modified-Since: {date}", f"{url}/hello").ok().out
            equal(got, "304")
            got = s.curl(flag, "-r", "0-4", f"{url}/hello").ok().out
            equal(got, "hello")


@claim("64 MiB go up and down whole between any two versions, in flat memory")
def _():
    w, s = world()
    path = f"{w.folder}/www/big"
    want = digest(path)
    s.curl("-f", "https://two.example.com/hello").ok()
    before = gate_kib(w, s)
    for host in ("two", "one"):
        for flag in ("--http2", "--http1.1"):
            s.curl("-f", flag, "-o", f"{w.folder}/got",
                   f"https://{host}.example.com/big").ok()
            equal(digest(f"{w.folder}/got"), want, f"down {host} {flag}")
            for extra in ([], ["-H", "Expect:", "-H", "Transfer-Encoding: chunked"]):
                if extra and flag == "--http2":
                    extra = ["-H", "Content-Length:"]
                s.curl("-f", flag, "-T", path, *extra,
                       f"https://{host}.example.com/up/big").ok()
                equal(digest(f"{w.folder}/www/up/big"), want, f"up {host} {flag}")
                os.unlink(f"{w.folder}/www/up/big")
    grown = gate_kib(w, s) - before
    assert grown <= 4096, f"the gate grew by {grown} KiB"


@claim("a guest that sends a PING for each DATA, as gRPC in Go does, gets all of it")
def _():
    w, s = world()
    with h2frames.guest(s, "two.example.com") as p:
        p.send(h2frames.PREFACE)
        p.begin()
        p.send(h2frames.headers(1, h2frames.request("two.example.com", "/big")))
        got = pings = 0
        h = hashlib.sha256()
        while True:
            f = p.until(lambda f: f.stream == 1, 10)
            if f.kind == h2frames.DATA and f.payload:
                h.update(h2frames.unpadded(f))
                got += len(f.payload)
                pings += 1
                p.send(h2frames.ping(), h2frames.window_update(0, len(f.payload)),
                       h2frames.window_update(1, len(f.payload)))
            p.frames.clear()
            if f.ends:
                break
    equal(h.hexdigest(), digest(f"{w.folder}/www/big"))
    return f"{pings} PINGs within {got >> 20} MiB"


@claim("h2load: thousands of requests on many streams, none lost")
def _():
    _, s = world()
    for host in ("two", "one", "ng"):
        got = s.run(["h2load", "-n", "4000", "-c", "4", "-m", "50",
                     f"https://{host}.example.com/hello"]).ok()
        contains(got.out, "4000 succeeded, 0 failed, 0 errored", got.out)


@claim("h2load: an origin that says GOAWAY every 20 requests loses none")
def _():
    w, s = world()
    got = s.run(["h2load", "-n", "500", "-c", "2", "-m", "5",
                 "https://short.example.com/hello"]).ok()
    contains(got.out, "500 succeeded, 0 failed, 0 errored",
             repr(w.audit(s.name)[-2:]))


@claim("nghttp: an upload is echoed by nghttpd, and its trailer comes back")
def _():
    w, s = world()
    path = w.file("body", "a body of nghttp\n" * 1000)
    got = s.run(["nghttp", "-v", "-d", path,
                 "https://ng.example.com/echo"]).ok().out
    contains(got, "a body of nghttp")
    contains(got, "x-checked: yes", got[-2000:])


@claim("node: streams side by side, and each by its own verdict")
def _():
    _, s = world()
    got = json.loads(node(s, """
  const c = connect('two.example.com');
  const all = [];
  for (let i = 0; i < 40; i++)
    all.push(get(c, {':path': i % 2 ? '/hello' : '/secret/x'}));
  const got = await Promise.all(all);
  console.log(JSON.stringify(got.map((g) => [g.status, g.text])));
  c.close();
"""))
    equal([g[0] for g in got], [403, 200] * 20)
    contains(got[0][1], "tapward: GET https://two.example.com/secret/x refused")
    contains(got[0][1], "denied-by-rule")
    equal(got[1][1], "hello from the origin\n")
    s.audited(reason="denied-by-rule", rule="secret", status=403)


@claim("rows 69, 70, 87: another :authority on the same connection is 421")
def _():
    w, s = world()
    got = json.loads(node(s, """
  const c = connect('two.example.com');
  const a = await get(c, {':path': '/hello'});
  const b = await get(c, {':path': '/hello', ':authority': 'one.example.com'});
  const d = await get(c, {':path': '/hello', ':authority': 'evil.example.net'});
  const e = await get(c, {':path': '/hello', host: 'one.example.com'});
  const f = await get(c, {':path': '/hello'});
  console.log(JSON.stringify([a, b, d, e, f].map((g) => g.status)));
  c.close();
"""))
    equal(got, [200, 421, 421, 421, 200])
    lacks(w.resolver.queries(), "evil.example.net")


@claim("gRPC: messages and trailers both ways, te told; a denial in its words")
def _():
    _, s = world()
    got = json.loads(node(s, """
  const c = connect('node.example.com'), d = connect('two.example.com');
  const head = {':method': 'POST', 'content-type': 'application/grpc',
                te: 'trailers'};
  const a = await get(c, {...head, ':path': '/trailers'}, 'message');
  const b = await get(d, {...head, ':path': '/secret/Call'}, 'message');
  console.log(JSON.stringify([a, b]));
  c.close(); d.close();
"""))
    equal(got[0]["text"], "message")
    equal(got[0]["trailers"]["grpc-status"], "0")
    equal(got[0]["trailers"]["x-te"], "trailers")
    equal(got[1]["status"], 200)
    equal(got[1]["head"]["grpc-status"], "7")
    contains(got[1]["head"]["grpc-message"], "denied-by-rule")


@claim("an event is with the guest before the next one is sent, in h2 and h1")
def _():
    _, s = world()
    for agent in ("h2", "h1"):
        got = node(s, """
  const c = connect('node.example.com');
  let text = '', r, woken = () => {};
  const until = async (part) => {
    while (!text.includes(part)) await new Promise((w) => { woken = w; });
  };
  if ('%s' === 'h2') {
    r = c.request({':path': '/events'});
  } else {
    r = await new Promise((done) => require('https').get(
      'https://node.example.com/events', done));
  }
  r.on('data', (d) => { text += d; woken(); });
  await until('first');
  console.log('got', JSON.stringify(text));
  const go = await get(c, {':path': '/go'});
  await until('second');
  console.log('then', JSON.stringify(text), go.status);
  c.close();
""" % agent)
        contains(got, 'got "data: first\\n\\n"', got)
        contains(got, 'then "data: first\\n\\ndata: second\\n\\n" 204', got)


@claim("an early answer reaches one who still sends; a reset is told as one")
def _():
    _, s = world()
    got = json.loads(node(s, """
  const c = connect('node.example.com');
  const a = await get(c, {':path': '/early', ':method': 'POST'},
                      Buffer.alloc(3000000));
  const b = await get(c, {':path': '/reset'});
  console.log(JSON.stringify([a, b]));
  c.close();
"""))
    equal([got[0]["status"], got[0]["text"]], [413, "too large"])
    contains(got[1]["error"], "ERR_HTTP2", repr(got[1]))


@claim("a denied host is told why in http/1.1's reason phrase")
def _():
    _, s = world()
    got = s.curl("--http2", "-i", "https://denied.example.com/").out
    contains(got, "HTTP/1.1 403 no rule names this host", got)


@claim("the world of HTTP/2 ends and leaves nothing")
def _():
    w, _ = world()
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    w.close()
    _world.clear()
