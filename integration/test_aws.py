"""Keys of AWS: clients in a sandbox sign with a placeholder, and an origin that
recomputes every signature with botocore sees the real key's."""
import datetime
import json
import os
import secrets

from harness import memory
from harness.aws import AwsOrigin
from harness.claims import claim, contains, equal, lacks, until
from harness.node import environment
from harness.world import World

SERVICES = ("s3", "dynamodb", "lambda", "sts")
NAMES = {f"{s}.example.com": "10.201.0.10" for s in SERVICES}
NAMES["issuer.example.com"] = "10.201.0.11"
HERE = os.path.dirname(os.path.abspath(__file__))

KEY = ("AKIAREALKEY000000000", secrets.token_urlsafe(30), None)
SESSION = ("ASIASESSION000000000", secrets.token_urlsafe(30),
           secrets.token_urlsafe(90))

POLICY = "[policy]\nversion = 1\n" + "".join(f"""
[allow {s}]
host = {s}.example.com
credential = {{}}
""" for s in SERVICES)

CREDENTIAL = """
[credential {name}]
kind    = aws
value   = file:{folder}/aws
region  = eu-west-1
service = s3, dynamodb, lambda, sts
host    = s3.example.com, dynamodb.example.com, lambda.example.com, sts.example.com
grant   = {name}-*
"""
ROLE = """\
role     = arn:aws:iam::123456789012:role/agent
sts-url  = https://issuer.example.com/
session-policy = file:{folder}/session.json
external-id = the-tests
"""
PROCESS = """
[credential process]
kind    = aws
command = {folder}/key
region  = eu-west-1
service = s3, dynamodb, lambda, sts
host    = s3.example.com, dynamodb.example.com, lambda.example.com, sts.example.com
grant   = process-*
"""
# What a credential_process is: each run says another key, and ends soon.
PROGRAM = """#!/bin/sh
printf '{{"Version": 1, "AccessKeyId": "%s", "SecretAccessKey": "%s",
"SessionToken": "%s", "Expiration": "%s"}}' {key} "$(date -u -d '+{life} seconds' +%FT%TZ)"
"""
SESSION_POLICY = '{"Version": "2012-10-17", "Statement": []}'

# What each gives, and in which form it reaches the origin: (form, service).
GOOD = {
    "put_bytes": ('"e"', "header", "s3"),
    "put_signed_payload": ('"e"', "header", "s3"),
    "put_stream": ('"e"', "header", "s3"),
    "get": ("0123456789", "header", "s3"),
    "get_range": ("56789", "header", "s3"),
    "list_objects": ("b", "header", "s3"),
    "part": ('"e"', "header", "s3"),
    "dynamodb": (200, "header", "dynamodb"),
    "invoke": ('{"did": true}', "header", "lambda"),
    "identity": ("123456789012", "header", "sts"),
    "presigned_get": ("0123456789", "query", "s3"),
    "presigned_put": ("", "query", "s3"),
    "presigned_identity": ("<GetCallerIdentityResponse>"[:26], "query", "sts"),
    "chunks": ("", "header", "s3"),
}
# The same of AWS's own SDK for node, and how it tells of the payload.
TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
GOOD_NODE = {
    "put_bytes": ('"e"', "header", "s3"),
    "put_stream": ('"e"', "header", "s3"),
    "get": ("0123456789", "header", "s3"),
    "dynamodb": (200, "header", "dynamodb"),
    "invoke": ('{"did": true}', "header", "lambda"),
    "identity": ("123456789012", "header", "sts"),
    "presigned_get": ("0123456789", "query", "s3"),
}
# What the guest, and the audit log, reads of each that is refused.
BAD = {
    "assume": "the answer to this action holds keys",
    "token": "the answer to this action holds keys",
    "presigned_version_2": "signature version 2 is not taken",
    "presigned_changed": "does not fit the placeholder's key",
    "other_key": "another key than the credential's placeholder",
    "other_secret": "does not fit the placeholder's key",
    "other_region": "region",
    "not_signed": "not-signed",
}

_world = {}


