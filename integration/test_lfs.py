"""LFS under [git] rules: real git-lfs, a server that does what its API says, and
guests that do what no git-lfs would."""
import base64
import gzip
import hashlib
import json
import os
import secrets
import shutil

from harness.claims import claim, contains, equal, lacks, until
from harness.git import ENV, LOCATION, git, make_repository, start_backend
from harness.lfs import LOCATION as LFS_LOCATION, TYPE, Lfs
from harness.origins import Nginx
from harness.world import World

NAMES = {"git.example.com": "10.201.0.60", "a.store.example.com": "10.201.0.61",
         "far.example.com": "10.201.0.62"}
URL = "https://git.example.com"
STORE = "https://a.store.example.com/objects"
FAR = "https://far.example.com/objects"
REPOSITORIES = ("data", "look", "far", "none", "here")

POLICY = """\
[policy]
version = 1

[git data]
repo     = git.example.com/data
push     = refs/heads/agent/*
max-push = 3MB
lfs      = yes
lfs-host = *.store.example.com

[git look]
repo     = git.example.com/look
lfs      = yes
lfs-host = *.store.example.com
say      = this repository is for reading

[git far]
repo = git.example.com/far
lfs  = yes

[git here]
repo  = git.example.com/here
push  = refs/heads/**
force = yes
lfs   = yes

[git none]
repo = git.example.com/none
push = refs/heads/**
"""

SERVER = """
  server {{ listen 10.201.0.60:443 ssl http2; listen 10.201.0.61:443 ssl;
    listen 10.201.0.62:443 ssl;
    ssl_certificate {cert}; ssl_certificate_key {key};
    {lfs} {location} }}
"""

_world = {}


def config(w):
    """What `git lfs install` writes, for a guest."""
    file = f"{w.folder}/gitconfig"
    for key, value in (("clean", "git-lfs clean -- %f"), ("smudge", "git-lfs smudge -- %f"),
                       ("process", "git-lfs filter-process"), ("required", "true")):
        git("config", "-f", file, f"filter.lfs.{key}", value)
    # A refusal is final: not three times, one second apart.
    git("config", "-f", file, "lfs.transfer.maxretries", "1")
    return {**ENV, "GIT_CONFIG_GLOBAL": file}


def world():
    if not _world:
        w = World(NAMES)
        lfs = Lfs(w, {"data": STORE, "look": STORE, "far": FAR})
        first = os.urandom(50000)
        pointer = (f"version https://git-lfs.github.com/spec/v1\noid sha256:"
                   f"{lfs.add(first)}\nsize {len(first)}\n").encode()
        bare = make_repository(w.folder, REPOSITORIES[0], [
            (".gitattributes", b"*.bin filter=lfs -text\n"), ("a.bin", pointer)])
        for name in REPOSITORIES[1:]:
            shutil.copytree(bare, f"{w.folder}/repos/{name}.git")
        start_backend(w)
        cert, key = w.authority.issue(*NAMES)
        w.own(Nginx(w.net, f"{w.folder}/nginx", SERVER.format(
            cert=cert, key=key,
            lfs=LFS_LOCATION.format(folder=w.folder, paths="(/info/lfs/|^/objects/)"),
            location=LOCATION.format(location="/", more="", folder=w.folder))))
        for name in REPOSITORIES:
            os.symlink(f"{name}.git", f"{w.folder}/repos/{name}")
        _world.update(w=w, s=w.sandbox(POLICY), lfs=lfs, first=first, env=config(w))
    return _world["w"], _world["s"], _world["lfs"]


def in_guest(s, *argv, cwd=None):
    return s.run(["git", *argv], env={**s.env, **_world["env"]}, cwd=cwd)


def cloned(name):
    """A guest's clone, with its hooks; made once."""
    w, s, _ = world()
    place = f"{w.folder}/work-{name}"
    if not os.path.exists(place):
        in_guest(s, "clone", "-q", f"{URL}/{name}", place).ok()
        in_guest(s, "lfs", "install", "--local", cwd=place).ok()
    return place


def commit(place, data):
    with open(f"{place}/b.bin", "wb") as f:
        f.write(data)
    in_guest(world()[1], "add", "b.bin", cwd=place).ok()
    in_guest(world()[1], "commit", "-q", "-m", "x", cwd=place).ok()
    return hashlib.sha256(data).hexdigest()


