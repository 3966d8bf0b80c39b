"""Credentials that live seconds: minted by an OAuth 2.0 server that nobody
here wrote, refreshed before they end, given back with their sandbox.
"""
import json
import os
import re
import signal

from harness import canary, shell
from harness.claims import claim, contains, equal, lacks, until
from harness.oidc import Issuer
from harness.origins import HeadsOrigin
from harness.steady import Steady
from harness.world import World

ORIGIN, ISSUER = "10.201.0.30", "10.201.0.31"
NAMES = {"api.example.com": ORIGIN, "two.example.com": ORIGIN,
         "key.example.com": ORIGIN,
         "issuer.example.com": ISSUER}
SECRET = "canary-s3cr3t+/:%-of-the-client"
TTL = 6
CLIENTS = [
    {"client_id": "svc", "client_secret": SECRET,
     "grant_types": ["client_credentials"], "redirect_uris": [],
     "response_types": [], "scope": "read write",
     "token_endpoint_auth_method": "client_secret_basic"},
    {"client_id": "signer", "grant_types": ["client_credentials"],
     "redirect_uris": [], "response_types": [], "scope": "read write",
     "token_endpoint_auth_method": "private_key_jwt",
     "token_endpoint_auth_signing_alg": "ES256"},
]

POLICY = """\
[policy]
version = 1

[allow api]
host       = api.example.com
credential = api

[allow two]
host       = two.example.com
credential = two

[allow key]
host       = key.example.com
credential = key
"""

CREDENTIAL = """
[credential api]
kind          = oauth2
token-url     = https://issuer.example.com/token
revoke-url    = https://issuer.example.com/token/revocation
client-id     = svc
client-secret = file:{file}
scope         = read, write
host          = api.example.com
apply         = bearer
grant         = ci-* user:root

[credential key]
kind        = oauth2
token-url   = https://issuer.example.com/token
client-id   = signer
client-auth = private_key_jwt
key         = file:{key}
host        = key.example.com
apply       = bearer
grant       = ci-* user:root

[credential two]
kind          = oauth2
token-url     = https://issuer.example.com/nothing-here
client-id     = svc
client-secret = file:{file}
host          = two.example.com
apply         = bearer
grant         = ci-* user:root
"""

_world = {}


