"""The control socket before a hostile member of its group (rows 117, 160)."""
import grp
import json
import subprocess

from harness import shell
from harness.claims import claim, contains, equal, lacks, until
from harness.world import World

GROUP = "users"
MEMBER, ANOTHER = 12345, 12346
NAMES = {"api.example.com": "10.201.0.10"}
POLICY = "[policy]\nversion = 1\n\n[allow api]\nhost = api.example.com\n"

# What a member does: a request with descriptors, as bytes; its answer.
CALLER = r"""
import array, json, os, socket, sys, time
SOCKET, POLICY, OWN, OTHER = sys.argv[1:]
def call(method, path, body=b"", fds=(), raw=None, seconds=10):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    raw = raw or (f"{method} {path} HTTP/1.1\r\nHost: t\r\n"
                  f"Content-Length: {len(body)}\r\n\r\n").encode() + body
    k = socket.socket(socket.AF_UNIX)
    k.settimeout(seconds)
    k.connect(SOCKET)
    data = b""
    try:
        if fds:
            k.sendmsg([raw], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                               array.array("i", fds))])
        else:
            k.sendall(raw)
    except OSError:
        pass  # answered before it had all
    try:
        while part := k.recv(65536):
            data += part
    except OSError as e:
        data += repr(e).encode()
    k.close()
    return data
def status(*args, **kwargs):
    words = call(*args, **kwargs).split()
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else repr(words)
def create(name, device="tap", fds=(), **more):
    return status("POST", "/v1/sandboxes", {
        "name": name, "device": device, "policy": POLICY,
        "policy_name": "x.ini", **more}, fds)
"""

_world = {}


def world():
    if not _world:
        try:
            grp.getgrnam(GROUP)
        except KeyError:
            raise AssertionError(f"group {GROUP} is missing") from None
        w = World(NAMES, group=GROUP)
        _world.update(w=w, s=w.sandbox(POLICY))
    return _world["w"], _world["s"]


def argv(code, uid):
    w, s = _world["w"], _world["s"]
    return ["setpriv", "--reuid", str(uid), "--regid",
            str(grp.getgrnam(GROUP).gr_gid), "--clear-groups",
            "/usr/bin/python3", "-c", CALLER + code, w.socket, POLICY,
            w.host.name, s.name]


def member(code, uid=MEMBER):
    """What code prints, one JSON value, as a member of the group."""
    got = shell.run(argv(code, uid))
    return json.loads(got.ok().out)


def restarts():
    text = _world["w"].cli("status", "--json").ok().out
    return {p["role"]: p["restarts"] for p in json.loads(text)["processes"]}


@claim("row 117: a member may list others' sandboxes, and nothing else of them")
def _():
    _, s = world()
    got = member("""
p = "/v1/sandboxes/" + OTHER
print(json.dumps([status(m, u, b) for m, u, b in (
    ("GET", "/v1/sandboxes", b""), ("GET", p, b""), ("DELETE", p, b""),
    ("PUT", p + "/policy", {"policy": POLICY, "policy_name": "x.ini"}),
    ("POST", p + "/attach", {}), ("POST", p + "/attach", {"netns": True}),
    ("GET", p + "/log", b""), ("GET", "/v1/log", b""))]))
""")
    equal(got, [200] + [403] * 7)
    contains(s.world.cli("show", s.name, "--json").ok().out, "running")


@claim("row 117: a member that takes a name reads nothing of who had it before")
def _():
    w, _ = world()
    name = f"taken-{w.id}"
    policy = w.file("before.ini", POLICY)
    for _ in range(2):
        w.cli("create", name, "--policy", policy).ok()
        w.cli("rm", name).ok()
    got = member(f"""
made = create("{name}")
log = call("GET", "/v1/sandboxes/{name}/log").decode()
print(json.dumps([made, log, status("DELETE", "/v1/sandboxes/{name}", b"")]))
""")
    equal((got[0], got[2]), (201, 200))
    lines = [json.loads(x) for x in got[1].splitlines() if x.startswith("{")]
    assert lines, got
    equal({x["generation"] for x in lines}, {lines[-1]["generation"]})
    # Root reads of all of them.
    out = w.cli("log", name, "--json").ok().out
    equal(len({json.loads(x)["generation"] for x in out.splitlines()}), 3)


