"""[git] rules: what a guest may fetch and push, by real git on both sides."""
import gzip
import hashlib
import os
import re
import time
import zlib

from harness.claims import claim, contains, equal, lacks, until
from harness.git import ENV, LOCATION, git, make_repository, start_backend
from harness.origins import Nginx
from harness.raw import Recorder, read, tls
from harness.world import World

NAMES = {"git.example.com": "10.201.0.60", "raw.example.com": "10.201.0.63"}
URL = "https://git.example.com"

POLICY = """\
[policy]
version = 1

[git tool]
repo     = git.example.com/tool
push     = refs/heads/agent/*
max-push = 3MB

[git free]
repo         = git.example.com/free
push         = refs/heads/**, refs/tags/*
delete       = yes
force        = yes
push-options = yes

[git look]
repo = git.example.com/look.git
say  = this repository is for reading
"""

SERVER = """
  server {{ listen 10.201.0.60:443 ssl http2;
    ssl_certificate {cert}; ssl_certificate_key {key};
    {location} }}
"""

_world = {}


def world():
    if not _world:
        w = World(NAMES)
        for name in ("tool", "free", "look"):
            bare = make_repository(w.folder, name, [
                (f"file{i}", os.urandom(20000)) for i in range(5)])
            for key, value in (("receive.advertisePushOptions", "true"),
                               ("uploadpack.allowFilter", "true")):
                git("config", key, value, cwd=bare)
        start_backend(w)
        cert, key = w.authority.issue(*NAMES)
        w.own(Nginx(w.net, f"{w.folder}/nginx", SERVER.format(
            cert=cert, key=key, location=LOCATION.format(
                location="/(tool|free|look)(\\.git)?/", more="client_max_body_size 0;",
                folder=w.folder))))
        # Names with and without .git lead to one repository.
        for name in ("tool", "free", "look"):
            os.symlink(f"{name}.git", f"{w.folder}/repos/{name}")
        s = w.sandbox(POLICY)
        for name in ("tool", "free"):
            s.run(["git", "clone", "-q", f"{URL}/{name}", f"{w.folder}/{name}"],
                  env={**s.env, **ENV}).ok()
        _world.update(w=w, s=s)
    return _world["w"], _world["s"]


def in_guest(s, work, *argv):
    return s.run(["git", "-C", work, *argv], env={**s.env, **ENV})


def commit(work, size=0):
    """One more commit; its name."""
    if size:
        with open(f"{work}/blob", "wb") as f:
            f.write(os.urandom(size))
        git("add", "blob", cwd=work)
    git("commit", "-q", "--allow-empty", "-m", os.urandom(8).hex(), cwd=work)
    return git("rev-parse", "HEAD", cwd=work).out.strip()


def refs(w, name):
    """What the origin has."""
    lines = git("for-each-ref", "--format=%(refname) %(objectname)",
                cwd=f"{w.folder}/repos/{name}.git").out.splitlines()
    return dict(line.split(" ") for line in lines)


def pushed(s, work, *argv):
    """A push that has to be taken."""
    return in_guest(s, work, "push", "-q", *argv).ok()


def refused(w, s, name, *argv, says=()):
    """A push that has to be refused: git says why, and nothing has changed."""
    before = refs(w, name)
    got = in_guest(s, f"{w.folder}/{name}", "push", *argv)
    assert got.code != 0, repr(got)
    for text in says:
        contains(got.err, text, repr(got))
    equal(refs(w, name), before)
    return got


@claim("git fetches by protocol 0, 1 and 2, shallow, partial, over HTTP/1.1 and HTTP/2")
def _():
    w, s = world()
    head = refs(w, "look")["refs/heads/main"]
    ways = [["-c", f"protocol.version={v}", "-c", f"http.version={h}", "clone"]
            for v in (0, 1, 2) for h in ("HTTP/1.1", "HTTP/2")]
    ways += [["clone", "--depth", "1"], ["clone", "--filter=blob:none"],
             ["clone", "--bare"]]
    for i, way in enumerate(ways):
        for name in ("look", "look.git"):
            place = f"{w.folder}/ways-{i}-{name}"
            s.run(["git", *way, "-q", f"{URL}/{name}", place],
                  env={**s.env, **ENV}).ok()
            equal(git("rev-parse", "HEAD", cwd=place).out.strip(), head)
    s.audited(verdict="allow", rule="look", path="/look/git-upload-pack")


@claim("a push to what is fetched only is refused before it begins, in the rule's words")
def _():
    w, s = world()
    got = s.run(["git", "push", f"{URL}/look", "HEAD:refs/heads/agent/x"],
                env={**s.env, **ENV}, cwd=f"{w.folder}/tool")
    assert got.code != 0, repr(got)
    contains(got.err, "this repository is for reading")
    s.audited(verdict="deny", rule="look", reason="git-ref")