def world():
    if not _world:
        w = World(NAMES, start=False)
        w.file("aws", f"[default]\naws_access_key_id = {KEY[0]}\n"
               f"aws_secret_access_key = {KEY[1]}\n", 0o600)
        w.file("session.json", SESSION_POLICY, 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(CREDENTIAL.format(name="key", folder=w.folder))
            f.write(CREDENTIAL.format(name="role", folder=w.folder)
                    + ROLE.format(folder=w.folder))
            f.write(PROCESS.format(folder=w.folder))
        w.file("key", PROGRAM.format(key=" ".join(SESSION), life=12), 0o755)
        origin = AwsOrigin(w, "10.201.0.10", [f"{s}.example.com" for s in SERVICES], KEY)
        issuer = AwsOrigin(w, "10.201.0.11", ["issuer.example.com"], KEY)
        w.start()
        _world.update(w=w, origin=origin, issuer=issuer)
    for origin in (_world["origin"], _world["issuer"]):
        origin.take()
        origin.session = None
    return _world["w"], _world["origin"], _world["issuer"]


def sandbox(name):
    key = f"of {name}"
    if key not in _world:
        w = _world["w"]
        _world[key] = w.sandbox(POLICY.replace("{}", name), f"{name}-{w.id}")
    return _world[key]


def calls(s, *names):
    """What guest.py says of each of them."""
    env = {**s.env, "PYTHONPATH": ""}
    out = s.run(["/usr/bin/python3", f"{HERE}/aws/guest.py", *names], env=env,
                timeout=100).ok().out
    return json.loads(out)


def check_good(s, origin, token):
    got = calls(s, *GOOD)
    seen = origin.take()
    for name, (want, _, _) in GOOD.items():
        equal(got[name], ["ok", want], f"{name}, {[r.fault for r in seen]}")
    for r in seen:
        equal(r.fault, "", repr(r))
        equal(r.fields.get("x-amz-security-token",
                           token if r.form == "query" else None), token, repr(r))
    equal([(r.form, r.service) for r in seen],
          [(form, service) for _, form, service in GOOD.values()])
    equal(seen[0].decoded, b"x" * 200000)
    equal(seen[-1].decoded, b"0" * 65536 + b"1" * 65536 + b"2" * 65536 + b"tail")
    equal(seen[-1].chunks, 5)
    return len(seen)


@claim("aws: calls of botocore with a placeholder reach their origin signed with the real key")
def _():
    _, origin, _ = world()
    s = sandbox("key")
    contains(s.env["AWS_ACCESS_KEY_ID"], "AKIA")
    equal(len(s.env["AWS_ACCESS_KEY_ID"]), 20)
    equal(len(s.env["AWS_SECRET_ACCESS_KEY"]), 40)
    equal(s.env["AWS_DEFAULT_REGION"], "eu-west-1")
    for value in s.env.values():
        lacks(value, KEY[1])
    count = check_good(s, origin, None)
    return f"{count} requests verify at an origin that recomputes them"


@claim("aws: its own SDK for node signs with a placeholder, streams with a trailer, and is taken for the real key's holder")
def _():
    w, origin, _ = world()
    s = sandbox("key")
    out = s.run(["node", f"{HERE}/aws/guest.js"], env=environment(s.env),
                timeout=100).ok().out
    lacks(out, KEY[1])
    got = json.loads(out)
    seen = origin.take()
    equal([r.fault for r in seen], [""] * len(GOOD_NODE), repr(seen))
    for name, (want, _, _) in GOOD_NODE.items():
        equal(got[name], ["ok", want], name)
    equal([(r.form, r.service) for r in seen],
          [(form, service) for _, form, service in GOOD_NODE.values()])
    equal(seen[0].decoded, b"x" * 200000)
    equal(seen[1].fields["x-amz-content-sha256"], TRAILER)
    equal(seen[1].decoded, b"z" * 300000)
    contains(seen[1].trailer.decode(), "x-amz-checksum-")
    return f"{len(seen)} requests"


@claim("row 119: what is changed, of another key, version or region, not signed, or mints is refused")
def _():
    _, origin, _ = world()
    s = sandbox("key")
    got = calls(s, *BAD, "chunks_changed")
    for name, want in BAD.items():
        lacks(got[name][0], "ok", name)
        found = s.world.audit(s.name, event="request", reason="credential-misuse") \
            + s.world.audit(s.name, event="lease", reason="credential-misuse")
        contains(" ".join(r.get("detail", "") for r in found), want, f"{name}: {got[name]}")
    for name in ("presigned_changed", "not_signed", "other_region"):
        equal(got[name][0], "403", name)
    contains(got["presigned_changed"][1], "its AWS signature does not fit")
    # All but the chunks were refused before anything left the gate.
    lacks(got["chunks_changed"][0], "ok")
    s.audited(reason="bad-request",
              detail="a chunk's signature does not fit the placeholder's key")
    equal([r for r in origin.take() if not r.path.endswith("/chunks")], [])
    return f"{len(BAD) + 1} forms"


@claim("aws: the gate holds a key of a day, and no process but the broker the secret")
def _():
    w, _, _ = world()
    s = sandbox("key")
    pid = json.loads(w.cli("show", s.name, "--json").ok().out)["gate_pid"]
    equal(calls(s, "get")["get"], ["ok", "0123456789"])
    looked = 0
    for process in memory.children(w.daemon.pid):
        if memory.comm(process) == "tapward-broker":
            continue
        found, size = memory.holds(process, KEY[1].encode(), KEY[1][:20].encode(),
                                   KEY[1][-20:].encode())
        equal(found, [], memory.comm(process))
        looked += size
    # The search is one that finds: the key's id is there.
    found, _ = memory.holds(pid, KEY[0].encode())
    contains(str(bool(found)), "True")
    for name in ("log/audit.jsonl", "tapwardd.log"):
        with open(f"{w.folder}/{name}", encoding="utf-8") as f:
            lacks(f.read(), KEY[1], name)
    return f"{looked >> 20} MiB of memory searched"


def use_process():
    """Uses its first key; (how often, the key that it says from now on)."""
    w, origin = _world["w"], _world["origin"]
    origin.session = (*SESSION, "")
    count = check_good(sandbox("process"), origin, SESSION[2])
    again = ("ASIASESSION000000002", secrets.token_urlsafe(30),
             secrets.token_urlsafe(90))
    w.file("key", PROGRAM.format(key=" ".join(again), life=900), 0o755)
    return count, again


def until_used(s, origin, key):
    origin.session = (*key, "")
    until(lambda: calls(s, "get")["get"] == ["ok", "0123456789"], 20,
          "another session is used", 0.3)


@claim("aws: a role's session is asked of STS, used, and asked for anew before it ends")
def _():
    _, origin, issuer = world()
    s = sandbox("role")
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=12)
    issuer.session = (*SESSION, end.strftime("%Y-%m-%dT%H:%M:%SZ"))
    origin.session = issuer.session
    count = check_good(s, origin, SESSION[2])
    asked = issuer.take()
    equal([r.fault for r in asked], [""] * len(asked), repr(asked))
    body = asked[0].body.decode()
    contains(body, "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A"
             f"123456789012%3Arole%2Fagent&RoleSessionName=tapward-{s.name}"
             "&DurationSeconds=900&Policy=%7B%22Version%22")
    contains(body, "&ExternalId=the-tests")
    # The next session is another one.
    again = ("ASIASESSION000000001", secrets.token_urlsafe(30),
             secrets.token_urlsafe(90))
    issuer.session = (*again, "2099-01-01T00:00:00Z")
    # Of two that end, the one grows old while the other does.
    _world["process"] = use_process()
    until_used(s, origin, again)
    contains(repr(len(issuer.take()) >= 1), "True")
    return f"{count} requests, {len(asked)} session(s)"


@claim("aws: a credential_process gives the key, and another one before that ends")
def _():
    _, origin, _ = world()
    count, again = _world.pop("process", None) or use_process()
    until_used(sandbox("process"), origin, again)
    return f"{count} requests"


@claim("aws: an answer that repeats the session's token does not get to the guest")
def _():
    w, origin, issuer = world()
    s = sandbox("role")
    tokens = set()
    origin.session = None

    def answer(peer, r):
        token = r.fields.get("x-amz-security-token", "")
        tokens.add(token)
        body = f"<Error><Token-0>{token}</Token-0></Error>".encode()
        peer.sendall(b"HTTP/1.1 403 No\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    issuer.session = (*SESSION, "2099-01-01T00:00:00Z")
    was, origin.answer = origin.answer, answer
    try:
        got = calls(s, "get")["get"]
    finally:
        origin.answer = was
    equal(len(tokens), 1)
    lacks(json.dumps(got), tokens.pop())
    s.audited(reason="credential-leak")


@claim("the world of AWS ends and leaves nothing")
def _():
    w, _, _ = world()
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    w.close()
    _world.clear()
