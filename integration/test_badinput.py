"""Bad input: a clear message, and nothing left half-made."""
import os

from harness import shell
from harness.claims import claim, contains, equal, lacks
from harness.world import TREE, World

GOOD = "[policy]\nversion = 1\n\n[allow web]\nhost = web.example.com\n"

# claim, text of the policy, what the message must say
POLICIES = [
    ("an empty file", "", "[policy]"),
    ("no version", "[policy]\n\n[allow a]\nhost = a.example.com\n", "version"),
    ("an unknown key", GOOD + "hots = b.example.com\n", ".ini:6"),
    ("two rules of one name", GOOD + "[deny web]\nhost = b.example.com\n",
     ".ini:6"),
    ("row 187: a line that libinih would cut", GOOD + "; " + "c" * 197
     + "host = smuggled.example.com\n", ".ini:6"),
    ("row 188: an indented line", GOOD + " host = b.example.com\n", ".ini:6"),
    ("row 188: an unterminated section", GOOD + "[deny b\nhost = x.example.com\n",
     ".ini:6"),
    ("row 11: a name that is not ASCII", GOOD.replace("web.", "w\u00ebb."),
     ".ini:5"),
    ("row 8: a wildcard on a public suffix",
     GOOD.replace("web.example.com", "*.co.uk"), ".ini:5"),
    ("row 17: an address as a host",
     GOOD.replace("web.example.com", "10.201.0.10"), ".ini:5"),
    ("a credential under a wildcard",
     GOOD.replace("web.example.com", "*.example.com")
     + "credential = npm-acme\n", ".ini:"),
    ("a credential that the host does not define",
     GOOD + "credential = nobody\n", "nobody"),
    ("a key of another kind of rule",
     "[policy]\nversion = 1\n[git a]\nrepo = web.example.com/a/b\n"
     "method = GET\n", ".ini:5"),
]

_world = {}


def world():
    if not _world:
        _world["w"] = World({"web.example.com": "10.201.0.10"})
    return _world["w"]


def nothing_left(w, name):
    lacks(shell.run(["ip", "netns", "list"]).out, f"tapward-{name}")
    lacks(w.cli("list").ok().out, name)
    assert not os.path.exists(f"{w.folder}/run/sandboxes/{name}")
    assert not os.path.exists(f"{w.folder}/state/ca/{name}")


def refuses(w, name, *argv, says):
    got = w.cli("create", name, *argv)
    assert got.code != 0, repr(got)
    contains(got.err, says, repr(got))
    assert "Traceback" not in got.err and got.err.strip(), repr(got)
    nothing_left(w, name)


@claim("policies that are not: the file and line, and nothing is made")
def _():
    w = world()
    for what, text, says in POLICIES:
        path = w.file("bad.ini", text)
        try:
            refuses(w, "bad", "--policy", path, says=says)
        except AssertionError as e:
            raise AssertionError(f"{what}: {e}") from e


@claim("row 189: a missing, linked, huge or special policy file")
def _():
    w = world()
    refuses(w, "bad", "--policy", f"{w.folder}/absent.ini", says="absent.ini")
    good = w.file("good.ini", GOOD)
    os.symlink(good, f"{w.folder}/link.ini")
    refuses(w, "bad", "--policy", f"{w.folder}/link.ini", says="symbolic link")
    huge = w.file("huge.ini", GOOD + ";\n" * 200000)
    refuses(w, "bad", "--policy", huge, says="at most")
    os.mkfifo(f"{w.folder}/fifo.ini")
    refuses(w, "bad", "--policy", f"{w.folder}/fifo.ini", says="regular file")
    nul = w.file("nul.ini", GOOD + "host = a.example.com\0.evil.example\n")
    refuses(w, "bad", "--policy", nul, says="")


@claim("names, devices and namespaces that are wrong")
def _():
    w = world()
    good = w.file("good.ini", GOOD)
    for name in ("-x", "UPPER", "a/b", "..", "x" * 41, ""):
        got = w.cli("create", name, "--policy", good)
        assert got.code != 0 and got.err, repr(got)
    refuses(w, "bad", "--policy", good, "--device", "bridge", says="tap")
    refuses(w, "bad", "--policy", good, "--device", "veth", says="netns")
    refuses(w, "bad", "--policy", good, "--device", "veth", "--netns",
            "no-such-namespace", says="no-such-namespace")
    refuses(w, "bad", "--policy", good, "--device", "veth", "--netns",
            good, says="")
    # The daemon's own namespace.
    refuses(w, "bad", "--policy", good, "--device", "veth", "--netns",
            w.host.path, says="")