@claim("row 123: other repositories, dumb HTTP and the rest of the host are refused")
def _():
    _, s = world()
    for path in ("/look/HEAD", "/look/info/refs", "/look/objects/info/packs",
                 "/look", "/other/info/refs?service=git-upload-pack",
                 "/Look/info/refs?service=git-upload-pack",
                 "/tool/../look/info/refs?service=git-upload-pack"):
        got = s.curl("-o", "/dev/null", "-w", "%{http_code}", "--path-as-is",
                     URL + path)
        equal(got.ok().out, "403", path)


@claim("a push to a reference that is allowed passes: created, moved forward, by HTTP/1.1 and HTTP/2")
def _():
    w, s = world()
    work = f"{w.folder}/tool"
    # As git offers them: of the two it is given HTTP/1.1.
    for version in ("HTTP/1.1", "HTTP/2"):
        in_guest(s, work, "config", "http.version", version).ok()
        ref = f"refs/heads/agent/ok{version[5]}"
        for size in (0, 2 << 20, 0):
            want = commit(work, size)
            pushed(s, work, "origin", f"HEAD:{ref}")
            equal(refs(w, "tool")[ref], want)
    in_guest(s, work, "config", "--unset", "http.version").ok()
    # Merges and many commits, and protocol 1.
    git("checkout", "-q", "-b", "side", "HEAD~2", cwd=work)
    for _ in range(40):
        commit(work)
    git("merge", "-q", "-m", "m", "main", cwd=work)
    in_guest(s, work, "-c", "protocol.version=1", "push", "-q", "origin",
             "HEAD:refs/heads/agent/ok2").ok()
    git("checkout", "-q", "main", cwd=work)
    record = s.audited(verdict="allow", rule="tool", detail="create refs/heads/agent/ok2")
    equal(record["path"], "/tool/git-receive-pack")


@claim("row 123: another branch, a tag, HEAD, deletion and force are refused, each with our sentence")
def _():
    w, s = world()
    work = f"{w.folder}/tool"
    commit(work)
    pushed(s, work, "origin", "HEAD:refs/heads/agent/a")
    rows = (
        (["HEAD:refs/heads/main"], "no rule lets this be updated (git-ref,"),
        (["HEAD:refs/heads/x"], "no rule lets this be created (git-ref,"),
        (["HEAD:refs/heads/agent/a/b"], "no rule lets this be created"),
        (["HEAD:refs/heads/Agent/a"], "no rule lets this be created"),
        (["HEAD:refs/tags/agent/a"], "no rule lets this be created"),
        (["HEAD:refs/for/main"], "no rule lets this be created"),
        ([":refs/heads/agent/a"], "no rule lets this be deleted"),
        (["--force", "HEAD~1:refs/heads/agent/a"], "not shown to move forward"),
    )
    for argv, says in rows:
        got = refused(w, s, "tool", "origin", *argv, says=(
            "[remote rejected]", f"(tapward: {says}",
            "remote: tapward: nothing of this push went on"))
        lacks(got.err, "RPC failed")
    contains(got.err, "`push = refs/heads/agent/a`, `force = yes` in [git tool]")
    s.audited(verdict="deny", rule="tool", reason="git-ref", up=0,
              detail="update refs/heads/agent/a: not shown to move forward, "
                     "nor may it be forced")


@claim("a push of which one reference is refused is refused whole")
def _():
    w, s = world()
    commit(f"{w.folder}/tool")
    refused(w, s, "tool", "origin", "HEAD:refs/heads/agent/m1",
            "HEAD:refs/heads/main", "HEAD:refs/heads/agent/m2", says=(
                "tapward: no rule lets this be updated (git-ref,",
                "not done, for another reference of this push is refused"))
    refused(w, s, "tool", "--atomic", "origin", "HEAD:refs/heads/agent/m1",
            "HEAD:refs/heads/main", says=("no rule lets this be updated",))


@claim("a push of 12 MB that is refused is told so; one that is too large is cut off")
def _():
    w, s = world()
    work = f"{w.folder}/tool"
    git("checkout", "-q", "-b", "large", cwd=work)
    commit(work, 12 << 20)
    for version in ("HTTP/1.1", "HTTP/2"):
        in_guest(s, work, "config", "http.version", version).ok()
        refused(w, s, "tool", "origin", "HEAD:refs/heads/main", says=(
            "[remote rejected]", "tapward: no rule lets this be"))
        refused(w, s, "tool", "origin", "HEAD:refs/heads/agent/large", says=(
            "[remote rejected]",
            "tapward: the push is larger than max-push, 3000000 bytes"))
    in_guest(s, work, "config", "--unset", "http.version").ok()
    git("checkout", "-q", "main", cwd=work)
    s.audited(verdict="deny", reason="limit-upload")


