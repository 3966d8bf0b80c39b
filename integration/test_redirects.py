"""Redirects that a guest may follow: curl -L as it is, and everything near it."""
from harness.claims import claim, contains, equal, lacks
from harness.origins import Nginx
from harness.world import World

NAMES = {"api.example.com": "10.201.0.10", "one.blob.example.com": "10.201.0.13",
         "other.blob.example.com": "10.201.0.13"}

POLICY = """\
[policy]
version = 1

[allow api]
host = api.example.com
"""
REDIRECT = "redirect = *.blob.example.com 60s\n"
_world = {}


def world():
    if not _world:
        w = World(NAMES)
        cert, key = w.authority.issue(*NAMES)
        w.own(Nginx(w.net, f"{w.folder}/nginx", f"""
          ssl_certificate {cert}; ssl_certificate_key {key};
          server {{ listen 10.201.0.10:443 ssl http2;
            location /go {{
              return 307 https://one.blob.example.com/file?sig=a%2Fb&se=1; }} }}
          server {{ listen 10.201.0.13:443 ssl http2;
            location / {{
              return 200 "blob $request_uri $http_authorization\\n"; }} }}"""))
        _world.update(w=w)
    return _world["w"]


@claim("redirect: curl -L follows what the answer pointed to, and nothing else of that host")
def _():
    w = world()
    s = w.sandbox(POLICY + REDIRECT)
    blob = "https://one.blob.example.com"
    url = f"{blob}/file?sig=a%2Fb&se=1"
    contains(s.curl("-i", url).out, "no-rule", "before any answer pointed there")
    for version in ("--http1.1", "--http2"):
        got = s.curl("-L", version, "-H", "Authorization: Bearer guests-own",
                     "--location-trusted", "https://api.example.com/go")
        equal(got.out, "blob /file?sig=a%2Fb&se=1 \n", repr(got))
    equal(s.curl(url).out, "blob /file?sig=a%2Fb&se=1 \n", "again")
    for other in (f"{blob}/file", f"{blob}/", f"{url}&x=1",
                  "https://other.blob.example.com/file?sig=a%2Fb&se=1"):
        contains(s.curl("-i", other).out, "403", other)
    contains(s.curl("-i", "-X", "DELETE", url).out, "403", "DELETE")
    contains(s.curl("-i", "-d", "x", url).out, "403", "POST")
    s.audited(event="request", host="one.blob.example.com", verdict="allow",
              rule="api")
    s.rm().ok()


@claim("redirect: without the key in both files nothing is followed, dialled or looked up")
def _():
    w = world()
    s = w.sandbox(POLICY)
    got = s.curl("-i", "-L", "https://api.example.com/go")
    contains(got.out, "no-rule", got.out)
    lacks(got.out, "blob /file", got.out)
    equal([r for r in w.audit(s.name, event="connect", verdict="allow")
           if "blob" in r["host"]], [], "dials of it")
    s.rm().ok()
