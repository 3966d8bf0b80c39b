"""Private CAs: who signs for a host is what [ca NAME] says, for origins and for
issuers, and nobody else; another file is taken up, and a bad one is not.
"""
import json

from harness.certs import Authority
from harness.claims import claim, contains, equal, lacks
from harness.origins import HeadsOrigin
from harness.world import World

CORP, PUBLIC, FAKE, LAB, ISSUER = (f"10.201.0.{n}" for n in range(60, 65))
NAMES = {"api.corp.example.com": CORP, "fake.corp.example.com": FAKE,
         "open.example.com": PUBLIC, "lab.corp.example.com": LAB,
         "both.lab.example.com": LAB, "issuer.corp.example.com": ISSUER}
POLICY = """\
[policy]
version = 1

[allow all]
host = *.corp.example.com, *.lab.example.com

[allow open]
host       = open.example.com
credential = minted
"""
MORE = """
[ca corp]
host = **.corp.example.com
file = {folder}/corp.pem

[ca lab]
host = *.lab.example.com
file = {folder}/corp.pem
only = no

[credential minted]
kind          = oauth2
token-url     = https://issuer.corp.example.com/token
client-id     = svc
client-secret = file:{folder}/token
host          = open.example.com
apply         = bearer
grant         = p-* user:root
"""
_world = {}


def copy(w, authority):
    """authority becomes the CA of [ca corp] and [ca lab]."""
    with open(authority.ca, encoding="ascii") as f:
        return w.file("corp.pem", f.read())


def world():
    if not _world:
        w = World(NAMES, start=False)
        corp, other = (Authority(f"{w.folder}/{n}") for n in ("corp", "other"))
        w.file("token", "canary-of-the-client", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(MORE.format(folder=w.folder))
        copy(w, corp)
        token = json.dumps({"access_token": "minted-value-0123456789",
                            "token_type": "bearer", "expires_in": 600})
        _world.update(
            w=w, corp=corp, other=other,
            api=w.own(HeadsOrigin(w, CORP, "api.corp.example.com", ca=corp)),
            fake=w.own(HeadsOrigin(w, FAKE, "fake.corp.example.com")),
            lab=w.own(HeadsOrigin(w, LAB, "lab.corp.example.com",
                                  "both.lab.example.com", ca=corp)),
            open=w.own(HeadsOrigin(w, PUBLIC, "open.example.com")),
            issuer=w.own(HeadsOrigin(
                w, ISSUER, "issuer.corp.example.com", ca=corp,
                body=token.encode(), media="application/json")))
        w.start()
        _world["s"] = w.sandbox(POLICY, f"p-{w.id}")
    return _world["w"], _world["s"]


def refused(s, host):
    contains(s.curl("-i", f"https://{host}/").out.lower(),
             "tapward-reason: origin-tls")


@claim("private CA: its hosts are believed by it and by no public one, and no other host is; so are issuers")
def _():
    _, s = world()
    for host in ("api.corp.example.com", "lab.corp.example.com",
                 "both.lab.example.com"):
        equal(s.curl(f"https://{host}/").ok().out, "ok\n", host)
    refused(s, "fake.corp.example.com")
    equal(_world["fake"].heads, [])
    # Asks the issuer first.
    s.curl("https://open.example.com/").ok()
    contains(_world["open"].heads[-1], "Bearer minted-value-0123456789")
    equal(_world["issuer"].connections, 1)


@claim("private CA: explain and doctor tell whom a host is believed by, and until when")
def _():
    w, _ = world()
    policy = w.file("p.ini", POLICY)
    explain = lambda host, *more: w.cli(
        "explain", "--policy", policy, "--config", w.config, *more,
        f"https://{host}/").ok().out
    contains(explain("api.corp.example.com"), f"{w.folder}/corp.pem alone")
    contains(explain("both.lab.example.com"), "or a public one")
    lacks(explain("open.example.com"), "corp.pem")
    equal(json.loads(explain("api.corp.example.com", "--json"))["ca"]["name"],
          "corp")
    rows = json.loads(w.cli("doctor", "--config", w.config, "--json").out)
    found = [r for r in rows if r["row"] == "private CAs"]
    # It ends in two days.
    equal([r["level"] for r in found], ["warn", "warn"])
    contains(found[0]["found"], "[ca corp]")


@claim("private CA: a file that is missing or broken fails the reload with its line, and all stays as it was")
def _():
    w, s = world()
    with open(w.config, encoding="ascii") as f:
        text = f.read()
    line = text.split("\n").index("[ca corp]") + 1
    w.file("tapward.ini", text.replace("/corp.pem", "/gone.pem", 1))
    got = w.cli("reload", "--host")
    equal(got.code != 0, True)
    contains(got.err, f"{w.config}:{line + 2}: [ca corp] file")
    w.file("tapward.ini", text)
    w.file("corp.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n"
           "-----END CERTIFICATE-----\n")
    got = w.cli("reload", "--host")
    equal(got.code != 0, True)
    contains(got.err, f"{w.config}:{line}: [ca corp] file {w.folder}/corp.pem: "
             "what begins on line 1 is no certificate")
    s.curl("https://api.corp.example.com/").ok()
    refused(s, "fake.corp.example.com")
    copy(w, _world["corp"])
    w.cli("reload", "--host").ok()


@claim("private CA: another one is taken up, and a connection that the old one vouched for serves nothing more")
def _():
    w, s = world()
    api = _world["api"]
    s.curl("https://api.corp.example.com/").ok()
    s.curl("https://api.corp.example.com/").ok()
    before, asked = api.connections, len(api.heads)
    copy(w, _world["other"])
    w.cli("reload", "--host").ok()
    refused(s, "api.corp.example.com")
    equal((api.connections, len(api.heads)), (before, asked))
    # The broker's, too: its next question finds no issuer.
    s.reload(POLICY)
    issuer = _world["issuer"]
    asked = len(issuer.heads)
    w.file("token", "another-client", 0o600)
    w.cli("reload", "--host").ok()
    contains(s.curl("-i", "https://open.example.com/").out.lower(),
             "tapward-reason: credential-unavailable")
    equal(len(issuer.heads), asked)
    copy(w, _world["corp"])
    w.cli("reload", "--host").ok()
    s.curl("https://api.corp.example.com/").ok()
