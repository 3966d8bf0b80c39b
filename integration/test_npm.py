"""A real npm client and a private registry: the token stays outside."""
import json
import os
import re

from harness import canary
from harness.claims import claim, contains, equal, lacks
from harness.verdaccio import Verdaccio
from harness.world import World

HOST = "npm.example.com"
ADDRESS = "10.201.0.20"

POLICY = f"""\
[policy]
version = 1

[allow packages]
host          = {HOST}
method        = GET, HEAD
path          = /**
encoded-slash = yes
credential    = npm-acme
"""

CREDENTIAL = """
[credential npm-acme]
kind   = static
value  = file:{file}
host   = {host}
apply  = bearer
strip  = authorization
method = GET, HEAD
path   = /**
grant  = ci-* user:root
"""

# Who may publish is granted a credential of its own for it.
PUBLISHING = POLICY.replace("GET, HEAD", "GET, HEAD, PUT").replace(
    "npm-acme", "npm-publish")
PUBLISHER = CREDENTIAL.replace("npm-acme", "npm-publish").replace(
    "GET, HEAD", "GET, HEAD, PUT").replace("ci-* user:root", "release-*")

_world = {}


def world():
    if not _world:
        w = World({HOST: ADDRESS}, start=False)
        registry = w.own(Verdaccio(w, HOST, ADDRESS))
        registry.publish("@acme/widget", "1.0.0",
                         {"index.js": "module.exports = 'the widget'\n"})
        secret = w.file("npm-token", registry.token + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            for section in (CREDENTIAL, PUBLISHER):
                f.write(section.format(file=secret, host=HOST))
        w.start()
        _world.update(w=w, registry=registry, s=w.sandbox(POLICY, "ci-npm"))
    return _world["w"], _world["registry"], _world["s"]


def npm(s, folder, *argv, **kwargs):
    """npm in the guest, with nothing of this machine's configuration."""
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/.npmrc", "w", encoding="ascii") as f:
        f.write(f"registry=https://{HOST}/\nupdate-notifier=false\naudit=false\n"
                "fund=false\nfetch-retries=1\n"
                # npm asks for a token before it publishes; any will do
                f"//{HOST}/:_authToken=not-a-token\n")
    if not os.path.exists(f"{folder}/package.json"):
        with open(f"{folder}/package.json", "w", encoding="ascii") as f:
            json.dump({"name": "work", "version": "1.0.0"}, f)
    env = dict(s.env, HOME=folder, npm_config_cache=f"{folder}/cache")
    return s.run(["npm", *argv], cwd=folder, env=env, timeout=90, **kwargs)


@claim("npm install of a scoped private package works without a token in the guest")
def _():
    w, _, s = world()
    folder = f"{w.folder}/work"
    npm(s, folder, "install", "@acme/widget").ok()
    with open(f"{folder}/node_modules/@acme/widget/index.js", encoding="ascii") as f:
        contains(f.read(), "the widget")
    record = s.audited(event="request", verdict="allow", credential="npm-acme")
    equal(record["rule"], "packages")
    assert record["lease"], record


@claim("npm publish is refused by method, and npm prints the reason")
def _():
    w, _, s = world()
    folder = f"{w.folder}/publish"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/package.json", "w", encoding="ascii") as f:
        json.dump({"name": "@acme/evil", "version": "1.0.0"}, f)
    got = npm(s, folder, "publish")
    assert got.code != 0, repr(got)
    contains(got.both, "403", repr(got))
    contains(got.both, "method", repr(got))
    s.audited(verdict="deny", reason="method", method="PUT")


@claim("npm publish works without a token in the guest where it is granted, and another sandbox installs it")
def _():
    w, registry, s = world()
    release = _world["release"] = w.sandbox(PUBLISHING, "release-npm")
    folder = f"{w.folder}/release"
    os.makedirs(folder)
    with open(f"{folder}/package.json", "w", encoding="ascii") as f:
        json.dump({"name": "@acme/made", "version": "2.0.0", "main": "m.js"}, f)
    with open(f"{folder}/m.js", "w", encoding="ascii") as f:
        f.write("module.exports = 'made in a sandbox'\n")
    npm(release, folder, "publish").ok()
    release.audited(event="request", verdict="allow", method="PUT",
                    credential="npm-publish")
    user = f"{w.folder}/user"
    npm(s, user, "install", "@acme/made").ok()
    with open(f"{user}/node_modules/@acme/made/m.js", encoding="ascii") as f:
        contains(f.read(), "made in a sandbox")
    for base, _, names in os.walk(folder):
        for name in names:
            with open(f"{base}/{name}", "rb") as f:
                lacks(f.read(), registry.token.encode(), f"{base}/{name}")


@claim("the guest's own Authorization never arrives where a credential is granted")
def _():
    _, registry, s = world()
    got = s.curl("-H", "Authorization: Bearer of-the-attacker",
                 "-o", "/dev/null", "-w", "%{http_code}",
                 f"https://{HOST}/@acme%2fwidget")
    equal(got.out, "200", repr(got))


@claim("a sandbox without the grant gets credential-misuse or -unavailable, never a bare request")
def _():
    w, registry, _ = world()
    other = w.sandbox(POLICY, "dev-npm")
    before = len(re.findall("acme", open(registry.log, encoding="utf-8").read()))
    got = other.curl("-i", f"https://{HOST}/@acme%2fwidget")
    contains(got.out.lower(), "tapward-reason: credential-", repr(got))
    other.audited(verdict="deny", credential="npm-acme")
    after = len(re.findall("acme", open(registry.log, encoding="utf-8").read()))
    equal(after, before, "requests that reached the registry")


@claim("no byte of the token in the guest's files, the log, the daemon's output or /proc")
def _():
    w, registry, s = world()
    token = registry.token.encode()
    for base, _, names in os.walk(f"{w.folder}/work"):
        for name in names:
            with open(f"{base}/{name}", "rb") as f:
                lacks(f.read(), token, f"{base}/{name}")
    for path in (f"{w.folder}/log/audit.jsonl", w.log):
        with open(path, "rb") as f:
            lacks(f.read(), token, path)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                comm = f.read().strip()
            if not comm.startswith("tapward"):
                continue
            for what in ("environ", "cmdline"):
                with open(f"/proc/{pid}/{what}", "rb") as f:
                    lacks(f.read(), token, f"{comm} {what}")
        except FileNotFoundError:
            continue


@claim("no process but the broker and the gates of sandboxes with the grant holds the token")
def _():
    w, registry, s = world()
    return canary.search(w, [s, _world["release"]], [], [registry.token])


@claim("the world of npm ends and leaves nothing")
def _():
    w, _, _ = world()
    w.close()
    _world.clear()
