"""Tokens of a GitHub App: git and an API's client in a sandbox that holds
placeholders only."""
import json
import os
import signal

from harness import canary
from harness.claims import claim, contains, equal, lacks, until
from harness.clouds import key_pair
from harness.git import ENV, LOCATION, git, make_repository, start_backend
from harness.github import GitHub
from harness.origins import Nginx
from harness.world import World

API, GIT = "10.201.0.62", "10.201.0.63"
NAMES = {"api.example.com": API, "git.example.com": GIT}
APP, TTL = 123456, 8
URL = "git.example.com/acme/widget"

POLICY = """\
[policy]
version = 1

[allow api]
host       = api.example.com
credential = github

[git widget]
repo       = git.example.com/acme/widget
push       = refs/heads/agent/*
credential = github-git
"""

CREDENTIALS = """
[credential github]
kind       = github-app
app-id     = {app}
key        = file:{key}
api-url    = https://api.example.com
repository = acme/widget
permission = contents=read, metadata=read
host       = api.example.com
apply      = bearer
grant      = agent-*

[credential github-git]
kind       = github-app
app-id     = {app}
key        = file:{key}
api-url    = https://api.example.com
repository = acme/widget
permission = contents=write
host       = git.example.com
path       = /acme/widget/**
apply      = basic:x-access-token
grant      = agent-*
"""

SERVER = """
  server {{ listen {address}:443 ssl http2;
    ssl_certificate {cert}; ssl_certificate_key {key};
    {location} }}
"""

_world = {}


def world():
    if not _world:
        w = World(NAMES, start=False)
        key, public = key_pair(w, "app")
        github = w.own(GitHub(w, API, "api.example.com", APP, public, "acme",
                              ["widget", "other"], TTL))
        bare = make_repository(w.folder, "widget", [("file", b"text\n")])
        os.mkdir(f"{w.folder}/repos/acme")
        os.symlink(bare, f"{w.folder}/repos/acme/widget")
        start_backend(w, github.allows)
        cert, tls_key = w.authority.issue("git.example.com")
        w.own(Nginx(w.net, f"{w.folder}/nginx", SERVER.format(
            address=GIT, cert=cert, key=tls_key, location=LOCATION.format(
                location="/acme/", more="", folder=w.folder))))
        with open(w.config, "a", encoding="ascii") as f:
            f.write(CREDENTIALS.format(app=APP, key=key))
        w.start()
        _world.update(w=w, github=github, s=w.sandbox(POLICY, f"agent-{w.id}"))
    return _world["w"], _world["github"], _world["s"]


def in_guest(s, *argv):
    return s.run(["git", *argv], env={**s.env, **ENV})


def lent(github, permission):
    """The last token for this."""
    return [t for t, (asked, _, _) in github.issued.items()
            if asked["permissions"].get("contents") == permission][-1]


def use(s):
    """Both credentials, by their clients."""
    got = s.curl("https://api.example.com/repos/acme/widget")
    in_guest(s, "ls-remote", f"https://{URL}").ok()
    return got.out == '{"full_name": "acme/widget"}'


def refused(github):
    return [why for _, why in github.log if why]


@claim("github-app: git clones and pushes with a placeholder; each token is for one repository and what its host needs")
def _():
    w, github, s = world()
    placeholder = s.env["TAPWARD_CREDENTIAL_GITHUB_GIT"]
    work = f"{w.folder}/work"
    in_guest(s, "clone", "-q", f"https://x-access-token:{placeholder}@{URL}",
             work).ok()
    git("commit", "-q", "--allow-empty", "-m", "y", cwd=work)
    in_guest(s, "-C", work, "push", "-q", "origin", "HEAD:refs/heads/agent/x").ok()
    equal(git("rev-parse", "agent/x", cwd=f"{w.folder}/repos/widget.git").out,
          git("rev-parse", "HEAD", cwd=work).out)
    got = in_guest(s, "-C", work, "push", "origin", "HEAD:refs/heads/main")
    assert got.code != 0, repr(got)
    assert use(s)
    equal(refused(github), [])
    equal([asked for asked, _, _ in github.issued.values()], [
        {"repositories": ["widget"], "permissions": {"contents": "write"}},
        {"repositories": ["widget"], "permissions": {"contents": "read",
                                                     "metadata": "read"}}])
    for token in github.issued:
        lacks(got.both, token)


@claim("github-app: paths that mint or end tokens never carry one, nor does another repository by git")
def _():
    _, github, s = world()
    before = len(github.log)
    for method, path in (("POST", "app/installations/42/access_tokens"),
                         ("DELETE", "installation/token")):
        got = s.curl("-i", "-X", method, f"https://api.example.com/{path}")
        contains(got.out.lower(), "tapward-reason: credential-", repr(got))
    equal(len(github.log), before)
    got = in_guest(s, "ls-remote", "https://git.example.com/acme/other")
    assert got.code != 0, repr(got)
    contains(got.err, "403")


@claim("github-app: another token before one ends")
def _():
    _, github, s = world()
    assert use(s)
    first = lent(github, "read")
    until(lambda: use(s) and lent(github, "read") != first, 2 * TTL,
          "another token", 0.2)
    equal(refused(github), [])


@claim("github-app: no process but the broker holds the app's key, none but it and the sandbox's gate a token")
def _():
    w, github, s = world()
    assert use(s)
    with open(f"{w.folder}/app.key", encoding="ascii") as f:
        lines = f.read().splitlines()[1:-1]
    return canary.search(w, [s], lines, [lent(github, "read"),
                                         lent(github, "write")])


@claim("github-app: its tokens are deleted at GitHub when the broker is killed, and by rm")
def _():
    w, github, s = world()
    status = json.loads(w.cli("status", "--json").ok().out)
    broker = next(p["pid"] for p in status["processes"] if p["role"] == "broker")
    assert use(s)
    mine = [t for t in github.issued if github.lives(t)]
    os.kill(broker, signal.SIGKILL)
    until(lambda: all(github.issued[t][2] for t in mine), TTL - 2,
          "they are deleted")
    until(lambda: use(s), 10, "the next broker mints")
    mine = [t for t in github.issued if github.lives(t)]
    equal(len(mine), 2)
    w.cli("rm", s.name).ok()
    until(lambda: all(github.issued[t][2] for t in mine), TTL - 2,
          "they are deleted")
    equal(refused(github), [])


@claim("the world of the GitHub App ends and leaves nothing")
def _():
    w, _, _ = world()
    w.close()
    _world.clear()
