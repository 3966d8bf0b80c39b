"""What clouds tell their machines, in a sandbox: their own SDKs find a
placeholder at 169.254.169.254, and requests by it reach origins with what is
real. Sandboxes that are not granted one find nothing there."""
import json
import os
import re
import secrets
import time

from harness import canary, shell
from harness.aws import AwsOrigin
from harness.claims import claim, contains, equal, lacks, until
from harness.clouds import Entra, Google, key_pair, opened
from harness.node import environment
from harness.origins import HeadsOrigin
from harness.world import World

ORIGIN, ENTRA, S3 = "10.201.0.70", "10.201.0.71", "10.201.0.72"
NAMES = {"gcs.example.com": ORIGIN, "arm.example.com": ORIGIN,
         "login.example.com": ENTRA, "s3.example.com": S3}
HERE = os.path.dirname(os.path.abspath(__file__))
ADDRESS = "169.254.169.254"
TENANT, CLIENT = "acme.example", "11111111-2222-3333-4444-555555555555"
SECRET = "canary-of-the-application"
KEY = ("AKIAREALKEY000000000", secrets.token_urlsafe(30), None)
STORAGE = "https://storage.googleapis.com/"

POLICY = "[policy]\nversion = 1\n" + "".join(
    f"[allow {n}]\nhost = {n}.example.com\ncredential = {n}\n"
    for n in ("gcs", "arm", "s3"))

CREDENTIALS = """
[credential gcs]
kind        = gcp
key         = file:{folder}/gcp.json
token-url   = https://token.google.example.com/token
self-signed = yes
audience    = {storage}
metadata    = yes
host        = gcs.example.com
apply       = bearer
grant       = cloud-* user:root

[credential arm]
kind          = azure
authority-url = https://login.example.com
tenant        = {tenant}
client-id     = {client}
client-secret = file:{folder}/azure-secret
scope         = https://management.azure.com/.default
metadata      = yes
host          = arm.example.com
apply         = bearer
grant         = cloud-* user:root

[credential s3]
kind     = aws
value    = file:{folder}/aws
region   = eu-west-1
service  = s3
metadata = yes
host     = s3.example.com
grant    = cloud-* user:root
"""
BOTOCORE = """
import botocore.config
import botocore.session
s = botocore.session.get_session()
c = s.create_client("s3", endpoint_url="https://s3.example.com",
                    config=botocore.config.Config(
                        signature_version="s3v4",
                        s3={"addressing_style": "path"}))
print(s.get_credentials().method, c.meta.region_name)
print(c.get_object(Bucket="b", Key="k")["Body"].read().decode())
"""

_world = {}


def world():
    if not _world:
        w = World(NAMES, start=False)
        key, public = key_pair(w, "gcp")
        certificate = w.file("azure.pem", "", 0o600)
        shell.run(["openssl", "req", "-x509", "-key", key, "-out", certificate,
                   "-days", "2", "-subj", "/CN=tapward"]).ok()
        entra = w.own(Entra(w, ENTRA, "login.example.com", TENANT, CLIENT,
                            SECRET, certificate, 3600))
        w.file("gcp.json", Google.key_json_of(key, "google.example.com"), 0o600)
        w.file("azure-secret", SECRET + "\n", 0o600)
        w.file("aws", f"[default]\naws_access_key_id = {KEY[0]}\n"
               f"aws_secret_access_key = {KEY[1]}\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(CREDENTIALS.format(folder=w.folder, storage=STORAGE,
                                       tenant=TENANT, client=CLIENT))
        origin = w.own(HeadsOrigin(w, ORIGIN, "gcs.example.com",
                                   "arm.example.com"))
        aws = AwsOrigin(w, S3, ["s3.example.com"], KEY)
        w.start()
        _world.update(w=w, public=public, entra=entra, origin=origin, aws=aws,
                      s=w.sandbox(POLICY, "cloud-one"))
    del _world["origin"].heads[:]
    return (_world[k] for k in ("w", "s", "origin", "entra", "aws", "public"))


def bare(s):
    """The guest's variables, without any that say a key."""
    return {k: v for k, v in s.env.items() if not k.startswith("AWS_A")
            and k not in ("AWS_SECRET_ACCESS_KEY", "AWS_REGION",
                          "AWS_DEFAULT_REGION")}


def sdk(s, cloud, host):
    """What the cloud's own SDK finds, and what it is answered."""
    got = s.run(["node", f"{HERE}/node/metadata.mjs", cloud, host],
                env=environment(bare(s)), timeout=60)
    return json.loads(got.ok().out)


def sent(origin):
    """The token that the origin was sent last."""
    found = re.search(r"authorization: Bearer (\S+)\r\n", origin.heads[-1], re.I)
    assert found, origin.heads
    return found.group(1)


def ask(s, path, *argv):
    """(status, head and body) of one request to the service, by curl."""
    got = s.curl("-i", "-w", "\n%{http_code}", *argv, f"http://{ADDRESS}{path}")
    text, _, status = got.out.rpartition("\n")
    return int(status), text


