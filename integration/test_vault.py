"""Secrets of Vault: read with a token for each sandbox, renewed while it lives,
gone with all that was made when it ends.
"""
import base64
import json
import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor

from harness import canary, shell
from harness.claims import claim, contains, equal, lacks, until
from harness.node import environment
from harness.origins import HeadsOrigin
from harness.vault import JSON, Vault
from harness.world import World

ORIGIN, VAULT, NOBODY = "10.201.0.33", "10.201.0.34", "10.201.0.35"
SECRET = "canary-of-the-login"
KV, OLD = "secret/data/ci/npm", "kv/ci/old"
TTL = 4


def auth(policies, life):
    return json.dumps({"auth": {
        "client_token": "hvs.whatever", "accessor": "a", "policies": policies,
        "token_policies": policies, "lease_duration": life, "renewable": True,
        "token_type": "service"}})


def say(status, body="", fields=JSON):
    return (f"HTTP/1.1 {status}\r\n{fields}Content-Length: {len(body)}\r\n"
            f"Connection: close\r\n\r\n{body}").encode()


# What a Vault of this name answers to everything, and what a guest reads of it.
BAD = {
    "slow": (None, "issuer-slow"),
    "limit": (say("429 Too Many", fields="Retry-After: 60\r\n"),
              "issuer-rate-limit"),
    "sealed": (say("503 Sealed", '{"errors":["Vault is sealed"]}'),
               "issuer-error"),
    "garbage": (b"\x16\x03\x01 hvs.whatever\r\n\r\n", "issuer-bad-answer"),
    "redirect": (say("307 Other", fields=f"Location: https://{VAULT}/v1/x\r\n"),
                 "issuer-bad-answer"),
    "large": (say("200 OK", '{"x":"' + "a" * (1 << 20) + '"}'),
              "issuer-bad-answer"),
    "page": (say("200 OK", auth(["ci"], 60), "Content-Type: text/html\r\n"),
             "issuer-bad-answer"),
    "wrapped": (say("200 OK", '{"auth":null,"wrap_info":{"token":"hvs.w"}}'),
                "issuer-bad-answer"),
    "ended": (say("200 OK", auth(["ci"], 0)), "issuer-sent-expired"),
    "wide": (say("200 OK", auth(["ci", "admin"], 60)),
             "issuer-sent-wider-scope"),
}
KINDS = {
    "approle": """auth = approle
role-id = r-1
secret-id = file:{secret}
mount = secret
secret = ci/npm
field = token
apply = bearer""",
    "kube": """auth = kubernetes
auth-role = tapward
jwt = file:{secret}
engine = dynamic
mount = database
secret = creds/agent
field = password
user-field = username
apply = basic:nobody""",
    "jwt": """auth = jwt
auth-mount = jwt/ci
auth-role = tapward
namespace = team/a
jwt = file:{secret}
mount = secret
secret = ci/npm
field = token
apply = header:x-api-key""",
    "token": """auth = token
auth-token = file:{token}
token-role = ci
engine = kv1
mount = kv
secret = ci/old
field = token
apply = raw""",
}
BARE = """auth = token
auth-token = file:{token}
mount = secret
secret = ci/npm
field = token
apply = bearer"""

NAMES = {"vault.example.com": VAULT,
         **{f"{name}-vault.example.com": VAULT for name in BAD},
         **{f"{name}.example.com": ORIGIN for name in KINDS},
         **{f"{name}.example.com": NOBODY for name in BAD}}
POLICY = "[policy]\nversion = 1\n" + "".join(f"""
[allow {name}]
host       = {name}.example.com
credential = {name}
""" for name in (*KINDS, *BAD))

_world = {}


def definition(name, keys, vault):
    return f"""
[credential {name}]
kind         = vault
vault-url    = https://{vault}
vault-policy = ci
duration     = {TTL}s
host         = {name}.example.com
grant        = ci-* user:root
{keys}
"""