def post(s, path, body, *more, kind=TYPE):
    """As git-lfs asks, by hand."""
    file = world()[0].file("body", "")
    with open(file, "wb") as f:
        f.write(body if isinstance(body, bytes) else json.dumps(body).encode())
    return s.curl("-i", "-H", f"Content-Type: {kind}", "-H", f"Accept: {TYPE}",
                  "--data-binary", f"@{file}", *more, URL + path)


def batch(s, name, operation, oid, size, **more):
    """The answer to a question about one object, as JSON."""
    got = post(s, f"/{name}.git/info/lfs/objects/batch", {
        "operation": operation, "objects": [{"oid": oid, "size": size}], **more})
    contains(got.out, "200", repr(got))
    return json.loads(got.out[got.out.index("\r\n\r\n"):])["objects"][0]["actions"]


def use(s, action, *argv):
    """With what the answer said."""
    fields = [w for k, v in action.get("header", {}).items()
              for w in ("-H", f"{k}: {v}")]
    return s.curl("-i", *fields, *argv, action["href"])


@claim("LFS: a clone has its objects, from the host that the rule names")
def _():
    w, s, lfs = world()
    with open(f"{cloned('data')}/a.bin", "rb") as f:
        equal(f.read(), _world["first"])
    with open(f"{cloned('here')}/a.bin", "rb") as f:
        equal(f.read(), _world["first"], "from the repository's own host")
    with open(f"{cloned('look')}/a.bin", "rb") as f:
        equal(f.read(), _world["first"], "where nothing may be pushed")
    s.audited(verdict="allow", rule="data", host="a.store.example.com", method="GET",
              detail="an object of LFS")
    s.audited(verdict="allow", rule="data", path="/data.git/info/lfs/objects/batch",
              detail="LFS download of 1 objects, 50000 bytes for refs/heads/main")
    equal([r for r in w.audit(s.name, event="request", verdict="deny")], [], "denials")


@claim("LFS: a push to an allowed reference brings its objects, and they are verified")
def _():
    _, s, lfs = world()
    for name in ("data", "here"):
        place = cloned(name)
        data = os.urandom(300000)
        oid = commit(place, data)
        in_guest(s, "push", "-q", "origin", "HEAD:refs/heads/agent/ok", cwd=place).ok()
        equal(lfs.objects[oid], data)
        s.audited(verdict="allow", rule=name, method="PUT", up=len(data))
        sent = [p for m, h, p in lfs.log if m == "POST" and
                p.startswith(f"/{name}.git/info/lfs/verify?")]
        equal(len(sent), 1, "verified")
        s.audited(verdict="allow", rule=name, method="POST", path=sent[0])
    contains([m for m, h, p in lfs.log if p.endswith("/locks/verify")], "POST")


@claim("LFS: where nothing may be pushed nothing is uploaded, and git-lfs prints our sentence")
def _():
    w, s, lfs = world()
    place = cloned("look")
    oid = commit(place, os.urandom(1000))
    before = len(lfs.log)
    got = in_guest(s, "push", "origin", "HEAD:refs/heads/agent/x", cwd=place)
    assert got.code != 0, repr(got)
    contains(got.err + got.out, "this repository is for reading")
    got = in_guest(s, "lfs", "push", "--object-id", "origin", oid, cwd=place)
    assert got.code != 0, repr(got)
    contains(got.err + got.out, "tapward: POST https://git.example.com")
    contains(got.err + got.out, "this repository is for reading")
    equal(lfs.log[before:], [], "what reached the server")
    lacks(lfs.objects, oid)
    s.audited(verdict="deny", rule="look", reason="git-ref",
              path="/look.git/info/lfs/objects/batch", up=0)


@claim("LFS: what a push would bring for another reference is refused before it is sent")
def _():
    _, s, lfs = world()
    place = cloned("data")
    oid = commit(place, os.urandom(1000))
    got = in_guest(s, "push", "origin", "HEAD:refs/heads/main", cwd=place)
    assert got.code != 0, repr(got)
    contains(got.err + got.out, "tapward: ")
    lacks(lfs.objects, oid)


@claim("LFS: objects on a host that no rule names are neither asked for nor looked up")
def _():
    w, s, lfs = world()
    got = in_guest(s, "clone", "-q", f"{URL}/far", f"{w.folder}/work-far")
    assert got.code != 0, repr(got)
    contains(got.err + got.out, "tapward: GET https://far.example.com/objects/")
    equal([h for m, h, p in lfs.log if h == "far.example.com"], [])
    lacks(w.resolver.queries(), "far.example.com")


