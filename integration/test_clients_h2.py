"""git, node and python, where both sides of the gate may speak HTTP/2."""
import base64
import hashlib
import json
import os

from harness.claims import claim, contains, equal, lacks, until
from harness.git import ENV, LOCATION, git, make_repository, start_backend
from harness.origins import Nginx
from harness.world import World

NAMES = {"git.example.com": "10.201.0.50", "web.example.com": "10.201.0.51"}

POLICY = """\
[policy]
version = 1

[allow fetch]
host   = git.example.com
method = GET, POST
path   = /widget.git/**

[deny push]
host  = git.example.com
path  = /widget.git/**
query = service=git-receive-pack
say   = this repository is for reading

[deny push-pack]
host = git.example.com
path = /widget.git/git-receive-pack

[allow private]
host       = git.example.com
method     = GET, POST
path       = /private.git/**
credential = forge

[allow web]
host = web.example.com
"""
TOKEN = "tok_Forge+0123456789/abcdef"

CREDENTIAL = """
[credential forge]
kind  = static
value = file:{file}
host  = git.example.com
apply = basic:x-access-token
grant = * user:root
"""

SERVERS = """
  server {{ listen 10.201.0.50:443 ssl http2;
    ssl_certificate {cert}; ssl_certificate_key {key};
    {widget} {private} }}
  server {{ listen 10.201.0.51:443 ssl http2;
    ssl_certificate {cert}; ssl_certificate_key {key}; root {folder}/www;
    location /up {{ dav_methods PUT; create_full_put_path on; }}
    location /method {{ return 200 "$request_method $server_protocol"; }} }}
"""

_world = {}


