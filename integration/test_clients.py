"""Programs that developers use, each through a gate to a real origin."""
import os

from harness import shell
from harness.claims import claim, contains, equal
from harness.git import LOCATION, make_repository, start_backend
from harness.origins import Nginx
from harness.world import World

NAMES = {
    "web.example.com": "10.201.0.10",
    "git.example.com": "10.201.0.12",
    "deb.example.com": "10.201.0.10",
    "pass.example.com": "10.201.0.13",
    "tcp.example.com": "10.201.0.14",
}

POLICY = """\
[policy]
version = 1

[allow web]
host   = web.example.com
method = GET, HEAD, POST, PUT

[allow clone]
host   = git.example.com
method = GET, POST
path   = /widget.git/**

[deny push]
host  = git.example.com
query = service=git-receive-pack

[deny push-pack]
host = git.example.com
path = /widget.git/git-receive-pack

[allow packages]
host   = deb.example.com
port   = 80
scheme = http
method = GET

[allow pinned]
host = pass.example.com
tls  = passthrough

[allow database]
host   = tcp.example.com
port   = 5432
scheme = tcp
"""

GIT = """
  server {{ listen 10.201.0.12:443 ssl;
    ssl_certificate {cert}; ssl_certificate_key {key}; {location} }}
"""

WEB = """
  server {{ listen 10.201.0.10:443 ssl; listen 10.201.0.13:443 ssl;
    ssl_certificate {cert}; ssl_certificate_key {key};
    root {folder}/www; client_body_in_file_only off;
    location /up {{ dav_methods PUT; create_full_put_path on; }}
    location /echo {{ return 200 "$request_method $content_length\\n"; }} }}
  server {{ listen 10.201.0.10:80; root {folder}/www; }}
"""

_world = {}


def make_apt_repository(folder):
    """A flat, unsigned repository with one index."""
    os.makedirs(f"{folder}/www/apt")
    for name, text in (("Packages", "Package: widget\nVersion: 1\n"
                        "Architecture: all\nMaintainer: a <a@example.com>\n"
                        "Filename: ./widget.deb\nSize: 1\n"
                        "Description: a widget\n\n"),):
        with open(f"{folder}/www/apt/{name}", "w", encoding="ascii") as f:
            f.write(text)


def world():
    if not _world:
        w = World(NAMES)
        make_repository(w.folder, "widget")
        start_backend(w)
        make_apt_repository(w.folder)
        with open(f"{w.folder}/www/hello", "w", encoding="ascii") as f:
            f.write("hello from the origin\n")
        cert, key = w.authority.issue("web.example.com", "pass.example.com")
        gcert, gkey = w.authority.issue("git.example.com")
        w.own(Nginx(w.net, f"{w.folder}/nginx",
                    WEB.format(cert=cert, key=key, folder=w.folder)
                    + GIT.format(cert=gcert, key=gkey, location=LOCATION.format(
                        location="/widget\\.git", more="", folder=w.folder))))
        _world.update(w=w, s=w.sandbox(POLICY))
    return _world["w"], _world["s"]


@claim("curl, wget, python3 and node read the same page")
def _():
    _, s = world()
    url = "https://web.example.com/hello"
    want = "hello from the origin\n"
    equal(s.curl(url).ok().out, want)
    equal(s.run(["wget", "-qO-", f"--ca-certificate={s.ca}", url]).ok().out, want)
    equal(s.run(["python3", "-c", "import urllib.request, sys\n"
                 f"sys.stdout.write(urllib.request.urlopen('{url}').read().decode())"
                 ]).ok().out, want)
    equal(s.run(["node", "-e", f"fetch('{url}').then(r => r.text())"
                 ".then(t => process.stdout.write(t))"]).ok().out, want)


@claim("git clones over https; a push is refused with our sentence")
def _():
    w, s = world()
    env = dict(s.env, GIT_CONFIG_GLOBAL="/dev/null", GIT_TERMINAL_PROMPT="0")
    work = f"{w.folder}/clone"
    s.run(["git", "clone", "-q", "https://git.example.com/widget.git", work],
          env=env).ok()
    got = s.run(["git", "-C", work, "push", "origin", "main:refs/heads/evil"],
                env=env)
    assert got.code != 0, repr(got)
    contains(got.both, "403", repr(got))
    s.audited(verdict="deny", rule="push")


@claim("apt reads a repository over plain http where the rule says so")
def _():
    w, s = world()
    folder = f"{w.folder}/apt"
    for name in ("lists/partial", "cache/archives/partial", "etc"):
        os.makedirs(f"{folder}/{name}")
    sources = f"{folder}/sources.list"
    with open(sources, "w", encoding="ascii") as f:
        f.write("deb [trusted=yes] http://deb.example.com/apt ./\n")
    options = [f"-oDir::Etc::sourcelist={sources}", "-oDir::Etc::sourceparts=-",
               f"-oDir::State::lists={folder}/lists",
               f"-oDir::Cache={folder}/cache", "-oAPT::Sandbox::User=root",
               "-oAcquire::Languages=none", "-oAcquire::Retries=0"]
    got = s.run(["apt-get", *options, "update"])
    equal(got.code, 0, repr(got))
    contains(got.out, "Get:", repr(got))


@claim("an upload of 8 MiB arrives whole, with Expect and without")
def _():
    w, s = world()
    path = f"{w.folder}/big"
    with open(path, "wb") as f:
        f.write(os.urandom(8 << 20))
    for extra in ([], ["-H", "Expect:"], ["-H", "Transfer-Encoding: chunked"]):
        s.curl("-f", "-T", path, *extra,
               "https://web.example.com/up/big").ok()
        equal(open(path, "rb").read(),
              open(f"{w.folder}/www/up/big", "rb").read(), "the bytes")
        os.unlink(f"{w.folder}/www/up/big")


@claim("passthrough: the origin's own certificate reaches the guest")
def _():
    w, s = world()
    got = s.run(["curl", "-sS", "--cacert", w.authority.ca, "--max-time", "10",
                 "https://pass.example.com/hello"], env={"PATH": s.env["PATH"]})
    equal(got.ok().out, "hello from the origin\n")
    record = s.audited(event="connect", host="pass.example.com", verdict="allow")
    equal(record["rule"], "pinned")


@claim("scheme = tcp: bytes go both ways on the reserved address")
def _():
    w, s = world()
    from harness.origins import RawOrigin

    def shout(peer, seen):
        data = peer.recv(100)
        seen += data
        peer.sendall(data.upper())

    origin = RawOrigin(w.net, "10.201.0.14", 5432, shout)
    try:
        got = s.run(["nc", "-w", "5", "-N", "tcp.example.com", "5432"],
                    stdin=b"select 1")
        equal(got.out, "SELECT 1", repr(got))
    finally:
        origin.close()
    s.audited(host="tcp.example.com", port=5432, verdict="allow")


@claim("openssl s_client sees one name, signed by the sandbox's CA")
def _():
    _, s = world()
    got = s.run(["openssl", "s_client", "-connect", "web.example.com:443",
                 "-servername", "web.example.com", "-CAfile", s.ca,
                 "-verify_return_error"], stdin=b"")
    contains(got.both, "Verify return code: 0 (ok)", repr(got))
    pem = got.out[got.out.index("-----BEGIN"):got.out.index("-----END") + 25]
    text = shell.run(["openssl", "x509", "-noout", "-text"],
                     stdin=pem.encode()).ok().out
    contains(text, "DNS:web.example.com")
    equal(text.count("DNS:"), 1, text)


@claim("the world of the clients ends and leaves nothing")
def _():
    w, _ = world()
    w.close()
    _world.clear()