@claim("LFS: without `lfs = yes` its questions are refused")
def _():
    _, s, lfs = world()
    before = len(lfs.log)
    for path in ("objects/batch", "locks", "locks/verify", "locks/1/unlock"):
        got = post(s, f"/none/info/lfs/{path}", {"operation": "download", "objects": []})
        contains(got.out, "403", path)
        contains(got.out, '"message":"tapward: POST https://git.example.com', path)
    equal(len(lfs.log), before)


@claim("LFS: a URL is granted to whom it was told, for its method, as long as it says")
def _():
    w, s, lfs = world()
    oid = lfs.add(b"some object")
    down = batch(s, "data", "download", oid, 11)["download"]
    contains(use(s, down).out, "some object")
    for what, argv in (("PUT", ("-T", w.file("o", "x"))), ("POST", ("-d", "x")),
                       ("DELETE", ("-X", "DELETE")), ("HEAD", ("-I",)),
                       ("GET with a body", ("-X", "GET", "-d", "x")),
                       ("another method in a field",
                        ("-H", "X-HTTP-Method-Override: DELETE"))):
        got = use(s, down, *argv)
        contains(got.out, " 403", what)
        contains(got.out, "Tapward-Reason", what)
    for other in (down["href"] + "&x", down["href"].split("?")[0], f"{STORE}/{oid}?sig=x",
                  down["href"].replace("a.store", "far")):
        contains(s.curl("-i", other).out, "Tapward-Reason", other)
    new = hashlib.sha256(b"new").hexdigest()
    up = batch(s, "data", "upload", new, 3)
    contains(use(s, {**up["upload"]}).out, "Tapward-Reason", "GET of an upload")
    contains(use(s, up["upload"], "-T", w.file("o", "new")).out, " 200")
    contains(use(s, up["verify"], "-d", json.dumps({"oid": new, "size": 3})).out, " 200")
    # Somebody else's.
    other = w.sandbox(POLICY)
    contains(use(other, down).out, "Tapward-Reason")
    other.rm().ok()
    lfs.expires = {"expires_in": 1}
    short = batch(s, "data", "download", oid, 11)["download"]
    contains(use(s, short).out, "some object")
    until(lambda: "Tapward-Reason" in use(s, short).out, 10, "it ends")
    for gone in ({"expires_in": -1}, {"expires_at": "2020-01-01T00:00:00Z"},
                 {"expires_at": "tomorrow"}):
        lfs.expires = gone
        contains(use(s, batch(s, "data", "download", oid, 11)["download"]).out,
                 "Tapward-Reason", str(gone))
    for lives in ({}, {"expires_at": "0001-01-01T00:00:00Z"},
                  {"expires_at": "2099-01-01T00:00:00.123456+02:00"}):
        lfs.expires = lives
        contains(use(s, batch(s, "data", "download", oid, 11)["download"]).out,
                 "some object", str(lives))
    lfs.expires = {"expires_in": 600}


@claim("LFS: elsewhere only the Authorization that the answer gave goes along")
def _():
    _, s, lfs = world()
    oid = lfs.add(b"with a token")
    down = batch(s, "data", "download", oid, 12)["download"]
    seen = len(lfs.authorizations)
    for value in ("Bearer guests-own", down["header"]["Authorization"] + "x"):
        contains(s.curl("-i", "-H", f"Authorization: {value}", "-H", "Cookie: a=b",
                        down["href"]).out, "another token", value)
    contains(use(s, down).out, "with a token")
    equal([a for h, a in lfs.authorizations[seen:]],
          ["", "", down["header"]["Authorization"]])


@claim("LFS: no more bytes go up than were announced, nor than max-push")
def _():
    w, s, lfs = world()
    oid = hashlib.sha256(b"new object").hexdigest()
    up = batch(s, "data", "upload", oid, 10)["upload"]
    large = w.file("large", "x" * 200000)
    for more in ((), ("-H", "Transfer-Encoding: chunked")):
        got = use(s, up, "-T", large, *more)
        contains(got.out, "limit-upload", repr(got))
    lacks(lfs.objects, oid)
    contains(use(s, up, "-T", w.file("o", "new object"), "-H",
                 "Transfer-Encoding: chunked").out, " 200")
    ask = {"operation": "upload", "objects": [{"oid": oid, "size": 2000000},
                                              {"oid": "0" * 64, "size": 2000000}]}
    got = post(s, "/data/info/lfs/objects/batch", ask)
    contains(got.out, "limit-upload")
    contains(got.out, "the objects are larger than max-push")


A = "a" * 64


