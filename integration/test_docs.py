"""The book is true: what its pages tell people to type is typed here, in one
world, and prints what they show."""
import os
import re
import time

from harness import book, claims, shell
from harness.claims import claim, equal
from harness.origins import Nginx
from harness.world import TREE, World

ADDRESS = "10.201.0.10"
NAMES = {f"{host}.acme.example": ADDRESS for host in ("npm", "api", "cdn")}
ACME = """
[address acme]
host  = **.acme.example
range = 10.201.0.0/24

[credential npm-acme]
kind   = static
value  = file:{secret}
host   = npm.acme.example
apply  = bearer
strip  = authorization
method = GET, HEAD
path   = /**
grant  = ci-* user:root
"""
SITE = """
server {{ listen {address}:443 ssl; server_name npm.acme.example;
  ssl_certificate {cert}; ssl_certificate_key {key};
  location / {{ if ($http_authorization !~ "^Bearer ({secrets})$") {{ return 401; }}
    return 200 '{{"name":"@acme/widget","version":"1.4.2"}}\\n'; }} }}
server {{ listen {address}:443 ssl default_server; ssl_certificate {cert};
  ssl_certificate_key {key}; location / {{ return 200 "ok\\n"; }} }}
"""
# That of docs/operations.md comes after ours.
SECRETS = "the-token-of-the-registry-0b1f", "the-next-token-of-the-registry-77ac"
CEILING = """\
[policy]
version = 1
preset  = npm-read, pypi-read, github-read

; check: wide-wildcard: all of them are ours
[allow acme]
host = *.acme.example
"""
# Whoever runs the tests is root already; what would change this machine is not
# done.
SUDO = """\
#!/bin/sh
case $1 in
tapward | gzip | ip | install | mkdir | mv | rm | sh | tee) exec "$@" ;;
esac
echo "sudo $*: not in a test; mark the block" >&2
exit 126
"""
# These pages have tests of their own: test_vm_recipes.py, which boots guests.
ELSEWHERE = {"docs/recipes.md": "recipe: "}

READS = re.compile(
    r"(?:sudo )?tapward (?:log|report|show|status|learn|ask list) |cat ")
LATE_S = 5

_world = {}