@claim("what a rule gives is let through: tags, deletion, force, push options")
def _():
    w, s = world()
    work = f"{w.folder}/free"
    git("tag", "-a", "-m", "x", "v1", cwd=work)
    commit(work)
    pushed(s, work, "origin", "HEAD:refs/heads/a/b", "refs/tags/v1")
    pushed(s, work, "--force", "origin", "HEAD~1:refs/heads/a/b")
    pushed(s, work, "-o", "ci.skip", "origin", "HEAD:refs/heads/c")
    pushed(s, work, "origin", ":refs/heads/c", ":refs/tags/v1")
    equal(set(refs(w, "free")), {"refs/heads/main", "refs/heads/a/b"})
    commit(f"{w.folder}/tool")
    refused(w, s, "tool", "-o", "ci.skip", "origin", "HEAD:refs/heads/agent/o",
            says=("no rule lets push options go with this",))


# --- what no git would send ---------------------------------------------------

ZERO = "0" * 40
CAPS = "report-status side-band-64k agent=x"


def line(data):
    if isinstance(data, str):
        data = data.encode("latin-1")
    return b"%04x" % (len(data) + 4) + data


def empty_pack():
    body = b"PACK" + (2).to_bytes(4, "big") + (0).to_bytes(4, "big")
    return body + hashlib.sha1(body).digest()


def post(s, w, body, *more, path="/tool/git-receive-pack"):
    file = w.file("body", "")
    with open(file, "wb") as f:
        f.write(body)
    return s.curl("-i", "--http1.1", "-H",
                  "Content-Type: application/x-git-receive-pack-request",
                  "--data-binary", f"@{file}", *more, URL + path)


@claim("row 123: a list of commands that can be read in two ways is refused, and nothing of it goes on")
def _():
    w, s = world()
    new = refs(w, "tool")["refs/heads/main"]
    good = f"{ZERO} {new} refs/heads/agent/raw"
    evil = f"{ZERO} {new} refs/heads/evil"
    first = line(f"{good}\0{CAPS}")
    pack = empty_pack()
    rows = (
        ("a second list behind the first",
         first + b"0000" + line(f"{evil}\0{CAPS}") + b"0000" + pack),
        ("a delimiter for its end", first + b"0001" + line(evil) + b"0000" + pack),
        ("capabilities on a later line",
         first + line(f"{good}2\0push-options") + b"0000" + pack),
        ("an unknown capability", line(f"{good}\0{CAPS} new-thing") + b"0000" + pack),
        ("a certificate", line(f"push-cert\0{CAPS}") + line("x\n") + b"0000" + pack),
        ("a command in another case",
         line(f"{ZERO} {new.upper()} refs/heads/agent/raw\0{CAPS}") + b"0000" + pack),
        ("an upper-case length", first[:3].upper() + b"F" + first[4:] + b"0000" + pack),
        ("a tab for a blank", line(f"{ZERO}\t{new} refs/heads/agent/x\0{CAPS}")
         + b"0000" + pack),
        ("no pack", first + b"0000"),
        ("something behind a deletion",
         line(f"{new} {ZERO} refs/heads/agent/a\0{CAPS}") + b"0000" + first
         + b"0000" + pack),
        ("a list that does not end", first),
        ("a list of nothing, and more", b"0000" + first + b"0000" + pack),
        ("refs by dots", line(f"{ZERO} {new} refs/heads/agent/../evil\0{CAPS}")
         + b"0000" + pack),
        ("a name with a line end", line(f"{ZERO} {new} refs/heads/agent/a\nb\0{CAPS}")
         + b"0000" + pack),
        ("a name that is not ASCII",
         line(f"{ZERO} {new} refs/heads/agent/\xe4\0{CAPS}") + b"0000" + pack),
        ("HEAD", line(f"{ZERO} {new} HEAD\0{CAPS}") + b"0000" + pack),
        ("a name of nothing", line(f"{ZERO} {new} \0{CAPS}") + b"0000" + pack),
        ("a name with a blank before it",
         line(f"{ZERO} {new}  refs/heads/agent/x\0{CAPS}") + b"0000" + pack),
        ("evil beside good", first + line(evil) + b"0000" + pack),
        ("shallow behind a command",
         first + line(f"shallow {new}") + b"0000" + pack),
        ("a command in sideband", line(b"\x01" + line(f"{evil}\0{CAPS}")) + b"0000"
         + pack),
    )
    before = refs(w, "tool")
    with open(f"{w.folder}/nginx/access.log", encoding="ascii") as f:
        asked = f.read().count("POST /tool/git-receive-pack")
    for what, body in rows:
        for more in ((), ("-H", "Transfer-Encoding: chunked"),
                     ("-H", "Expect: 100-continue")):
            got = post(s, w, body, *more)
            contains(got.out, "Tapward-Reason: ", what)
            assert "HTTP/1.1 40" in got.out or "ng " in got.out or \
                "unpack tapward: " in got.out, (what, got)
        equal(refs(w, "tool"), before, what)
    with open(f"{w.folder}/nginx/access.log", encoding="ascii") as f:
        equal(f.read().count("POST /tool/git-receive-pack"), asked,
              "requests that reached the origin")