@claim("metadata: google-auth-library finds Google's, and its request arrives with a real token")
def _():
    _, s, origin, _, _, public = world()
    got = sdk(s, "gcp", "gcs.example.com")
    equal(got["kind"], "Compute")
    equal((got["project"], got["status"]), ("acme-prod", 200))
    equal(got["email"], "ci@acme-prod.iam.gserviceaccount.com")
    equal(got["token"], s.env["TAPWARD_CREDENTIAL_GCS"])
    _, claims = opened(_world["w"], sent(origin), public)
    equal(claims["aud"], STORAGE)


@claim("metadata: @azure/identity finds Azure's, and a request by it arrives with a real token")
def _():
    _, s, origin, entra, _, _ = world()
    got = sdk(s, "azure", "arm.example.com")
    equal((got["status"], got["body"]), (200, "ok\n"))
    equal(got["token"], s.env["TAPWARD_CREDENTIAL_ARM"])
    assert got["ends"] / 1000 > time.time() + 3600, got
    assert sent(origin) in entra.issued, origin.heads[-1]


@claim("metadata: @smithy/credential-provider-imds and botocore find AWS's, and what botocore signs by it fits the real key")
def _():
    w, s, _, _, aws, _ = world()
    got = sdk(s, "aws", "s3.example.com")
    equal(got["accessKeyId"], s.env["AWS_ACCESS_KEY_ID"])
    equal(got["secretAccessKey"], s.env["AWS_SECRET_ACCESS_KEY"])
    assert got["sessionToken"] and got["expiration"], got
    aws.take()
    out = s.run(["/usr/bin/python3", w.file("boto.py", BOTOCORE)],
                env={**bare(s), "PYTHONPATH": "", "AWS_DEFAULT_REGION":
                     "eu-west-1"}, timeout=60).ok().out
    equal(out.split(), ["iam-role", "eu-west-1", "0123456789"])
    seen = aws.take()
    equal([(r.fault, r.form) for r in seen], [("", "header")], repr(seen))
    equal(seen[0].fields.get("x-amz-security-token"), None)


@claim("metadata: without the field that each cloud wants, or through a proxy, nothing is handed out")
def _():
    w, s, _, _, _, _ = world()
    token = "/computeMetadata/v1/instance/service-accounts/default/token"
    azure = ("/metadata/identity/oauth2/token?api-version=2018-02-01"
             "&resource=https://management.azure.com/")
    roles = "/latest/meta-data/iam/security-credentials/"
    forwarded = ("-H", "X-Forwarded-For: 10.0.0.1")
    for want, path, *argv in (
            (403, token), (403, token, "-H", "Metadata-Flavor: Google",
                           *forwarded),
            (400, azure), (403, azure, "-H", "Metadata: true", *forwarded),
            (401, roles), (401, f"{roles}s3"),
            (401, roles, "-H", "X-aws-ec2-metadata-token: " + "0" * 48),
            (400, "/latest/api/token", "-X", "PUT"),
            (404, "/latest/user-data"), (404, "/openstack/"),
            (404, "/metadata/instance", "-H", "Metadata: true")):
        status, text = ask(s, path, *argv)
        equal(status, want, f"{path}: {text}")
        for name in ("GCS", "ARM", "S3"):
            lacks(text, s.env[f"TAPWARD_CREDENTIAL_{name}"])
    contains(w.audited(s.name, host=ADDRESS, status=401)["detail"],
             "metadata service")


def finds_nothing(s):
    """The address is reset at once, and the name is a host like any other."""
    began = time.monotonic()
    got = s.curl("--max-time", "5", f"http://{ADDRESS}/")
    equal(got.code, 7, repr(got))
    assert time.monotonic() - began < 2, "it waited"
    got = s.curl("-i", "http://metadata.google.internal/computeMetadata/v1/")
    contains(got.out, "403 no rule names this host")
    return True


@claim("metadata: a sandbox that is granted none finds the address shut, and one that loses its grant does")
def _():
    w, s, _, _, _, _ = world()
    other = w.sandbox(POLICY, "plain-one")
    finds_nothing(other)
    other.rm().ok()
    # Another port of the address, where the grant is, is shut as any.
    equal(s.curl("--max-time", "5", f"http://{ADDRESS}:8080/").code, 7)
    with open(w.config, encoding="ascii") as f:
        before = f.read()
    for config, is_open in ((before.replace("metadata ", "; metadata "), False),
                            (before, True)):
        with open(w.config, "w", encoding="ascii") as f:
            f.write(config)
        w.cli("reload", "--host").ok()
        if is_open:
            path = "/computeMetadata/v1/instance/service-accounts/default/token"
            until(lambda: ask(s, path, "-H", "Metadata-Flavor: Google")[0]
                  == 200, 10, "it is open again")
        else:
            until(lambda: s.curl("--max-time", "5", f"http://{ADDRESS}/").code
                  == 7, 10, "it is shut")
            finds_nothing(s)


@claim("metadata: no process but the broker holds the application's secret or the secret key, nor is either handed out")
def _():
    w, s, _, _, _, _ = world()
    return canary.search(w, [s], [SECRET, KEY[1]], [])


@claim("the world of metadata ends and leaves nothing")
def _():
    w, _, _, _, _, _ = world()
    contains(w.cli("log", "--verify").ok().out, "unbroken")
    w.close()
    _world.clear()
