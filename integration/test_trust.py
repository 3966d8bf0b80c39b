"""What a guest's programs are given so that they trust their sandbox."""
import os
import re
import shutil

from harness import shell
from harness.claims import Skip, claim, contains, equal, lacks
from harness.node import programs
from harness.rust import rust_folder
from harness.world import World

POLICY = """\
[policy]
version = 1

[allow nothing-that-is-asked-for]
host = other.example.com
"""
# Those that tools/packages and node/package.json have; others are asked where
# they are there.
NEEDED = ("openssl", "curl", "wget", "git", "python3", "requests", "pip",
          "node", "npm", "yarn", "pnpm", "bun", "deno", "cargo", "go", "java",
          "ruby", "php", "apt", "skopeo")
ALSO = ("httpx", "perl")
NEVER_RUN = ("uv", "docker", "dotnet")
# They bring no roots of their own: each of these has its own way to be told.
BARE = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}

_world = {}


def kit():
    if not _world:
        w = World({"other.example.com": "10.201.0.10"})
        s = w.sandbox(POLICY)
        folder = f"{w.folder}/kit"
        # The guest has it elsewhere than the one who makes it.
        out = w.cli("env", s.name, "--directory", f"{w.folder}/made", "--at",
                    folder, "--proxy", "--git", "git.example.com").ok().out
        os.rename(f"{w.folder}/made", folder)
        _world.update(w=w, s=s, folder=folder, out=out)
    return _world["w"], _world["s"], _world["folder"]


def check(s, folder, clients, told, rest="", path=BARE["PATH"]):
    """tapward-trust check in the guest, {client: what it says}."""
    setup = f". {folder}/env.sh; " if told else ""
    got = s.guest.run(["sh", "-c", f"{setup}{rest}exec {folder}/tapward-trust "
                       f"check {' '.join(clients)}"], timeout=60,
                      env={"PATH": path, "HOME": s.world.folder})
    return got.code, {line.split()[0]: line.split(None, 1)[1]
                      for line in got.out.splitlines()}


def said_by_all():
    """What each client says with the kit: all are asked at once."""
    _, s, folder = kit()
    if "said" not in _world:
        path = (f"{programs()}/node_modules/.bin:{rust_folder()}:"
                f"{BARE['PATH']}")
        _, _world["said"] = check(s, folder, NEEDED + ALSO, True, path=path)
    return _world["said"]


def register(client):
    @claim(f"trust kit: {client} takes the sandbox's authority by it")
    def _():
        said = said_by_all()[client]
        if client in ALSO and said == "is not here":
            raise Skip(f"no {client}")
        equal(said, "works", client)


for _client in NEEDED + ALSO:
    register(_client)


@claim("trust kit: the manual names the clients that no test has run")
def _():
    _, s, folder = kit()
    known = s.guest.run([f"{folder}/tapward-trust", "check", "nobody"]).err
    for client in NEEDED + ALSO + NEVER_RUN:
        contains(known, client, "what the check knows")
    with open(f"{os.path.dirname(os.path.abspath(__file__))}/../docs/tapward.1",
              encoding="ascii") as f:
        contains(f.read().replace("\n", " "),
                 "uv, docker and dotnet were never run", "tapward(1)")


@claim("trust kit: with its bundle as the system's, programs of GnuTLS take the authority too")
def _():
    _, s, folder = kit()
    # ip-netns(8) gives each command mounts of its own.
    code, said = check(s, folder, ("gnutls-cli", "curl", "wget", "git"), False,
                       f"mount --bind {folder}/bundle.pem "
                       "/etc/ssl/certs/ca-certificates.crt; ")
    equal((code, set(said.values())), (0, {"works"}), said)


@claim("trust kit: without it no client takes the authority, and the check says so")
def _():
    _, s, folder = kit()
    clients = ("openssl", "curl", "wget", "git", "python3", "node")
    code, said = check(s, folder, clients, False)
    for client in clients:
        contains(said[client], "FAILS", client)
    equal(code, 1, said)
    # One client that is told nothing, among those that are.
    code, said = check(s, folder, ("curl", "node"), True,
                       "unset NODE_EXTRA_CA_CERTS; ")
    equal((said["curl"], code), ("works", 1), said)
    contains(said["node"], "certificate", said)


@claim("trust kit: its stores hold the system's roots and the authority, in all forms")
def _():
    w, s, folder = kit()
    with open(f"{folder}/bundle.pem", encoding="utf-8") as f:
        bundle = f.read()
    with open(s.ca, encoding="utf-8") as f:
        own = f.read()
    count = bundle.count("-----BEGIN CERTIFICATE-----")
    if count < 2 or not bundle.startswith(own.strip()):
        raise AssertionError(f"{count} certificates, not ours first")
    links = [n for n in os.listdir(f"{folder}/certs") if re.fullmatch(r"[0-9a-f]{8}\.\d", n)]
    equal(len(links), count, "hashed names")
    shell.run(["openssl", "verify", "-no-CAfile", "-no-CAstore", "-CApath",
               f"{folder}/certs", s.ca]).ok()
    pem = shell.run(["openssl", "pkcs12", "-nomacver", "-nokeys", "-passin",
                     "pass:", "-in", f"{folder}/trust.p12"]).ok().out
    equal(pem.count("BEGIN CERTIFICATE"), count, "PKCS#12")
    if shutil.which("keytool"):
        # That of the older form is what the check's Java reads.
        out = shell.run(["keytool", "-list", "-storepass", "changeit",
                         "-keystore", f"{folder}/trust.p12"]).ok().out
        equal(out.count("trustedCertEntry"), count, "PKCS#12 in Java")
    for name in os.listdir(folder):
        if os.path.isfile(f"{folder}/{name}"):
            with open(f"{folder}/{name}", "rb") as f:
                lacks(f.read(), b"PRIVATE KEY", name)


@claim("trust kit: git over ssh goes to the gate over https")
def _():
    _, s, folder = kit()
    for url in ("git@git.example.com:acme/x.git",
                "ssh://git@git.example.com/acme/x.git"):
        got = s.guest.run(["sh", "-c", f". {folder}/env.sh; exec git ls-remote {url}"],
                          env={**BARE, "HOME": s.world.folder})
        contains(got.err, "https://git.example.com/acme/x.git", url)
        contains(got.err, "403", url)


@claim("trust kit: it says what `tapward env` says, and is made once, whole, under a plain name")
def _():
    w, s, folder = kit()
    out = _world["out"]
    contains(out, f". '{folder}/env.sh'", "exports")
    contains(out, "export no_proxy='localhost,.localhost,127.0.0.1,::1'", "exports")
    lacks(out, "SSL_CERT_FILE", "what the kit itself says")
    with open(f"{folder}/env", encoding="ascii") as f:
        told = dict(line.rstrip("\n").split("=", 1) for line in f)
    names = {n for n, value in s.exports().items() if value == s.ca}
    equal(names - set(told), set(), "of `tapward env`, not in the kit")
    again = w.cli("env", s.name, "--directory", folder)
    equal(again.code, 1, "again")
    contains(again.err, "is there already", "again")
    for more in (["--directory", "relative"], ["--at", "/x"],
                 ["--directory", "/x y"], ["--directory", "/x", "--git", "a b"]):
        equal(w.cli("env", s.name, *more).code, 64, more)
    equal([n for n in os.listdir(w.folder) if "made" in n or ".new." in n], [],
          "what is left")
    for name in ("env", "env.sh", "gitconfig", "wgetrc", "apt.conf"):
        with open(f"{folder}/{name}", encoding="ascii") as f:
            lacks(f.read(), "/made", name)
