"""Images go to and from a registry by skopeo, in a guest that has no login."""
import hashlib
import os

from harness import canary
from harness.claims import claim, contains, equal, lacks
from harness.images import make_layout
from harness.registry import SERVICE, Registry, TokenServer
from harness.world import World

REGISTRY, AUTH = "10.201.0.40", "10.201.0.41"
NAMES = {"registry.example.com": REGISTRY, "pull.example.com": REGISTRY,
         "auth.example.com": AUTH}
PASSWORD = "canary-of-the-registry:/%"

POLICY = """\
[policy]
version = 1

[allow registry]
host       = registry.example.com
method     = GET, HEAD, POST, PUT, PATCH
path       = /v2/, /v2/acme/**, /v2/other/**
credential = registry

[allow pull]
host       = pull.example.com
method     = GET, HEAD, POST, PUT, PATCH
path       = /v2/**
credential = pull
"""

CREDENTIAL = """
[credential {name}]
kind     = oci
realm    = https://auth.example.com/token
registry = {service}
login    = ci
password = file:{file}
access   = {access}
host     = {host}
apply    = bearer
grant    = ci-* user:root
"""

_world = {}


def world():
    if not _world:
        w = World(NAMES, start=False)
        auth = w.own(TokenServer(w, "auth.example.com", AUTH, "ci", PASSWORD,
                                 "acme/"))
        registry = w.own(Registry(w, REGISTRY, auth, "registry.example.com",
                                  "pull.example.com"))
        secret = w.file("registry-password", PASSWORD + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            for name, access in (("registry", "push"), ("pull", "pull")):
                f.write(CREDENTIAL.format(
                    name=name, service=SERVICE, file=secret, access=access,
                    host=f"{name}.example.com"))
        w.start()
        _world.update(w=w, auth=auth, registry=registry,
                      s=w.sandbox(POLICY, "ci-oci"))
        make_layout(f"{w.folder}/image", 1 << 20)
    return _world["w"], _world["auth"], _world["s"]


def skopeo(s, w, *argv):
    """In the guest, with nothing of this machine's logins."""
    home = f"{w.folder}/home"
    os.makedirs(home, exist_ok=True)
    env = dict(s.env, HOME=home, XDG_RUNTIME_DIR=home,
               REGISTRY_AUTH_FILE=f"{home}/no-login")
    return s.run(["skopeo", "--insecure-policy", "--tmpdir", home, *argv],
                 env=env, timeout=90)


@claim("an image is pushed and pulled by a client without a login, with a token for each repository and access")
def _():
    w, auth, s = world()
    skopeo(s, w, "copy", "--preserve-digests", f"oci:{w.folder}/image",
           "docker://registry.example.com/acme/app:v1").ok()
    contains(auth.asked, "repository:acme/app:pull,push")
    skopeo(s, w, "copy", "--preserve-digests",
           "docker://registry.example.com/acme/app:v1", f"oci:{w.folder}/back:v1").ok()
    contains(auth.asked, "repository:acme/app:pull")
    names = os.listdir(f"{w.folder}/image/blobs/sha256")
    for name in names:
        with open(f"{w.folder}/back/blobs/sha256/{name}", "rb") as f:
            equal(hashlib.sha256(f.read()).hexdigest(), name)
    equal(len(auth.asked), len(set(auth.asked)), "one token for each scope")
    s.audited(event="request", verdict="allow", credential="registry",
              method="PUT")
    return f"{len(names)} blobs, {len(auth.asked)} tokens"


@claim("a credential with access = pull pulls, and a push with it is refused before the issuer is asked")
def _():
    w, auth, s = world()
    skopeo(s, w, "inspect", "docker://pull.example.com/acme/app:v1").ok()
    before = len(auth.asked)
    got = skopeo(s, w, "copy", "--preserve-digests", f"oci:{w.folder}/image",
                 "docker://pull.example.com/acme/new:v1")
    assert got.code != 0, repr(got)
    s.audited(verdict="deny", reason="credential-unavailable", method="POST",
              credential="pull")
    lacks(" ".join(auth.asked[before:]), "push")


@claim("a repository that the login has no right to is the registry's own 401; what no rule allows is ours")
def _():
    w, _, s = world()
    got = skopeo(s, w, "copy", "--preserve-digests", f"oci:{w.folder}/image",
                 "docker://registry.example.com/other/app:v1")
    assert got.code != 0, repr(got)
    got = s.curl("-i", "https://registry.example.com/v2/another/tags/list")
    contains(got.out.lower(), "tapward-reason: path", repr(got))
    got = s.curl("-i", "https://auth.example.com/token")
    contains(got.out.lower(), "tapward-reason: no-rule", repr(got))


@claim("neither the password nor a token is in the guest's files, the log or the daemon's output")
def _():
    w, auth, s = world()
    secrets = [PASSWORD.encode(), *(t.encode() for t in auth.tokens)]
    paths = [f"{w.folder}/log/audit.jsonl", w.log]
    for base, _, names in os.walk(f"{w.folder}/home"):
        paths += [f"{base}/{name}" for name in names]
    for path in paths:
        with open(path, "rb") as f:
            text = f.read()
        for secret in secrets:
            lacks(text, secret, path)
    got = s.curl("-i", "https://registry.example.com/v2/acme/app/tags/list")
    contains(got.out, "v1")
    for secret in secrets:
        lacks(got.out.encode(), secret)


@claim("no process but the broker holds the password, none but it and the sandbox's gate a token")
def _():
    w, auth, s = world()
    contains(s.curl("https://registry.example.com/v2/acme/app/tags/list").out, "v1")
    return canary.search(w, [s], [PASSWORD], [list(auth.tokens)[-1]])


@claim("the world of the registry of images ends and leaves nothing")
def _():
    w, _, _ = world()
    w.close()
    _world.clear()
