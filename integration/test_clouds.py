"""Tokens of Google Cloud and of Microsoft Entra, that live seconds."""
import re
import time

from harness import canary, shell
from harness.claims import claim, contains, equal, lacks, until
from harness.clouds import Entra, Google, key_pair, opened
from harness.origins import HeadsOrigin
from harness.world import World

ORIGIN, GOOGLE, ENTRA = "10.201.0.60", "10.201.0.61", "10.201.0.62"
HOSTS = ("gcs", "pubsub", "cut", "arm", "graph", "wrong")
NAMES = {**{f"{h}.example.com": ORIGIN for h in HOSTS},
         **{f"{n}.google.example.com": GOOGLE for n in ("token", "iam", "sts")},
         "login.example.com": ENTRA}
TTL = 6
TENANT = "8c4f3b1e-0000-4a4a-9b9b-1d2e3f405162"
CLIENT = "11111111-2222-3333-4444-555555555555"
SECRET = "canary~of.the+application/%"
DEPLOY = "deploy@acme-prod.iam.gserviceaccount.com"
READ = "https://www.googleapis.com/auth/devstorage.read_only"
PUBSUB = "https://pubsub.googleapis.com/"
ARM = "https://management.azure.com/"

POLICY = "[policy]\nversion = 1\n" + "".join(
    f"[allow {h}]\nhost = {h}.example.com\npath = /**\ncredential = {h}\n"
    "encoded-slash = yes\n" for h in HOSTS)

GCP = """
[credential {{name}}]
kind      = gcp
key       = file:{key}
token-url = https://token.google.example.com/token
iam-url   = https://iam.google.example.com
sts-url   = https://sts.google.example.com/v1/token
host      = {{name}}.example.com
apply     = bearer
grant     = ci-* user:root
"""
AZURE = """
[credential {{name}}]
kind          = azure
authority-url = https://login.example.com
tenant        = {tenant}
client-id     = {client}
host          = {{name}}.example.com
apply         = bearer
grant         = ci-* user:root
"""

_world = {}


def config(w, google):
    """One credential for each host; wrong's secret is another."""
    key, certificate = f"{w.folder}/gcp.key", f"{w.folder}/azure.pem"
    gcp = GCP.format(key=w.file("gcp.json", google.key_json(key), 0o600))
    azure = AZURE.format(tenant=TENANT, client=CLIENT)
    secret = w.file("azure-secret", SECRET + "\n", 0o600)
    bad = w.file("azure-wrong", "canary-of-another\n", 0o600)
    return "".join((
        gcp.format(name="gcs"), f"scope = {READ}\n",
        gcp.format(name="pubsub"), f"self-signed = yes\naudience = {PUBSUB}\n",
        gcp.format(name="cut"), f"scope = {READ}\nimpersonate = {DEPLOY}\n"
        "duration = 5m\nbucket = acme-data/team/, acme-in\n",
        azure.format(name="arm"), f"scope = {ARM}.default\nkey = file:{w.folder}"
        f"/azure.key\ncertificate = file:{certificate}\n",
        azure.format(name="graph"), f"resource = {ARM}\nclient-secret = "
        f"file:{secret}\n",
        azure.format(name="wrong"), f"scope = {ARM}.default\nclient-secret = "
        f"file:{bad}\n"))


def world():
    if not _world:
        w = World(NAMES, start=False)
        _, public = key_pair(w, "gcp")
        key, _ = key_pair(w, "azure")
        certificate = w.file("azure.pem", "", 0o600)
        shell.run(["openssl", "req", "-x509", "-key", key, "-out", certificate,
                   "-days", "2", "-subj", "/CN=tapward"]).ok()
        google = w.own(Google(w, GOOGLE, "google.example.com", public, TTL))
        entra = w.own(Entra(w, ENTRA, "login.example.com", TENANT, CLIENT,
                            SECRET, certificate, TTL))
        origin = w.own(HeadsOrigin(w, ORIGIN, *[f"{h}.example.com"
                                                for h in HOSTS]))
        with open(w.config, "a", encoding="ascii") as f:
            f.write(config(w, google))
        w.start()
        _world.update(w=w, google=google, entra=entra, origin=origin,
                      s=w.sandbox(POLICY, "ci-clouds"))
    return (_world[k] for k in ("w", "google", "entra", "origin", "s"))