def world():
    if not _world:
        w = World(NAMES, start=False)
        may = {"auth/token/create", "auth/token/create/ci"}
        vault = w.own(Vault(
            w, VAULT, "vault.example.com", ttl=TTL,
            policies={"broker": may, "ci": {KV, OLD, "database/creds/agent"}},
            logins={("approle", "r-1", SECRET): ("", ["broker", "ci"]),
                    ("kubernetes", "tapward", SECRET): ("", ["broker", "ci"]),
                    ("jwt/ci", "tapward", SECRET): ("team/a", ["broker", "ci"])},
            kv={KV: {"token": "first-of-kv-two"}, OLD: {"token": "of-kv-one"}},
            modes={f"{name}-vault.example.com": row[0]
                   for name, row in BAD.items()}))
        files = {"secret": w.file("login", SECRET + "\n", 0o600),
                 "token": w.file("token", vault.root.id + "\n", 0o600)}
        with open(w.config, "a", encoding="ascii") as f:
            for name, keys in KINDS.items():
                f.write(definition(name, keys.format(**files),
                                   "vault.example.com"))
            for name in BAD:
                f.write(definition(name, BARE.format(**files),
                                   f"{name}-vault.example.com"))
        origin, nobody = (
            w.own(HeadsOrigin(w, address, *(f"{n}.example.com" for n in names)))
            for address, names in ((ORIGIN, KINDS), (NOBODY, BAD)))
        w.start()
        s = w.sandbox(POLICY, "ci-vault")
        # One of them takes its time, in which the others are looked at.
        pool = ThreadPoolExecutor(len(BAD))
        bad = {name: pool.submit(s.curl, "-i", f"https://{name}.example.com/")
               for name in BAD}
        pool.shutdown(wait=False)
        _world.update(w=w, vault=vault, origin=origin, s=s, bad=bad,
                      nobody=nobody)
    return _world["w"], _world["vault"], _world["origin"], _world["s"]


def sent(s, origin, name, field="authorization"):
    """What the origin is sent now."""
    del origin.heads[:]
    got = s.curl("-H", "Authorization: Bearer of-the-guest",
                 f"https://{name}.example.com/")
    equal(got.out, "ok\n", repr(got))
    found = re.search(rf"{field}: ([^\r]*)\r\n", origin.heads[0], re.I)
    assert found, origin.heads[0]
    lacks(origin.heads[0], "of-the-guest")
    return found.group(1)


def is_revoked(token):
    return token.revoked or (token.parent is not None and is_revoked(token.parent))


CLIENT = """
const vault = require('node-vault');
const commands = require('node-vault/src/commands.js');
const tv4 = require('tv4');
const [address, name, ca, secret] = process.argv.slice(1);
const options = { endpoint: `https://${address}`, requestOptions: {
  agentOptions: { servername: name, ca: require('fs').readFileSync(ca) } } };
const status = (p) => p.then(() => 200, (e) => e.response.statusCode);
(async () => {
  const out = {};
  // It goes on with each token that it gets.
  const by = (answer) => vault({ ...options, token: answer.auth.client_token });
  const login = await vault(options).approleLogin(
    { role_id: 'r-1', secret_id: secret });
  const made = await by(login).tokenCreate({ policies: ['ci'], ttl: '60s',
    renewable: true, display_name: 'x', meta: { by: 'node-vault' } });
  out.schema = [login, made].every((a) => tv4.validate(a,
    commands.tokenCreate.schema.res));
  out.wider = await status(by(login).tokenCreate({ policies: ['root'] }));
  const child = by(made);
  out.look = (await child.tokenLookupSelf()).data;
  out.ttl = (await child.tokenRenewSelf({ increment: '30s' })).auth.lease_duration;
  out.two = (await child.read('secret/data/ci/npm')).data;
  out.one = (await child.read('kv/ci/old')).data;
  out.lent = await child.read('database/creds/agent');
  out.again = await child.write('sys/leases/renew',
    { lease_id: out.lent.lease_id, increment: 2 });
  out.none = await status(child.read('secret/data/other'));
  await by(login).tokenRevokeSelf();
  out.gone = await status(child.tokenLookupSelf());
  out.wrong = await status(vault(options).approleLogin(
    { role_id: 'r-1', secret_id: 'x' }));
  console.log(JSON.stringify(out));
})();
"""


@claim("vault: a client that nobody here wrote (node-vault) takes the double for a Vault")
def _():
    w, vault, _, _ = world()
    plain = {k: v for k, v in os.environ.items()
             if not k.lower().endswith("_proxy")}
    got = shell.run(w.net.plain(
        ["node", "-e", CLIENT, VAULT, "vault.example.com", w.authority.ca,
         SECRET]), env=environment(plain)).ok()
    out = json.loads(got.out)
    assert out["schema"], got.out
    equal(out["look"]["policies"], ["ci", "default"])
    equal(out["look"]["meta"], {"by": "node-vault"})
    equal((out["ttl"], out["wider"], out["none"], out["gone"], out["wrong"]),
          (30, 400, 403, 403, 400))
    equal(out["two"]["data"], {"token": "first-of-kv-two"})
    equal(out["one"], {"token": "of-kv-one"})
    assert out["lent"]["lease_id"].startswith("database/creds/agent/"), got.out
    equal((out["again"]["lease_id"], out["again"]["lease_duration"]),
          (out["lent"]["lease_id"], 2))
    equal(vault.faults, [])


