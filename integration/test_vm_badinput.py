"""Wrong or hostile input to the commands of microVMs."""
import glob
import hashlib
import json
import os
import shutil
import socket
import struct

from harness import shell
from harness.claims import claim, contains, equal, lacks, until
from harness.vm import VmWorld, store

MEMBER = 12345
_world = {}


def world():
    """One with a guest that goes on."""
    if not _world:
        w = VmWorld(group="users", more="[limits]\nvm-memory = 1GiB\n")
        _world["w"] = w
        w.cli("create", "guest", "--policy", w.policy, "--image", "default",
              "--disk", "8M", timeout=150).ok()
    return _world["w"]


def refused(got, says, code=125):
    equal(got.code, code, repr(got))
    contains(got.err, says, repr(got))
    lacks(got.err, "\nTraceback")


def image_of(part, change):
    """The default image with one file changed, and the manifest that says it:
    the digest under which a store of its own has it."""
    source = os.path.realpath(f"{store()}/tags/default")
    with open(f"{source}/manifest.json", encoding="ascii") as f:
        manifest = json.load(f)
    with open(f"{source}/{part}", "rb") as f:
        data = change(f.read())
    manifest[part.split(".")[0]].update(
        sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    text = json.dumps(manifest).encode()
    digest = hashlib.sha256(text).hexdigest()
    folder = f"{world().folder}/images/{digest}"
    os.makedirs(folder)
    for path in glob.glob(f"{source}/*"):
        if os.path.basename(path) not in (part, "manifest.json"):
            os.link(path, f"{folder}/{os.path.basename(path)}")
    for name, content in (("manifest.json", text), (part, data)):
        with open(f"{folder}/{name}", "wb") as f:
            f.write(content)
    return digest


def run_image(digest, *more):
    w = world()
    env = dict(os.environ, TAPWARD_IMAGES=f"{w.folder}/images")
    return w.vm_run("--image", digest, *more, "--", "true", env=env,
                    timeout=60)


@claim("an image that is not there, or a name that is none: what to do instead")
def _():
    w = world()
    refused(w.vm_run("--image", "nothing", "--", "true"),
            "tapward image build makes one")
    refused(w.vm_run("--image", "../x", "--", "true"), "neither an image's")
    refused(w.cli("exec", "nobody", "--", "true"), "no such sandbox", 1)
    for argv in (["exec", "A/B", "--", "true"], ["put", "-", "/x", "/y"],
                 ["get", "guest", "/x"], ["stop", ".."], ["exec", "guest"],
                 ["run"], ["run", "--name", "../x", "--", "true"],
                 ["run", "--upload", ":", "--", "true"]):
        equal(w.cli(*argv).code, 64, str(argv))
    w.gone_but("guest")


@claim("an image with a byte changed is not started, whichever of its files")
def _():
    digest = image_of("modules.cpio", lambda data: data)
    folder = f"{world().folder}/images/{digest}"
    for part in ("kernel", "modules.cpio", "root.squashfs", "manifest.json"):
        whole = f"{folder}/{part}.whole"
        os.rename(f"{folder}/{part}", whole)
        shutil.copy(whole, f"{folder}/{part}")
        with open(f"{folder}/{part}", "r+b") as f:
            f.seek(os.path.getsize(whole) // 2)
            byte = f.read(1)
            f.seek(-1, os.SEEK_CUR)
            f.write(bytes([byte[0] ^ 1]))
        refused(run_image(digest), f"{part} is not what was built")
        os.unlink(f"{folder}/{part}")
        refused(run_image(digest), "No such file")
        os.rename(whole, f"{folder}/{part}")
    world().gone_but("guest")


@claim("a kernel that is none: QEMU's own word for it, at once")
def _():
    for change, says in ((lambda data: b"no kernel\n" * 5000, "qemu"),
                         (lambda data: data[:4096], "qemu")):
        got = run_image(image_of("kernel", change))
        refused(got, says)
        contains(got.err, "kernel", repr(got))
    world().gone_but("guest")


@claim("--require-kvm where emulation was asked for is refused, and more than [limits] gives")
def _():
    w = world()
    refused(w.vm_run("--require-kvm", "--", "true"),
            "no KVM that can be used")
    refused(w.vm_run("--memory", "2G", "--", "true"), "[limits] vm-memory")
    refused(w.vm_run("--cpus", "64", "--", "true"), "[limits] vm-cpus")
    refused(w.vm_run("--disk", "1000G", "--", "true"), "[limits] vm-disk")
    refused(w.vm_run("--memory", "16M", "--", "true"), "128 MiB")
    for option, value in (("--memory", "x"), ("--cpus", "-1"),
                          ("--disk", "0"), ("--max-duration", "1x"),
                          ("--driver", "vmware")):
        got = w.vm_run(option, value, "--", "true")
        assert got.code not in (0, 124), repr(got)
        contains(got.err, "tapward", repr(got))
    w.gone_but("guest")


@claim("what cannot be copied is told before anything is started")
def _():
    w = world()
    there = w.file("there", "")
    before = len(w.audit())
    refused(w.vm_run("--upload", "/nonexistent:/x", "--", "true"),
            "/nonexistent")
    refused(w.vm_run("--upload", f"{there}:x", "--", "true"),
            "a path in the guest begins with /")
    refused(w.vm_run("--download", f"/etc/passwd:{there}", "--", "true"),
            "exists")
    refused(w.vm_run("--download", "/etc/passwd:/nonexistent/x", "--",
                     "true"), "/nonexistent")
    equal(len(w.audit()), before)


@claim("a second machine in one sandbox, and commands in a sandbox without one")
def _():
    w = world()
    got = w.cli("create", "guest", "--policy", w.policy, "--image", "default")
    refused(got, "a sandbox of this name exists", 1)
    body = json.dumps({"driver": "qemu", "cpus": 1, "memory_mib": 256})
    source = os.path.realpath(f"{store()}/tags/default")
    fds = [os.open(f"{source}/{name}", os.O_RDONLY)
           for name in ("kernel", "modules.cpio", "root.squashfs")]
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(w.socket)
        socket.send_fds(s, [(f"PUT /v1/sandboxes/guest/vm HTTP/1.1\r\nHost: t"
                             f"\r\nContent-Length: {len(body)}\r\n\r\n{body}")
                            .encode()], fds)
        answer = s.recv(65536)
    for fd in fds:
        os.close(fd)
    contains(answer, b" 409 ")
    contains(answer, b"a virtual machine runs in it already")
    w.cli("create", "bare", "--policy", w.policy).ok()
    for argv in (["exec", "bare", "--", "true"], ["stop", "bare"],
                 ["put", "bare", "/etc/passwd", "/x"],
                 ["get", "bare", "/x", f"{w.folder}/x"]):
        got = w.cli(*argv)
        assert got.code not in (0, 124), repr(got)
        contains(got.err, "no virtual machine of ours runs in it")
    w.cli("rm", "bare").ok()


@claim("put leaves out what is no file, and says so; get makes no link that leads out")
def _():
    w = world()
    tree = f"{w.folder}/odd"
    os.makedirs(tree)
    os.mkfifo(f"{tree}/fifo")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(f"{tree}/socket")
    os.mknod(f"{tree}/null", 0o666 | 0o020000, os.makedev(1, 3))
    w.file("odd/file", "x")
    got = w.cli("put", "guest", tree, "/srv/odd").ok()
    contains(got.err, "3 sockets, devices or FIFOs were left out")
    equal(w.cli("exec", "guest", "--", "ls", "/srv/odd").ok().out, "file\n")
    refused(w.cli("put", "guest", f"{tree}/fifo", "/srv/fifo"),
            "neither a file nor a folder")
    w.cli("exec", "guest", "--", "sh", "-c", """
        mkdir -p /tmp/e/in && cd /tmp/e && mkfifo fifo && mknod null c 1 3 &&
        ln -s /etc/passwd absolute && ln -s ../../x climbs && ln -s in/a ok &&
        echo a >in/a && chmod 6755 in/a && ln in/a hard
        printf x >"$(printf 'new\\nline\\033[31m')" """).ok()
    got = w.cli("get", "guest", "/tmp/e", f"{w.folder}/e").ok()
    equal(sorted(os.listdir(f"{w.folder}/e")),
          ["hard", "in", "new\nline\x1b[31m", "ok"])
    equal(os.stat(f"{w.folder}/e/in/a").st_mode & 0o7777, 0o755)
    lacks(got.err, "\x1b")
    for path in ("absolute", "climbs"):
        contains(got.err, path)
    again = w.cli("get", "guest", "/tmp/e/in/a", f"{w.folder}/e/hard")
    refused(again, "exists")
    refused(w.cli("get", "guest", "/nonexistent", f"{w.folder}/n"),
            "/nonexistent")


@claim("a full disk is the command's error, and the next command runs")
def _():
    w = world()
    got = w.cli("exec", "guest", "--", "dd", "if=/dev/zero", "of=/srv/full",
                "bs=64k", timeout=60)
    equal(got.code, 1, repr(got))
    contains(got.err, "No space left on device")
    big = f"{w.folder}/big"
    with open(big, "wb") as f:
        f.truncate(16 << 20)
    got = w.cli("put", "guest", big, "/srv/big", timeout=60)
    refused(got, "No space left on device")
    w.cli("exec", "guest", "--", "rm", "/srv/full").ok()


@claim("another member of the group may not exec, put, get, stop or start there; root may")
def _():
    w = world()
    other = ["setpriv", f"--reuid={MEMBER}", "--regid=100", "--clear-groups"]
    tapward = [f"{w.tree}/bin/tapward", "--socket", w.socket]
    contains(shell.run([*other, *tapward, "list"]).ok().out, "guest")
    for argv in (["exec", "guest", "--", "true"], ["stop", "guest"],
                 ["put", "guest", "/etc/hostname", "/x"],
                 ["get", "guest", "/etc/hostname", "/tmp/x"],
                 ["forward", "guest", "127.0.0.1:40080:80"]):
        got = shell.run([*other, *tapward, *argv], timeout=20)
        assert got.code not in (0, 124), repr(got)
        contains(got.err, "owner", repr(got))
    for call, body in (("POST /v1/sandboxes/guest/session", ""),
                       ("DELETE /v1/sandboxes/guest/vm", ""),
                       ("PUT /v1/sandboxes/guest/vm", '{"driver":"qemu"}')):
        code = ("import socket,sys; s=socket.socket(socket.AF_UNIX);"
                "s.connect(sys.argv[1]); s.sendall((sys.argv[2]+' HTTP/1.1\\r"
                "\\nHost: t\\r\\nContent-Length: '+str(len(sys.argv[3]))+"
                "'\\r\\n\\r\\n'+sys.argv[3]).encode());"
                "d,f,_,_=socket.recv_fds(s,65536,4); print(d.decode(), f)")
        got = shell.run([*other, "/usr/bin/python3", "-c", code, w.socket,
                         call, body])
        contains(got.ok().out, " 403 ")
        assert got.out.endswith(" []\n"), repr(got)
    w.cli("exec", "guest", "--", "true").ok()


def record(kind, name, mode=0o644, size=None, target=None):
    """One of vmm/archive.h."""
    data = struct.pack(">B", kind)
    if kind != 3:
        data += struct.pack(">H", mode)
    data += struct.pack(">qIH", 0, 0, len(name)) + name
    if size is not None:
        data += struct.pack(">Q", size)
    if target is not None:
        data += struct.pack(">H", len(target)) + target
    return data


ROOT = struct.pack(">I", 0x54574131) + record(1, b"", 0o755)
ARCHIVES = [
    ("a name that climbs", record(2, b"../out", size=1) + b"x",
     "a name that no file may have"),
    ("an absolute name", record(2, b"/tmp/out", size=1) + b"x",
     "a name that no file may have"),
    ("a set-user-id file", record(2, b"su", 0o4755, size=1) + b"x",
     "a mode with more than permissions"),
    ("a device", record(7, b"dev"), "a record of no known type"),
    ("a file through a link",
     record(3, b"d", target=b"..") + record(1, b"d", 0o755)
     + record(2, b"out", size=1) + b"x", ""),
]


@claim("a guest whose root speaks for its agent writes nothing outside of what was asked for")
def _():
    w = world()
    evil = w.hostile("guest", "archive",
                     *((ROOT + body).hex() for _, body, _ in ARCHIVES))
    for n, (what, _, says) in enumerate(ARCHIVES):
        folder = f"{w.folder}/evil{n}/in"
        os.makedirs(folder)
        got = until(lambda f=folder: speaks_evil(w, f), 60, what, 3)
        equal(got.code, 125, what + repr(got))
        contains(got.err, says, what)
        equal(os.listdir(f"{w.folder}/evil{n}"), ["in"], what)
        assert set(os.listdir(folder)) <= {"x"}, what
        for path in glob.glob(f"{folder}/**", recursive=True):
            equal(os.lstat(path).st_mode & 0o7000, 0, what + path)
            assert not os.path.islink(path), what + path
    evil.kill()
    evil.communicate()


def speaks_evil(w, folder):
    """A get that the guest's own agent did not answer any more."""
    got = w.cli("get", "guest", "/x", f"{folder}/x", timeout=60)
    return None if "No such file" in got.err else got


@claim("the world of wrong input ends and leaves nothing")
def _():
    w = world()
    w.cli("rm", "guest").ok()
    until(lambda: not w.left(), 5, "nothing is left")
    w.close()
    _world.clear()