@claim("LFS: what is not read in one way is refused in git-lfs's own words, and goes nowhere")
def _():
    _, s, lfs = world()
    good = {"operation": "download", "objects": [{"oid": A, "size": 1}]}
    text = json.dumps(good)
    rows = (
        ("not JSON", "operation=download"), ("nothing", ""), ("half", text[:-2]),
        ("two documents", text + text), ("an array", f"[{text}]"),
        ("two operations", text[:-1] + ',"operation":"upload"}'),
        ("... as Go reads it", text[:-1] + ',"OPERATION":"upload"}'),
        ("another operation", {**good, "operation": "delete"}),
        ("another hash", {**good, "hash_algo": "md5"}),
        ("an oid that is a path", {**good, "objects": [{"oid": "../x", "size": 1}]}),
        ("a negative size", {**good, "objects": [{"oid": A, "size": -1}]}),
        ("101 objects", {**good, "objects": [{"oid": A, "size": 1}] * 101}),
        ("deep", '{"a":' * 40), ("UTF-16", text.encode("utf-16")),
        ("a long text", {**good, "x": "y" * 9000}),
    )
    ways = ((), ("-H", "Transfer-Encoding: chunked"), ("--http2",))
    before = len(lfs.log)
    for i, (what, body) in enumerate(rows):
        if isinstance(body, str):
            body = body.encode()
        got = post(s, "/data/info/lfs/objects/batch", body, *ways[i % len(ways)])
        contains(got.out, " 400", what)
        contains(got.out.lower(), f"content-type: {TYPE}", what)
        contains(got.out, '"message":"tapward: POST', what)
    path = "/data/info/lfs/objects/batch"
    for what, got in (
            ("in a coding", post(s, path, gzip.compress(text.encode()), "-H",
                                 "Content-Encoding: gzip")),
            ("a form", post(s, path, good, kind="application/x-www-form-urlencoded")),
            ("larger than lfs-batch", post(s, path, b" " * (2 << 20)))):
        contains(got.out, "bad-request", what)
    contains(post(s, f"{path}?a=b", good).out, "Tapward-Reason: query")
    equal(len(lfs.log), before, "requests that reached the server")


@claim("LFS: an answer that is not read in one way grants nothing")
def _():
    _, s, lfs = world()
    oid = lfs.add(b"an object")
    ask = {"operation": "download", "objects": [{"oid": oid, "size": 9}]}
    href = f"{STORE}/{oid}?sig=fixed"
    lfs.tokens["GET", href] = ""

    def said(text):
        return lambda answer: (200, text.encode())

    action = f'{{"href":"{href}"}}'
    rows = (
        ("two hrefs", f'{{"objects":[{{"oid":"{oid}","size":9,"actions":{{"download":'
                      f'{{"href":"{href}","HREF":"{FAR}/x"}}}}}}]}}'),
        ("another transfer", f'{{"transfer":"tus","objects":[{{"oid":"{oid}","size":9,'
                             f'"actions":{{"download":{action}}}}}]}}'),
        ("no size", f'{{"objects":[{{"oid":"{oid}","actions":{{"download":{action}}}}}]}}'),
        ("another action", f'{{"objects":[{{"oid":"{oid}","size":9,"actions":{{'
                           f'"upload":{action}}}}}]}}'),
        ("plain http", f'{{"objects":[{{"oid":"{oid}","size":9,"actions":{{"download":'
                       f'{{"href":"http{href[5:]}"}}}}}}]}}'),
        ("too much", '{"objects":[],"x":[' + '"y",' * 400000 + '""]}'),
    )
    for what, text in rows:
        lfs.change = said(text)
        post(s, "/data/info/lfs/objects/batch", ask)
        contains(s.curl("-i", href).out, "Tapward-Reason: no-rule", what)
    lfs.change = lambda answer: (200, gzip.compress(json.dumps(answer[1]).encode()), "gzip")
    contains(post(s, "/data/info/lfs/objects/batch", ask).out, "bad-response")
    lfs.change = lambda answer: answer