RAW = """\
[policy]
version = 1

[git raw]
repo = raw.example.com/tool
"""
PART = 20000
# (what, the rule as the push was let through, as it is loaded then, goes on)
RELOADS = (
    ("the same", "push = refs/heads/a/*", "push = refs/heads/a/*\nforce = no", True),
    ("more of it", "push = refs/heads/a/*", "push = refs/heads/**\nforce = yes", True),
    ("a larger push", "push = refs/heads/a/*\nmax-push = 100KB",
     "push = refs/heads/a/*\nmax-push = 1MB", True),
    ("another reference", "push = refs/heads/a/*", "push = refs/heads/b/*", False),
    ("only fetches", "push = refs/heads/a/*", "", False),
    ("a smaller push", "push = refs/heads/a/*", "push = refs/heads/a/*\nmax-push = 10KB",
     False),
    ("no force", "push = refs/heads/a/*\nforce = yes", "push = refs/heads/a/*", False),
)


@claim("a reload while a push streams: one that still allows it does not disturb it, one that does not ends it within a second")
def _():
    w, _ = world()
    origin = Recorder(w, NAMES["raw.example.com"], 443, ["raw.example.com"])
    s = w.sandbox(RAW + "push = refs/heads/a/*\n")
    late = []
    for what, before, after, goes_on in RELOADS:
        s.reload(RAW + before + "\n").ok()
        old = ZERO if "force" not in before else "1" * 40
        body = line(f"{old} {'2' * 40} refs/heads/a/x\0{CAPS}") + b"0000PACK" + bytes(
            [0, 0, 0, 2, 0, 0, 0, 1]) + os.urandom(2 * PART)
        streams = len(origin.streams)
        with tls(s, "raw.example.com") as k:
            k.sendall(b"POST /tool/git-receive-pack HTTP/1.1\r\nHost: raw.example.com\r\n"
                      b"Content-Type: application/x-git-receive-pack-request\r\n"
                      b"Content-Length: %d\r\n\r\n" % len(body) + body[:PART])
            until(lambda: len(origin.streams) > streams and
                  len(origin.streams[-1].partition(b"\r\n\r\n")[2]) == PART, 5, what)
            s.reload(RAW + after + "\n").ok()
            begun = time.monotonic()
            if goes_on:
                k.sendall(body[PART:])
                contains(read(k, until=re.compile(b"ok$")), b"200 OK", what)
                equal(bytes(origin.streams[-1].partition(b"\r\n\r\n")[2]), body, what)
                continue
            contains(read(k), b"policy-reloaded", what)
            late.append(time.monotonic() - begun)
            equal(len(origin.streams[-1].partition(b"\r\n\r\n")[2]), PART, what)
        s.audited(event="request", rule="raw", reason="policy-reloaded", up=PART)
    assert max(late) < 1, late
    s.rm().ok()
    return f"ended {max(late):.2f} s after it was loaded"


@claim("a push in gzip is read, and goes on without its coding")
def _():
    w, s = world()
    new = refs(w, "tool")["refs/heads/main"]
    coded = ("-H", "Content-Encoding: gzip")

    def body(ref):
        return gzip.compress(line(f"{ZERO} {new} {ref}\0{CAPS}") + b"0000" + empty_pack())

    contains(post(s, w, body("refs/heads/agent/gz"), *coded).out, "ok refs/heads/agent/gz")
    equal(refs(w, "tool")["refs/heads/agent/gz"], new)
    contains(post(s, w, body("refs/heads/evil"), *coded).out, "ng refs/heads/evil")
    bomb = gzip.compress(b"\0" * (100 << 20))
    contains(post(s, w, bomb, *coded).out, "bad-request")
    deflated = zlib.compress(line(f"{ZERO} {new} refs/heads/evil\0{CAPS}") + b"0000")
    contains(post(s, w, deflated, "-H", "Content-Encoding: deflate").out,
             "bad-request")
    lacks(refs(w, "tool"), "refs/heads/evil")
