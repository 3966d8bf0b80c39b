"""A real pip and a private index that wants a user and a password: the guest
has a placeholder."""
import os
import secrets

from harness import canary, shell
from harness.claims import claim, contains, equal, lacks
from harness.origins import Nginx
from harness.wheels import WHEEL, make_wheel
from harness.world import World

HOST = "pypi.example.com"
ADDRESS = "10.201.0.21"
PASSWORD = secrets.token_urlsafe(24)

POLICY = f"""\
[policy]
version = 1

[allow packages]
host       = {HOST}
method     = GET, HEAD
path       = /**
credential = pip-acme
"""

CREDENTIAL = f"""
[credential pip-acme]
value  = file:{{file}}
host   = {HOST}
apply  = basic:ci
method = GET, HEAD
path   = /**
grant  = ci-*
"""

_world = {}


def index(w):
    """nginx with a list of users, and one package."""
    root = f"{w.folder}/www"
    os.makedirs(f"{root}/simple/widget")
    make_wheel(f"{root}/simple/widget/{WHEEL}")
    w.file("www/simple/widget/index.html",
           f'<!DOCTYPE html><a href="{WHEEL}">{WHEEL}</a>\n')
    users = w.file("users", "ci:" + shell.run(
        ["openssl", "passwd", "-apr1", PASSWORD]).ok().out)
    cert, key = w.authority.issue(HOST)
    return w.own(Nginx(w.net, f"{w.folder}/nginx", f"""
      server {{ listen {ADDRESS}:443 ssl; ssl_certificate {cert};
        ssl_certificate_key {key}; root {root}; index index.html;
        auth_basic pypi; auth_basic_user_file {users}; }}"""))


def world():
    if not _world:
        w = World({HOST: ADDRESS}, start=False)
        index(w)
        secret = w.file("password", PASSWORD + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(CREDENTIAL.format(file=secret))
        w.start()
        _world["w"] = w
    return _world["w"]


def pip(w, s, *argv):
    """With nothing of this machine's configuration."""
    env = {k: v for k, v in s.env.items() if not k.startswith("PIP_INDEX")}
    return s.run(["/usr/bin/python3", "-m", "pip", "--isolated", *argv],
                 env=dict(env, HOME=w.folder, PIP_CONFIG_FILE="/dev/null"),
                 timeout=90)


def install(w, s, url, target):
    # --isolated also keeps the variable from pip that names the CA.
    return pip(w, s, "install", "--cert", s.env["PIP_CERT"], "--index-url", url,
               "--no-cache-dir", "--disable-pip-version-check", "--retries", "0",
               "--target", target, "widget")


@claim("pip installs from a private index with a placeholder as its password, and with none")
def _():
    w = world()
    s = _world["s"] = w.sandbox(POLICY, f"ci-pip-{w.id}")
    placeholder = s.env["TAPWARD_CREDENTIAL_PIP_ACME"]
    for n, who in enumerate((f"ci:{placeholder}@", "")):
        target = f"{w.folder}/site{n}"
        got = install(w, s, f"https://{who}{HOST}/simple/", target)
        equal(got.code, 0, repr(got))
        lacks(got.both, PASSWORD)
        with open(f"{target}/widget.py", encoding="ascii") as f:
            contains(f.read(), "the widget")
    record = s.audited(event="request", verdict="allow", credential="pip-acme")
    equal(record["rule"], "packages")
    for value in s.env.values():
        lacks(value, PASSWORD)


@claim("pip in a sandbox without the grant is told why")
def _():
    w = world()
    other = w.sandbox(POLICY, f"dev-pip-{w.id}")
    got = install(w, other, f"https://{HOST}/simple/", f"{w.folder}/none")
    assert got.code != 0, repr(got)
    other.audited(verdict="deny", credential="pip-acme")


@claim("no process but the broker and the sandbox's gate holds the password")
def _():
    w = world()
    return canary.search(w, [_world["s"]], [], [PASSWORD])


@claim("the world of pip ends and leaves nothing")
def _():
    w = world()
    w.close()
    _world.clear()