def world():
    if not _world:
        w = World(NAMES, start=False)
        file = w.file("forge.secret", TOKEN + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(CREDENTIAL.format(file=file))
        w.start()
        os.makedirs(f"{w.folder}/www")
        with open(f"{w.folder}/www/big", "wb") as f:
            f.write(os.urandom(8 << 20))
        for name in ("widget", "private"):
            make_repository(w.folder, name, [
                (f"file{i}", os.urandom(200000)) for i in range(20)])
        start_backend(w)
        pair = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
        want = f'if ($http_authorization != "Basic {pair}") {{ return 401; }}'
        cert, key = w.authority.issue(*NAMES)
        w.own(Nginx(w.net, f"{w.folder}/nginx", SERVERS.format(
            cert=cert, key=key, folder=w.folder,
            widget=LOCATION.format(location="/widget\\.git", more="",
                                   folder=w.folder),
            private=LOCATION.format(location="/private\\.git", more=want,
                                    folder=w.folder))))
        _world.update(w=w, s=w.sandbox(POLICY))
    return _world["w"], _world["s"]


def guest_git(s, *argv, check=True):
    got = s.run(["git", *argv], env={**s.env, **ENV, "GIT_TRACE_CURL": "1",
                                     "GIT_TRACE_CURL_NO_DATA": "1"})
    return got.ok() if check else got


def protocols(w, path):
    """The versions in which nginx was asked for path."""
    def logged():
        with open(f"{w.folder}/nginx/access.log", encoding="ascii") as f:
            return [line.split('"')[1].split()[2] for line in f
                    if path in line]
    return set(until(logged, 5, f"nginx logs {path}"))


@claim("git clones, fetches and lists 4 MB, over HTTP/2 at the origin; on GnuTLS it is given HTTP/1.1; a push is refused in the rule's words")
def _():
    w, s = world()
    work = f"{w.folder}/clone"
    url = "https://git.example.com/widget.git"
    for version in ("HTTP/2", "HTTP/1.1"):
        place = f"{work}-{version[5]}"
        got = guest_git(s, "-c", f"http.version={version}", "clone", url, place)
        # Over HTTP/2 its libcurl may send part of an upload twice.
        contains(got.err.lower(), "header: http/1.1 200")
        equal(git("rev-parse", "HEAD", cwd=place).out,
              git("rev-parse", "main", cwd=f"{w.folder}/repos/widget.git").out)
        git("fsck", "--full", cwd=place)
    equal(protocols(w, "/widget.git/git-upload-pack"), {"HTTP/2.0"})
    guest_git(s, "clone", "-q", "--depth", "1", url, f"{work}-shallow")
    contains(guest_git(s, "ls-remote", url).out, "refs/heads/main")
    # What is new is fetched, and nothing is pushed.
    seed = f"{w.folder}/seed-widget"
    git("commit", "-q", "--allow-empty", "-m", "y", cwd=seed)
    git("push", "-q", f"{w.folder}/repos/widget.git", "main", cwd=seed)
    guest_git(s, "-C", f"{work}-2", "fetch", "-q")
    equal(git("rev-parse", "FETCH_HEAD", cwd=f"{work}-2").out,
          git("rev-parse", "main", cwd=seed).out)
    got = guest_git(s, "-C", f"{work}-2", "push", "origin", "main:evil",
                    check=False)
    assert got.code != 0, repr(got)
    contains(got.err, "403")
    contains(got.err, "this repository is for reading")
    s.audited(verdict="deny", rule="push")


@claim("git clones and pushes 6 MB to a repository whose token the guest never has")
def _():
    w, s = world()
    place, url = f"{w.folder}/own", "https://git.example.com/private.git"
    got = guest_git(s, "clone", url, place)
    lacks(got.both, TOKEN)
    # Larger than http.postBuffer: chunked, and over HTTP/2 without a length.
    for version, branch in (("HTTP/2", "two"), ("HTTP/1.1", "one")):
        with open(f"{place}/{branch}", "wb") as f:
            f.write(os.urandom(6 << 20))
        git("add", branch, cwd=place)
        git("commit", "-q", "-m", branch, cwd=place)
        guest_git(s, "-C", place, "-c", f"http.version={version}", "push",
                  "origin", f"main:{branch}")
        equal(git("rev-parse", branch, cwd=f"{w.folder}/repos/private.git").out,
              git("rev-parse", "main", cwd=place).out)
    git("fsck", "--full", cwd=f"{w.folder}/repos/private.git")
    want = {"path": "/private.git/git-receive-pack", "credential": "forge"}
    until(lambda: len(w.audit(s.name, **want)) == 4, 5, "the records")
    # The first of each push asks only whether it may.
    equal([r["up"] > 6 << 20 for r in w.audit(s.name, **want)],
          [False, True] * 2)
    # A key of its own would not get in, and ours goes nowhere else.
    got = guest_git(s, "clone", "-q", "https://me:mine@git.example.com/private.git",
                    f"{w.folder}/other")
    lacks(got.both, TOKEN)


NODE = """
const http2 = require('http2'), fs = require('fs'), crypto = require('crypto');
const ca = fs.readFileSync(process.env.NODE_EXTRA_CA_CERTS);
const sum = (b) => crypto.createHash('sha256').update(b).digest('hex');
(async () => {
%s
})().then(() => process.exit(0),
  (e) => { console.log('failed', e); process.exit(1); });
"""


def node(s, script):
    return s.run(["node", s.world.file("guest.js", NODE % script)]).ok().out


@claim("node's fetch: uploads with a length and as a stream, a download as it comes, one that is given up")
def _():
    w, s = world()
    got = json.loads(node(s, """
  const url = 'https://web.example.com', body = crypto.randomBytes(3 << 20);
  const got = {sum: sum(body)};
  let r = await fetch(url + '/up/length', {method: 'PUT', body});
  got.length = r.status;
  r = await fetch(url + '/up/stream', {method: 'PUT', duplex: 'half',
    body: new ReadableStream({pull(c) {
      if (this.at >= body.length) return c.close();
      c.enqueue(body.subarray(this.at, this.at += 65536)); }, at: 0})});
  got.stream = r.status;
  const hash = crypto.createHash('sha256');
  r = await fetch(url + '/big');
  for await (const part of r.body) hash.update(part);
  got.big = hash.digest('hex');
  const stop = new AbortController();
  r = await fetch(url + '/big', {signal: stop.signal});
  await r.body.getReader().read();
  stop.abort();
  got.head = (await fetch(url + '/big', {method: 'HEAD'})).headers.get(
    'content-length');
  got.all = (await Promise.all(Array.from({length: 60}, () =>
    fetch(url + '/method').then((r) => r.text())))).join() ===
    Array(60).fill('GET HTTP/2.0').join();
  console.log(JSON.stringify(got));
"""))
    for name in ("length", "stream"):
        equal(got[name], 201, name)
        with open(f"{w.folder}/www/up/{name}", "rb") as f:
            equal(hashlib.sha256(f.read()).hexdigest(), got["sum"], name)
    with open(f"{w.folder}/www/big", "rb") as f:
        equal(hashlib.sha256(f.read()).hexdigest(), got["big"])
    equal((got["head"], got["all"]), (str(8 << 20), True))


@claim("node's http2: 300 streams on one session, uploads among them, a stream that is closed, a ping")
def _():
    _, s = world()
    got = json.loads(node(s, """
  const c = http2.connect('https://web.example.com', {ca});
  const ask = (headers, body) => new Promise((done) => {
    const r = c.request(headers, {endStream: body === undefined}), parts = [];
    let status = 0;
    r.on('response', (h) => { status = h[':status']; });
    r.on('data', (d) => parts.push(d));
    r.on('error', () => {});
    r.on('close', () => done([status, Buffer.concat(parts), r.rstCode]));
    if (body !== undefined) r.end(body);
  });
  const all = [];
  for (let i = 0; i < 300; i++)
    all.push(i % 10 ? ask({':path': '/method'})
      : ask({':path': '/up/n' + i, ':method': 'PUT'}, crypto.randomBytes(20000)));
  const answers = await Promise.all(all);
  const r = c.request({':path': '/big'});
  await new Promise((go) => r.once('data', go));
  r.close(http2.constants.NGHTTP2_CANCEL);
  await new Promise((go) => r.once('close', go));
  const ping = await new Promise((go) => c.ping((e) => go(!e)));
  const after = await ask({':path': '/method'});
  console.log(JSON.stringify([
    answers.filter((a, i) => a[0] === (i % 10 ? 200 : 201) && a[2] === 0).length,
    ping, after[1].toString()]));
  c.close();
"""))
    equal(got, [300, True, "GET HTTP/2.0"])


PYTHON = """
import hashlib, http.client, json, os, ssl, sys
tls = ssl.create_default_context(cafile=sys.argv[1])
c = http.client.HTTPSConnection("web.example.com", timeout=20, context=tls)
got = []
def ask(method, path, body=None, **more):
    c.request(method, path, body, **more)
    r = c.getresponse()
    data = r.read()
    got.append([r.status, r.version, len(data), r.getheader("content-length")])
    return data
# All on one connection, one after another.
ask("GET", "/method")
sock = c.sock
body = os.urandom(1 << 20)
ask("PUT", "/up/py-length", body)
ask("PUT", "/up/py-chunks", iter([body[i:i + 5000] for i in range(0, len(body), 5000)]),
    encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
ask("HEAD", "/big")
data = ask("GET", "/big", headers={"Range": "bytes=1000-1999"})
ask("GET", "/none")
ask("POST", "/method", b"")
whole = ask("GET", "/big")
print(json.dumps([got, c.sock is sock, hashlib.sha256(body).hexdigest(),
    data == whole[1000:2000], hashlib.sha256(whole).hexdigest()]))
"""


@claim("python's http.client: every kind of request on one kept connection")
def _():
    w, s = world()
    script = w.file("guest.py", PYTHON)
    got, kept, body, ranged, whole = json.loads(
        s.run(["python3", script, s.ca]).ok().out)
    equal([g[0] for g in got], [200, 201, 201, 200, 206, 404, 200, 200])
    equal({g[1] for g in got}, {11})
    equal(got[3][2:], [0, str(8 << 20)])
    equal((kept, ranged), (True, True))
    for name in ("py-length", "py-chunks"):
        with open(f"{w.folder}/www/up/{name}", "rb") as f:
            equal(hashlib.sha256(f.read()).hexdigest(), body, name)
    with open(f"{w.folder}/www/big", "rb") as f:
        equal(hashlib.sha256(f.read()).hexdigest(), whole)
    equal(protocols(w, "/up/py-length"), {"HTTP/2.0"})


@claim("the world of the clients of HTTP/2 ends and leaves nothing")
def _():
    w, s = world()
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    s.rm().ok()
    w.close()
    _world.clear()
