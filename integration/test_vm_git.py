"""What git sees of a repository goes up, and a patch comes back; whatever the
repository is and whatever the guest makes of it, nothing of either is run."""
import json
import os
import subprocess

from harness import shell
from harness.claims import claim, contains, equal, lacks, until
from harness.vm import VmWorld

SECRET = "ghp_0123456789abcdefghij"
_world = {}

REPO = f"""
set -e
git init -q .
printf '#!/bin/sh\\necho ran >>%(ran)s\\ncat\\n' >../evil && chmod +x ../evil
echo '*.log' >.gitignore
echo '* filter=f diff=d' >.gitattributes
echo one >a && mkdir src && echo two >src/b && echo {SECRET} >x.log
git add . && git -c user.name=a -c user.email=a@example.com commit -qm 1
echo new >new
for key in core.fsmonitor core.pager core.sshCommand diff.external \\
    filter.f.clean filter.f.smudge filter.f.process diff.d.textconv; do
  git config $key $PWD/../evil
done
git config url.https://user:{SECRET}@example.com/.insteadOf https://example.com/
cp ../evil .git/hooks/post-index-change
"""


def world():
    if not _world:
        w = _world["w"] = VmWorld()
        w.ran = f"{w.folder}/ran"
        w.repo = f"{w.folder}/repo"
        os.mkdir(w.repo)
        shell.run(["sh", "-c", REPO % {"ran": w.ran}], cwd=w.repo).ok()
    return _world["w"]


def head(w):
    return shell.run(["git", "-C", w.repo, "-c", "core.fsmonitor=false",
                      "rev-parse", "HEAD"]).ok().out.strip()


# The secret in two halves, or the command would find itself.
CHANGE = f"""
find . ! -type d | sort
grep -rlF {SECRET[:9]}''{SECRET[9:]} / --exclude-dir=proc --exclude-dir=sys \\
    --exclude-dir=dev
echo three >>a; rm src/b; echo fresh >"src/two
lines"; echo y >y.log
mkdir -p .git/hooks; printf '[core]\\nfsmonitor = evil\\n' >.git/config
ln -s /etc/shadow leads-out
"""


@claim("run --git --patch: no ignored file, nothing of .git, no credential; what was changed comes back")
def _():
    w = world()
    patch = f"{w.folder}/changes.patch"
    before = subprocess.run(["tar", "c", "-C", w.repo, "."], check=True,
                            capture_output=True).stdout
    got = w.vm_run("--git", "--upload", f"{w.repo}:/job", "--patch", patch,
                   "--workdir", "/job", "--", "sh", "-c", CHANGE)
    equal(got.code, 0, repr(got))
    equal(got.out.splitlines(), ["./.gitattributes", "./.gitignore", "./a",
                                 "./new", "./src/b"], repr(got))
    contains(got.err, "1 links that lead out")
    equal(subprocess.run(["tar", "c", "-C", w.repo, "."], check=True,
                         capture_output=True).stdout, before, "the repository")
    assert not os.path.exists(w.ran), "something of the repository was run"
    record = [r for r in w.audit(event="run") if r["method"] == "exec"][-1]
    contains(record["detail"], "exit code 0; image ")
    contains(record["detail"], f"; commit {head(w)}")
    assert record["ms"] >= 0 and len(record["policy"]) == 64, record
    copy = f"{w.folder}/copy"
    shell.run(["sh", "-ec", f"mkdir {copy}; cd {copy}; git init -q .; cp -r "
               f"../repo/a ../repo/src ../repo/new .; git apply {patch}"]).ok()
    with open(f"{copy}/a", encoding="ascii") as f:
        equal(f.read(), "one\nthree\n")
    equal(sorted(os.listdir(f"{copy}/src")), ["two\nlines"])
    equal(sorted(os.listdir(copy)), [".git", "a", "new", "src"])
    w.gone()


@claim("what git cannot see, a patch that cannot be made, a commit that is none: told before anything starts")
def _():
    w = world()
    there = w.file("there", "")
    bare = f"{w.folder}/bare"
    os.mkdir(bare)
    count = len(w.audit())
    for says, code, *argv in (
            ("is in no repository of git", 125, "--git", "--upload", bare),
            ("File exists", 125, "--git", "--upload", w.repo, "--patch", there),
            ("No such file", 125, "--git", "--upload", w.repo, "--patch",
             "/nonexistent/x"),
            ("--patch needs --git", 64, "--upload", w.repo, "--patch",
             f"{w.folder}/p"),
            ("--patch needs --git", 64, "--git", "--patch", f"{w.folder}/p"),
            ("two go up", 64, "--git", "--upload", f"{w.repo}:/a", "--upload",
             f"{w.repo}:/b", "--patch", f"{w.folder}/p"),
            ("usage", 64, "--commit", "HEAD")):
        got = w.vm_run(*argv, "--", "true")
        equal(got.code, code, repr(got))
        contains(got.err, says, repr(got))
    equal(len(w.audit()), count)
    assert not os.path.exists(w.ran), "something of the repository was run"


def change(w, script):
    w.cli("exec", "g", "--workdir", "/job", "--", "sh", "-c", script).ok()


@claim("put --git; --commit and the policy's digest are in each record of a machine that goes on")
def _():
    w = world()
    commit = "0123456789abcdef0123456789abcdef01234567"
    w.cli("create", "g", "--policy", w.policy, "--image", "default",
          "--commit", commit, timeout=150).ok()
    w.cli("put", "g", "--git", w.repo, "/job").ok()
    got = w.cli("exec", "g", "--", "find", "/job", "-name", ".git*").ok()
    equal(sorted(got.out.split()), ["/job/.gitattributes", "/job/.gitignore"])
    digest = json.loads(w.cli("show", "g", "--json").ok().out)["policy_digest"]
    for method in ("put", "exec"):
        record = w.audited("g", event="run", method=method)
        contains(record["detail"], f"; commit {commit}")
        equal(record["policy"], digest)
    assert not os.path.exists(w.ran), "something of the repository was run"
    w.cli("rm", "g").ok()


@claim("the trap of these claims works: git itself runs what the repository names")
def _():
    w = world()
    shell.run(["git", "-C", w.repo, "status"])
    assert os.path.exists(w.ran)


@claim("the world of repositories ends and leaves nothing")
def _():
    w = world()
    until(lambda: not w.left(), 5, "nothing is left")
    lacks(" ".join(os.listdir("/tmp")), "tapward-git-")
    w.close()
    _world.clear()