def world():
    if not _world:
        w = World(NAMES, start=False)
        key = w.file("client-key", "", 0o600)
        shell.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt",
                   "ec_paramgen_curve:P-256", "-out", key]).ok()
        CLIENTS[1]["public_key"] = f"{w.folder}/client-key.pub"
        shell.run(["openssl", "pkey", "-in", key, "-pubout", "-out",
                   CLIENTS[1]["public_key"]]).ok()
        issuer = w.own(Issuer(w, "issuer.example.com", ISSUER, CLIENTS, TTL))
        origin = w.own(HeadsOrigin(w, ORIGIN, "api.example.com",
                                   "two.example.com", "key.example.com"))
        secret = w.file("client-secret", SECRET + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(CREDENTIAL.format(file=secret, key=key))
        w.start()
        _world.update(w=w, issuer=issuer, origin=origin,
                      s=w.sandbox(POLICY, "ci-mint"))
    return _world["w"], _world["issuer"], _world["origin"], _world["s"]


def token(s, origin, host="api"):
    """The one that the origin is sent now."""
    del origin.heads[:]
    got = s.curl("-H", "Authorization: Bearer of-the-guest",
                 f"https://{host}.example.com/")
    equal(got.out, "ok\n", repr(got))
    found = re.search(r"authorization: Bearer (\S+)\r\n", origin.heads[0], re.I)
    assert found, origin.heads[0]
    lacks(origin.heads[0], "of-the-guest")
    return found.group(1)


@claim("oauth2: a token is minted on first use, used while it lives, and another one when it has ended")
def _():
    _, issuer, origin, s = world()
    first = token(s, origin)
    assert issuer.is_active(first, "svc", SECRET)
    equal(token(s, origin), first)
    equal(issuer.count("/token"), 1)
    until(lambda: token(s, origin) != first, 3 * TTL, "another token")
    assert issuer.is_active(token(s, origin), "svc", SECRET)
    w, _, _, _ = world()
    for word in ("mint", "refresh"):
        assert any(re.fullmatch(f"{word} fp=[0-9a-f]{{8}}",
                                r.get("detail", ""))
                   for r in w.audit(s.name, event="lease")), word


@claim("oauth2: a client that proves itself by a key of its own (private_key_jwt)")
def _():
    _, issuer, origin, s = world()
    assert issuer.is_active(token(s, origin, "key"), "svc", SECRET)


@claim("oauth2: an issuer that refuses, and one that is gone: the guest reads the credential's name and the class, no more")
def _():
    _, issuer, origin, s = world()
    del origin.heads[:]
    got = s.curl("-i", "https://two.example.com/")
    contains(got.out.lower(), "tapward-reason: credential-unavailable", repr(got))
    contains(got.out, "issuer-refused")
    contains(got.out, "two")
    for word in ("issuer.example.com", "nothing-here", "svc", SECRET, ISSUER):
        lacks(got.out, word)
    equal(origin.heads, [])
    issuer.stop()

    def is_refused():
        got = s.curl("-i", "https://api.example.com/")
        return "issuer-unreachable" in got.out and got

    got = until(is_refused, 3 * TTL, "the last token has ended")
    contains(got.out, "api")
    lacks(got.out, ISSUER)
    issuer.start()
    until(lambda: s.curl("https://api.example.com/").out == "ok\n", 30,
          "the circuit closes")


@claim("oauth2: rm gives the token back: the issuer itself says that it is worth nothing")
def _():
    w, issuer, origin, _ = world()
    s = w.sandbox(POLICY, "ci-gone")
    mine = token(s, origin)
    assert issuer.is_active(mine, "svc", SECRET)
    s.rm().ok()
    until(lambda: not issuer.is_active(mine, "svc", SECRET), TTL - 2,
          "the token is revoked")
    assert issuer.count("/token/revocation") > 0


def broker_pid(w):
    status = json.loads(w.cli("status", "--json").ok().out)
    return next(p["pid"] for p in status["processes"] if p["role"] == "broker")


@claim("oauth2: a token that its origin refuses is replaced, and the request sent again, unseen by the guest")
def _():
    w, issuer, origin, s = world()
    mine, minted = token(s, origin), issuer.count("/token")
    origin.refuses.add(mine)
    codes = []
    del origin.heads[:]
    url = "https://api.example.com/"
    for argv in ([], ["-X", "DELETE"], []):
        codes.append(s.curl(*argv, "-w", "%{http_code}", url).out)
    equal(codes, ["ok\n200"] * 3)
    sent = [re.search(r"authorization: Bearer (\S+)\r\n", head, re.I).group(1)
            for head in origin.heads]
    fresh = sent[-1]
    equal(sent, [mine] + [fresh] * 3)
    assert fresh != mine and not issuer.is_active(mine, "svc", SECRET)
    equal(issuer.count("/token") - minted, 1)
    # Not twice in half a minute: then it is the guest's affair.
    origin.refuses.add(fresh)
    equal(s.curl("-w", "%{http_code}", url).out, "no\n401")
    equal(issuer.count("/token") - minted, 1)
    origin.refuses.clear()


KILLS = 3


@claim("oauth2: the broker is killed under traffic: no request fails, those that need a credential wait for the next one")
def _():
    w, _, _, s = world()
    steady = w.own(Steady(w, s, "api.example.com", "/"))
    for _ in range(KILLS):
        pid = broker_pid(w)
        os.kill(pid, signal.SIGKILL)
        until(lambda: broker_pid(w) not in (0, pid), 10, "another broker")
        steady.more(4)
    # connect-timeout bounds it; a broker is there again long before.
    return f"{KILLS} kills, {steady.stop(5)}"


@claim("oauth2: what a broker had minted is given back when it is killed, and when it is told to end")
def _():
    w, issuer, origin, s = world()
    for signo in (signal.SIGKILL, signal.SIGTERM):
        mine = token(s, origin)
        assert issuer.is_active(mine, "svc", SECRET)
        pid = broker_pid(w)
        os.kill(pid, signo)
        until(lambda: not issuer.is_active(mine, "svc", SECRET), TTL - 2,
              "the token is revoked")
        until(lambda: s.curl("https://api.example.com/").out == "ok\n", 10,
              "another token from another broker")
        assert broker_pid(w) != pid
    for name in ("broker-journal-0", "broker-journal-1"):
        path = f"{w.folder}/state/{name}"
        equal(os.stat(path).st_mode & 0o777, 0o600)
        with open(path, "rb") as f:
            lacks(f.read().decode("latin-1"), mine)


@claim("oauth2: no process but the broker holds what proves us, none but it and the sandbox's gate a token")
def _():
    w, issuer, origin, s = world()
    until(lambda: s.curl("https://api.example.com/").out == "ok\n", 10,
          "a broker mints")
    return canary.search(w, [s], [SECRET], [token(s, origin)])


@claim("oauth2: the world of minted credentials ends and leaves nothing")
def _():
    w, _, _, _ = world()
    w.close()
    _world.clear()
