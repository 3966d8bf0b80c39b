"""A policy that is learned from a run lets the same run through."""
from harness.claims import claim, contains, equal, lacks, until
from harness.origins import Nginx
from harness.world import World

NAMES = {"web.example.com": "10.201.0.10", "api.example.com": "10.201.0.10",
         "secret.example.com": "10.201.0.10"}

NOTHING = """\
[policy]
version = 1

[allow web]
host   = web.example.com
method = GET
path   = /known
"""
CEILING = """\
[policy]
version = 1

[allow most]
host = web.example.com, api.example.com
"""

RUN = [("GET", "https://web.example.com/known"),
       ("GET", "https://web.example.com/more?x=1"),
       ("HEAD", "https://web.example.com/more"),
       ("POST", "https://api.example.com/v1/items"),
       *[("GET", f"https://api.example.com/v1/files/{i}") for i in range(12)]]


def statuses(s):
    return [s.curl("-o", "/dev/null", "-w", "%{http_code}",
                   *(["-I"] if method == "HEAD" else ["-X", method]), url).out
            for method, url in RUN]


@claim("learn: the policy of a run that was denied lets it through, and no more")
def _():
    w = World(NAMES, ceiling=CEILING)
    cert, key = w.authority.issue(*NAMES)
    w.own(Nginx(w.net, f"{w.folder}/nginx", f"""
      server {{ listen 10.201.0.10:443 ssl; ssl_certificate {cert};
        ssl_certificate_key {key}; location / {{ return 200 "ok\\n"; }} }}"""))
    s = w.sandbox(NOTHING)
    got = statuses(s)
    equal(got, ["200"] + ["403"] * (len(RUN) - 1), "before")
    contains(s.curl("-i", "https://secret.example.com/").out, "no-rule", "secret")
    until(lambda: len(w.audit(s.name, event="request")) == len(RUN) + 1, 5,
          "records of all")
    learned = w.cli("learn", s.name).ok().out
    contains(learned, "path    = /v1/files/** ; 12, 12 paths\n", learned)
    contains(learned, "path    = /known ; 1\n", learned)
    path = w.file("learned.ini", learned)
    w.cli("check", path).ok()
    again = w.sandbox(learned)
    equal(statuses(again), ["200"] * len(RUN), learned)
    equal(w.audit(again.name, event="request", verdict="deny"), [], "denials")
    for method, url in (("DELETE", "https://web.example.com/more"),
                        ("GET", "https://api.example.com/v2"),
                        ("POST", "https://web.example.com/known")):
        contains(again.curl("-i", "-X", method, url).out, "403", url)
    # What the ceiling stands against stays out of reach, learned or not.
    contains(again.curl("-i", "https://secret.example.com/").out, "ceiling-",
             learned)
    lacks(learned, "passthrough", learned)