def world():
    """A host whose files lie where paths() says."""
    if not _world:
        w = World(NAMES, ceiling=CEILING, start=False)
        os.mkdir(f"{w.folder}/secrets")
        secret = w.file("secrets/npm", SECRETS[0] + "\n", 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(ACME.format(secret=secret))
        cert, key = w.authority.issue(*NAMES)
        w.own(Nginx(w.net, f"{w.folder}/nginx", SITE.format(
            address=ADDRESS, cert=cert, key=key,
            secrets="|".join(SECRETS))))
        w.start()
        os.makedirs(f"{w.folder}/bin")
        w.file("bin/sudo", SUDO, 0o755)
        _world["w"] = w
    return _world["w"]


def paths(w):
    """The paths of an installed service, and where they are here."""
    return {"/etc/tapward": w.folder, "/run/tapward": f"{w.folder}/run",
            "/var/lib/tapward": f"{w.folder}/state",
            "/var/log/tapward": f"{w.folder}/log",
            "/usr/share/tapward": f"{TREE}/share/tapward"}


def here(w, text):
    for there, path in paths(w).items():
        text = re.sub(rf"{there}(?![\w-])", path, text)
    return text


def there(w, text):
    for path, ours in sorted(((p, t) for t, p in paths(w).items()),
                             key=lambda pair: -len(pair[0])):
        text = text.replace(path, ours)
    return text


def bash(w, folder, text):
    got = shell.run(["bash", "-uo", "pipefail", "-c", text], cwd=folder, env=dict(
        os.environ, TAPWARD_SOCKET=w.socket, HOME=folder,
        PATH=f"{w.folder}/bin:{TREE}/bin:{TREE}/sbin:{os.environ['PATH']}"))
    return got


def type_console(w, folder, block):
    """Types each command in one shell; what of them did not print or end as
    the page shows it."""
    steps = block.steps()
    script = ""
    for i, (command, _, _) in enumerate(steps):
        with open(f"{folder}/.{i}", "w", encoding="utf-8") as f:
            f.write(here(w, command) + "\n")
        script += f". ./.{i} >.{i}.out 2>&1; echo $? >.{i}.status\n"
    bash(w, folder, script)
    return [fault for i, step in enumerate(steps)
            if (fault := fault_of(w, folder, i, step))]


def fault_of(w, folder, i, step):
    """A record may be on its way: what only reads is asked again for a while."""
    command, status, shown = step
    end = time.monotonic() + LATE_S
    while True:
        with open(f"{folder}/.{i}.out", encoding="utf-8", errors="replace") as f:
            printed = there(w, f.read())
        with open(f"{folder}/.{i}.status", encoding="ascii") as f:
            ended = int(f.read())
        if ended == status and book.fits(shown, printed):
            return None
        if not READS.match(command) or time.monotonic() > end:
            return (f"{command}\n--- is shown\n" + "\n".join(shown) +
                    f"\n--- was printed, with status {ended}\n{printed}")
        bash(w, folder, f". ./.{i} >.{i}.out 2>&1; echo $? >.{i}.status\n")


def type_page(page):
    """Returns the number of blocks that were typed."""
    w = world()
    folder = f"{w.folder}/{page.replace('/', '-')}.d"
    os.makedirs(folder)
    before = set(os.listdir("/run/netns"))
    faults = []
    count = 0
    for block in book.blocks(page):
        if block.mark == "file":
            with open(f"{folder}/{block.says}", "w", encoding="ascii") as f:
                f.write(here(w, block.text))
        if not block.is_run():
            continue
        count += 1
        if block.language == "console":
            faults += type_console(w, folder, block)
        else:
            got = bash(w, folder, "set -e\n" + here(w, block.text))
            if got.code != 0:
                faults.append(f"line {block.line}: {there(w, repr(got))}")
    left = set(os.listdir("/run/netns")) - before
    for name in left:
        w.cli("rm", name.removeprefix("tapward-"))
        shell.run(["ip", "netns", "del", name])
    if faults or left:
        raise AssertionError("\n".join([*faults, f"left: {left}"]))
    return count


def register(page):
    @claim(f"book: {page}: its commands do what it says")
    def _():
        return f"{type_page(page)} blocks"


for _page in book.pages():
    if _page not in ELSEWHERE and any(
            b.is_run() for b in book.blocks(_page)):
        register(_page)


@claim("book: every policy and every part of a host's configuration is right")
def _():
    w = world()
    count = 0
    for page in book.pages():
        for block in book.blocks(page):
            if block.language == "ini":
                count += 1
                path = w.file("block.ini", here(w, block.whole()))
                got = w.cli("check", path)
                equal(got.code, 0, f"{page}:{block.line}: {got!r}")
    return f"{count} blocks"


@claim("book: what is not typed here is typed by a claim that exists, or says why not")
def _():
    counts = {"run": 0, "run by": 0, "not run": 0}
    for page in book.pages():
        for block in book.blocks(page):
            if block.language not in ("sh", "console"):
                continue
            mark = "run by" if page in ELSEWHERE else block.mark or "run"
            by = ""
            if mark == "run by":
                by = block.says or ELSEWHERE[page]
            for label in filter(None, by.split("; ")):
                if not list(claims.chosen([label])):
                    raise AssertionError(
                        f"{page}:{block.line}: no claim {label!r}")
            counts[mark] += 1
    equal(counts["not run"] < counts["run"], True, counts)
    return ", ".join(f"{n} {what}" for what, n in counts.items())


@claim("the world of the book ends and leaves nothing")
def _():
    w = world()
    equal(w.cli("list", "--json").ok().out.strip(), "[]")
    w.close()
    equal(os.path.exists(w.folder), False)
    _world.clear()