def token(s, origin, host, path="/x"):
    """The one that the origin is sent now."""
    del origin.heads[:]
    got = s.curl("-H", "Authorization: Bearer of-the-guest",
                 f"https://{host}.example.com{path}")
    equal(got.out, "ok\n", repr(got))
    found = re.search(r"authorization: Bearer (\S+)\r\n", origin.heads[0], re.I)
    assert found, origin.heads[0]
    lacks(origin.heads[0], "of-the-guest")
    return found.group(1)


def refused(server):
    """What the issuer found wrong in any question."""
    return [why for _, why in server.log if why]


@claim("gcp: a statement that openssl verifies is exchanged for a token, once while it lives, and again before it ends")
def _():
    _, google, _, origin, s = world()
    first = token(s, origin, "gcs")
    equal(google.issued[first]["scope"], READ)
    equal(token(s, origin, "gcs"), first)
    equal(len(google.log), 1)
    until(lambda: token(s, origin, "gcs") != first, 3 * TTL, "another token")
    assert token(s, origin, "gcs") in google.issued
    equal(refused(google), [])


@claim("gcp: a token that we sign ourselves is for one service, and no issuer is asked")
def _():
    w, google, _, origin, s = world()
    before = len(google.log)
    head, claims = opened(w, token(s, origin, "pubsub"), google.public)
    equal(head["kid"], google.key_id)
    equal((claims["iss"], claims["sub"], claims["aud"]),
          (google.email, google.email, PUBSUB))
    assert time.time() < claims["exp"] <= claims["iat"] + 3600
    equal(len(google.log), before)


@claim("gcp: another account's token, cut down to buckets: never the one before it, and of each sandbox its own")
def _():
    w, google, _, origin, s = world()
    mine = token(s, origin, "cut", "/storage/v1/b/acme-data/o/team%2Fa")
    what = google.issued[mine]
    equal((what["account"], what["scope"]), (DEPLOY, READ))
    rules = what["rules"]
    equal([r["availableResource"].rpartition("/")[2] for r in rules],
          ["acme-data", "acme-in"])
    equal([r["availablePermissions"] for r in rules],
          [["inRole:roles/storage.objectViewer"]] * 2)
    contains(rules[0]["availabilityCondition"]["expression"],
             "resource.name.startsWith("
             "'projects/_/buckets/acme-data/objects/team/')")
    assert "availabilityCondition" not in rules[1]
    other = w.sandbox(POLICY, "ci-other")
    assert token(other, origin, "cut") != mine
    other.rm().ok()
    equal(refused(google), [])
    # What mints is not reached with it.
    got = s.curl("-i", "https://cut.example.com/v1/projects/-/serviceAccounts/"
                 f"{DEPLOY}:generateAccessToken")
    contains(got.out, "credential-misuse", repr(got))


@claim("azure: an application proves itself by a certificate's key, or a secret, and gets another token before the end")
def _():
    _, _, entra, origin, s = world()
    first = token(s, origin, "arm")
    equal(entra.issued[first], f"{ARM}.default")
    equal(entra.issued[token(s, origin, "graph")], ARM)
    equal(token(s, origin, "arm"), first)
    equal(refused(entra), [])
    until(lambda: token(s, origin, "arm") != first, 3 * TTL, "another token")
    equal(refused(entra), [])


@claim("azure: an application that is refused: the guest reads the credential's name and the class, no more")
def _():
    w, _, entra, origin, s = world()
    del origin.heads[:]
    got = s.curl("-i", "https://wrong.example.com/x")
    contains(got.out, "issuer-refused", repr(got))
    contains(got.out, "wrong")
    equal(refused(entra), ["another secret"])
    for word in ("words of the issuer", "login.example.com", CLIENT, TENANT,
                 "canary"):
        lacks(got.out, word)
    equal(origin.heads, [])
    w.audited(s.name, event="lease", credential="wrong")


@claim("clouds: no process but the broker holds a key or an application's secret, none but it and the sandbox's gate a token")
def _():
    w, google, _, origin, s = world()
    lent = [token(s, origin, host) for host in ("graph", HOSTS[0])]
    with open(f"{w.folder}/gcp.key", encoding="ascii") as f:
        lines = f.read().splitlines()
    return canary.search(w, [s], [SECRET, *lines[1:-1]], lent)


@claim("the world of clouds ends and leaves nothing")
def _():
    w, google, entra, _, _ = world()
    with open(w.log, encoding="utf-8", errors="replace") as f:
        text = f.read()
    for secret in (SECRET, "canary-of-another", *google.issued, *entra.issued):
        lacks(text, secret)
    w.close()
    _world.clear()