@claim("LFS: locks are for those who may push, and taking another's away needs force")
def _():
    _, s, lfs = world()
    place = cloned("data")
    in_guest(s, "checkout", "-q", "-b", "agent/locks", cwd=place).ok()
    in_guest(s, "lfs", "lock", "a.bin", cwd=place).ok()
    contains(in_guest(s, "lfs", "locks", cwd=place).ok().out, "a.bin")
    got = in_guest(s, "lfs", "unlock", "--force", "a.bin", cwd=place)
    assert got.code != 0 and lfs.locks, repr(got)
    contains(got.err + got.out, "LFS unlock by force")
    in_guest(s, "lfs", "unlock", "a.bin", cwd=place).ok()
    equal(lfs.locks, {})
    in_guest(s, "checkout", "-q", "main", cwd=place).ok()
    before = len(lfs.log)
    for path in ("locks", "locks/verify", "locks/1/unlock"):
        contains(post(s, f"/look/info/lfs/{path}", {"path": "a.bin"}).out, "git-ref", path)
    contains(s.curl("-i", f"{URL}/look/info/lfs/locks?path=a.bin").out, "git-ref")
    equal(len(lfs.log), before)


@claim("LFS: a new policy is asked about each URL that was granted before it")
def _():
    w, _, lfs = world()
    s = w.sandbox(POLICY)
    oid = lfs.add(b"kept")
    down = batch(s, "data", "download", oid, 4)["download"]
    up = batch(s, "data", "upload", hashlib.sha256(b"new one").hexdigest(), 7)["upload"]
    contains(use(s, down).out, "kept")
    s.reload(POLICY.replace("*.store.example.com", "b.store.example.com")).ok()
    contains(use(s, down).out, "Tapward-Reason", "its host is not named any more")
    s.reload(POLICY.replace("push     =", "max-requests = 99 ;")
             .replace("max-push = 3MB\n", "")).ok()
    contains(use(s, down).out, "kept", "still named")
    contains(use(s, up, "-T", w.file("o", "new one")).out, "Tapward-Reason",
             "nothing may be pushed")
    s.reload(POLICY + "\n[deny store]\nhost = a.store.example.com\n").ok()
    contains(use(s, down).out, "denied-by-rule")
    s.reload(POLICY).ok()
    contains(use(s, up, "-T", w.file("o", "new one")).out, " 200", "all as before")
    s.rm().ok()


CREDENTIAL = """
[credential host]
value  = file:{folder}/key
host   = git.example.com
apply  = basic:robot
method = GET, POST, PUT
path   = /here.git/**
path   = /data.git/**
grant  = *
"""


@claim("LFS: the rule's credential goes to its repository's own host, and no further")
def _():
    w = World(NAMES, start=False)
    key = secrets.token_hex(16)
    w.file("key", key + "\n", 0o600)
    with open(w.config, "a", encoding="ascii") as f:
        f.write(CREDENTIAL.format(folder=w.folder))
    w.start()
    lfs = Lfs(w, {"data": STORE})
    cert, private = w.authority.issue(*NAMES)
    w.own(Nginx(w.net, f"{w.folder}/nginx", SERVER.format(
        cert=cert, key=private, location="",
        lfs=LFS_LOCATION.format(folder=w.folder, paths="/"))))
    s = w.sandbox(POLICY.replace("lfs      = yes", "lfs = yes\ncredential = host")
                  .replace("lfs   = yes", "lfs = yes\ncredential = host"))
    pair = "Basic " + base64.b64encode(f"robot:{key}".encode()).decode()
    lfs.also = lambda: pair
    oid = lfs.add(b"with a key")
    for name, at in (("here", pair), ("data", "")):
        seen = len(lfs.authorizations)
        down = batch(s, name, "download", oid, 10)["download"]
        lacks(json.dumps(down), key)
        own = {**down, "header": {"Authorization": "Bearer guests-own"}}
        contains(use(s, own).out, "with a key" if at else "another token", name)
        contains(use(s, down).out, "with a key", name)
        equal([a for _, a in lfs.authorizations[seen:]],
              [pair, at, at or down["header"]["Authorization"]], name)
    new = hashlib.sha256(b"sent with a key").hexdigest()
    up = batch(s, "here", "upload", new, 15)
    contains(use(s, up["upload"], "-T", w.file("o", "sent with a key")).out, " 200")
    contains(use(s, up["verify"], "-d", json.dumps({"oid": new, "size": 15})).out, " 200")
    # What Gitea does: the answer holds what it was sent. It is masked, and what
    # is masked is replaced where it belongs, and goes nowhere else.
    def echo(answer):
        for o in answer[1]["objects"]:
            o["actions"]["download"]["header"] = {"Authorization": pair}
        return answer

    lfs.change = echo
    for name, at in (("here", pair), ("data", "")):
        down = batch(s, name, "download", oid, 10)["download"]
        contains(down["header"]["Authorization"], "***", name)
        use(s, down)
        equal(lfs.authorizations[-1][1], at, name)
    s.audited(reason="credential-leak")
    w.close()