@claim("a second sandbox of a name is refused, and the first goes on")
def _():
    w = world()
    good = w.file("good.ini", GOOD)
    w.cli("create", "twice", "--policy", good).ok()
    got = w.cli("create", "twice", "--policy", good)
    assert got.code != 0, repr(got)
    contains(got.err, "exists")
    w.cli("show", "twice").ok()
    # Another sandbox's namespace is not the caller's to give.
    refuses(w, "bad", "--policy", good, "--device", "veth", "--netns",
            "/run/netns/tapward-twice", says="")
    w.cli("rm", "twice").ok()
    got = w.cli("rm", "twice")
    assert got.code != 0 and got.err, repr(got)


@claim("tapward without its daemon says so and what to do")
def _():
    got = shell.run([f"{TREE}/bin/tapward", "--socket", "/nonexistent", "list"])
    equal(got.code, 69, repr(got))
    contains(got.err, "is tapwardd running?")


@claim("a stranger may list, but not show, end, reload or enter another's sandbox")
def _():
    w = World({"web.example.com": "10.201.0.10"}, group="nogroup")
    with w:
        good = w.file("good.ini", GOOD)
        w.cli("create", "mine", "--policy", good).ok()
        as_other = ["setpriv", "--reuid=65534", "--regid=65534",
                    "--clear-groups", f"{TREE}/bin/tapward", "--socket",
                    w.socket]
        contains(shell.run([*as_other, "list"]).ok().out, "mine")
        for argv in (["show", "mine"], ["rm", "mine"], ["env", "mine"],
                     ["log", "mine"],
                     ["reload", "mine", "--policy", good],
                     ["attach", "mine", "--", "true"]):
            got = shell.run([*as_other, *argv])
            assert got.code != 0, repr(got)
            contains(got.err, "owner", repr(got))
        got = shell.run([*as_other, "log"])
        contains(got.err, "only root", repr(got))
        w.cli("show", "mine").ok()
        shell.run([*as_other, "create", "theirs", "--policy", good]).ok()
        shell.run([*as_other, "show", "theirs"]).ok()
        shell.run([*as_other, "rm", "theirs"]).ok()
        got = shell.run(["setpriv", "--reuid=65533", "--regid=65533",
                         "--clear-groups", f"{TREE}/bin/tapward", "--socket",
                         w.socket, "list"])
        contains(got.err, "group", repr(got))


def daemon_refuses(w, argv, says):
    got = shell.run(w.host.plain(argv), timeout=20)
    assert got.code not in (0, 124), repr(got)
    contains(got.both, says, repr(got))


@claim("tapwardd: not root, a broken config, a missing file: a message, exit, nothing left")
def _():
    w = World({}, start=False)
    with w:
        daemon = f"{TREE}/sbin/tapwardd"
        got = shell.run(["setpriv", "--reuid=65534", "--regid=65534",
                         "--clear-groups", daemon, "--config", w.config,
                         "--foreground"], timeout=20)
        assert got.code not in (0, 124), repr(got)
        contains(got.both, "root", repr(got))
        daemon_refuses(w, [daemon, "--config", "/nonexistent", "--foreground"],
                       "/nonexistent")
        for text, says in (
                ("[daemon]\nrun-dri = /tmp\n", ":2"),
                ("[nothing]\nx = y\n", ":1"),
                (open(w.config, encoding="ascii").read().replace(
                    "policy = none", "policy = /nonexistent.ini"),
                 "/nonexistent.ini: No such file or directory; mend it"),
                (open(w.config, encoding="ascii").read()
                 + "[credential x]\nkind = static\nvalue = plain-secret\n"
                   "host = a.example.com\n", "value")):
            path = w.file("broken.ini", text)
            daemon_refuses(w, [daemon, "--config", path, "--foreground"], says)
        assert not os.path.exists(w.socket)


@claim("a second tapwardd on the same run-dir is refused; a busy metrics port too")
def _():
    w = world()
    daemon_refuses(w, [f"{TREE}/sbin/tapwardd", "--config", w.config,
                       "--foreground"], "run")
    other = World({}, start=False, more="")
    with other:
        text = open(other.config, encoding="ascii").read().replace(
            "[network]", "metrics-listen = 127.0.0.1:9464\n[network]")
        path = other.file("metrics.ini", text)
        from harness.origins import listen_in
        busy = listen_in(other.host, "127.0.0.1", 9464)
        try:
            daemon_refuses(other, [f"{TREE}/sbin/tapwardd", "--config", path,
                                   "--foreground"], "9464")
        finally:
            busy.close()


@claim("no /dev/net/tun: create says so, and makes nothing")
def _():
    w = World({}, start=False)
    with w:
        got = shell.run(["unshare", "--mount", "--propagation", "slave", "sh",
                         "-c", 'mount --bind /dev/null /dev/net/tun && exec "$@"',
                         "sh", *w.host.plain([f"{TREE}/sbin/tapwardd",
                                              "--config", w.config,
                                              "--foreground"])], timeout=20)
        assert got.code not in (0, 124), repr(got)
        contains(got.both, "tun", repr(got))


@claim("the world of bad input ends and leaves nothing")
def _():
    w = world()
    w.close()
    _world.clear()