@claim("vault: AppRole, JWT, Kubernetes and a token; KV 1 and 2, and what is made and lent, each in its field")
def _():
    w, vault, origin, s = world()
    equal(sent(s, origin, "approle"), "Bearer first-of-kv-two")
    equal(sent(s, origin, "jwt", "x-api-key"), "first-of-kv-two")
    equal(sent(s, origin, "token"), "of-kv-one")
    user, _, word = base64.b64decode(
        sent(s, origin, "kube").removeprefix("Basic ")).decode().partition(":")
    assert user.startswith("v-") and word.startswith("made-"), (user, word)
    made = vault.made(s.name)
    equal(sorted(t.meta["tapward_credential"] for t in made), sorted(KINDS))
    for token in made:
        equal(token.policies, ["ci", "default"])
    equal(vault.faults, [])


@claim("vault: token and lease are renewed while the sandbox uses them, and a stored secret is read anew")
def _():
    _, vault, origin, s = world()
    logins = vault.times("auth/approle/login")
    first = sent(s, origin, "kube")
    leases = vault.times("sys/leases/renew")
    vault.kv[KV] = {"token": "second-of-kv-two"}
    until(lambda: sent(s, origin, "approle") == "Bearer second-of-kv-two" and
          sent(s, origin, "kube") == first and
          vault.times("sys/leases/renew") > leases, 2 * TTL,
          "the changed secret, and a lease that was renewed")
    equal(vault.times("auth/approle/login"), logins, "logins")
    # The most that they may live is reached: there are others.
    vault.grow_old()
    until(lambda: sent(s, origin, "approle") and
          vault.times("auth/approle/login") > logins, 2 * TTL, "another login")
    equal(vault.faults, [])


@claim("vault: one that is slow, limits, is sealed, talks garbage, leads elsewhere, talks 1 MiB, gives what has ended or may do more: the guest reads which, and no more")
def _():
    world()
    for name, future in _world["bad"].items():
        got = future.result(30)
        contains(got.out.lower(), "tapward-reason: credential-unavailable",
                 repr(got))
        contains(got.out, BAD[name][1], name)
        contains(got.out, f"now: {name}: ")
        for word in ("-vault.example", "hvs.", "errors", VAULT, SECRET):
            lacks(got.out, word, name)
    equal(_world["nobody"].heads, [])


@claim("vault: rm ends the login and the token, and what was made with them")
def _():
    w, vault, origin, _ = world()
    s = w.sandbox(POLICY, "ci-gone")
    for name in KINDS:
        sent(s, origin, name, "x-api-key" if name == "jwt" else "authorization")
    mine = vault.made(s.name)
    leases = [lease for t in mine for lease in t.leases.values()]
    assert len(mine) == len(KINDS) and leases and leases[0].lives()
    assert not any(is_revoked(t) for t in mine)
    s.rm().ok()
    until(lambda: all(is_revoked(t) for t in mine), 10, "all are revoked")
    assert not leases[0].lives()
    assert not vault.root.revoked, "the token that was only lent to us"


def broker_pid(w):
    status = json.loads(w.cli("status", "--json").ok().out)
    return next(p["pid"] for p in status["processes"] if p["role"] == "broker")


@claim("vault: what a broker had made is revoked when it is killed, is told to end, and when all start anew with its journal left over")
def _():
    w, vault, origin, s = world()

    def all_killed(broker):
        os.kill(w.daemon.pid, signal.SIGKILL)
        w.daemon.wait()
        os.kill(broker, signal.SIGKILL)
        w.start()

    for end in (lambda pid: os.kill(pid, signal.SIGKILL),
                lambda pid: os.kill(pid, signal.SIGTERM), all_killed):
        until(lambda: s.curl("https://token.example.com/").out == "ok\n", 10,
              "a broker mints")
        sent(s, origin, "approle")
        mine = [t for t in vault.made(s.name) if not is_revoked(t) and
                t.lives() and
                t.meta["tapward_credential"] in ("token", "approle")]
        assert len(mine) >= 2, vault.asked[-20:]
        end(broker_pid(w))
        until(lambda: all(is_revoked(t) for t in mine), 10, "all are revoked")
    for name in ("broker-journal-0", "broker-journal-1"):
        with open(f"{w.folder}/state/{name}", "rb") as f:
            lacks(f.read().decode("latin-1"), "hvs.")
    lacks(w.log_text(), "hvs.")
    lacks(w.log_text(), SECRET)
    equal(vault.faults, [])


@claim("vault: no process but the broker holds login, tokens or leases, none but it and the sandbox's gate a secret")
def _():
    w, vault, origin, s = world()
    until(lambda: s.curl("https://token.example.com/").out == "ok\n", 10,
          "a broker mints")
    value = sent(s, origin, "approle").removeprefix("Bearer ")
    tokens = [t.id for t in vault.made(s.name) if t.lives()]
    return canary.search(w, [s], [SECRET, vault.root.id, *tokens], [value])


@claim("vault: the world of its secrets ends and leaves nothing")
def _():
    w, _, _, _ = world()
    w.close()
    _world.clear()