@claim("row 117: no descriptor that a member passes leads into a namespace that is not its own")
def _():
    w, _ = world()
    got = member(f"""
one, two = socket.socketpair()
r, wr = os.pipe()
o = lambda path, how=os.O_RDONLY: os.open(path, how)
tries = [o(p) for p in (
    "/proc/self/ns/net", "/run/netns/{w.host.name}", "/run/netns/{w.net.name}",
    "/run/netns/tapward-{_world['s'].name}",
    "/run/netns/{_world['s'].guest.name}", "/proc/self/ns/user",
    "/proc/self/ns/mnt", "/etc/passwd", "/")]
tries += [one.fileno(), r, o("/proc/self/ns/net", os.O_PATH)]
print(json.dumps([create("vvv", "veth", [fd]) for fd in tries]
                 + [create("vvv", "veth", [one.fileno()] * 250),
                    create("vvv", "veth"), create("vvv", "tap", [tries[0]])]))
""")
    equal(got, [403] * 5 + [400] * 10)


@claim("row 117: no name, path or number of a member is more than a refusal; tapward-api lives through all of it")
def _():
    w, s = world()
    before = restarts()
    got = member(r"""
names = ["../x", "a/b", "A", "-a", ".", "a b", "a\n", "a\0b", "\u202e",
         "a" * 41, ""]
bad = [create(n) for n in names]
bad += [create("vvv", ca=n) for n in ("../../x", "a/b", "A")]
bad += [create("vvv", policy_name=n) for n in (
    "a\nb", "\x1b[31m", "x" * 5000, "", "\u202e")]
bad += [create("vvv", owner=n) for n in (-1, 2**32 - 1, 2**63, "0")]
bad += [status("POST", "/v1/sandboxes", b) for b in (
    b"{" * 100000, b"[" * 100000, b'{"name":"a","name":"b"}', b"null",
    b'{"ttl":1e3}', b'{"policy":"\\ud800"}', b"\xff\xfe", b"\0" * 100,
    b'{"netns":"/run/netns/x"}', b'{"policy_path":"/etc/shadow"}',
    b'{"policy":"' + b"a" * 300000 + b'"}')]
bad += [status("GET", "/v1/sandboxes?after=" + n) for n in ("../x", "A", "")]
other = [create("vvv", ca=OTHER), create("vvv", owner=0)]
paths = [status("GET", p) for p in (
    "/v1/sandboxes/../log", "/v1/sandboxes/%2e%2e", "//v1/log",
    "/v1/sandboxes/" + "a" * 5000, "/v1/sandboxes//log", "/v1/events/")]
sizes = [status("", "", raw=b"POST /v1/sandboxes HTTP/1.1\r\nHost: t\r\n"
                + more) for more in (
    b"Content-Length: 1000000000000\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"X: " + b"a" * 100000)]
print(json.dumps([bad, other, paths, sizes]))
""")
    bad, other, paths, sizes = got
    equal(set(bad), {400}, bad)
    equal(other, [403, 403])
    equal(set(paths), {404}, paths)
    equal(sizes, [413, 411, 431])
    equal(restarts(), before)
    lacks(w.log_text(), "broke the protocol")
    lacks(w.cli("list").ok().out, "vvv")
    return f"{len(bad) + len(paths) + 5} requests"


@claim("a member that holds all the connections it can get locks out nobody else, and does not fill the log")
def _():
    w, _ = world()
    size = len(w.log_text())
    holder = subprocess.Popen(argv("""
held = []
for i in range(300):
    k = socket.socket(socket.AF_UNIX)
    k.settimeout(2)
    k.connect(SOCKET)
    try:
        k.send(b"GET ")
    except OSError:
        pass
    held.append(k)
print("held", flush=True)
sys.stdin.read()
""", MEMBER), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        equal(holder.stdout.readline(), b"held\n")
        w.cli("list", timeout=5).ok()
        equal(member('print(status("GET", "/v1/sandboxes"))', ANOTHER), 200)
        lines = w.log_text()[size:].count("refused=")
        assert 1 <= lines <= 5, lines
    finally:
        holder.communicate(b"")
    until(lambda: member('print(json.dumps(status("GET", "/v1/sandboxes")))')
          == 200, 5, "its connections are free again")


@claim("the world of the control socket ends and leaves nothing")
def _():
    w, _ = world()
    w.close()
    _world.clear()
