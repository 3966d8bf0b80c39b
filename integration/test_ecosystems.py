"""Package managers on nothing but the presets made for them: what a preset
allows is installed, and what it does not is refused in our words, at once.

Each in a namespace, and those that emulation does not make slow in a microVM as
well; TAPWARD_TEST_CLIENTS=all has all of them there, for minutes.
"""
import datetime
import json
import os
import time

from harness import ecosystems
from harness.claims import claim, contains, equal, until
from harness.node import programs
from harness.rust import rust_folder
from harness.shared_guest import SharedGuest
from harness.world import World

NOWHERE = "packages.example.com"
# From our refusal to the end of the program that was refused.
TOLD_WITHIN_S = 2
# In a guest under emulation these take seconds, the others up to a minute.
IN_GUEST = ("npm", "cargo", "go", "git", "docker")

POLICY = """\
[policy]
version = 1
preset  = {}
"""

# What is installed is an extension of the build: it needs no plugin.
POM = """\
<project><modelVersion>4.0.0</modelVersion>
<groupId>x</groupId><artifactId>x</artifactId><version>1</version>
<packaging>pom</packaging>{more}
<build><extensions><extension><groupId>com.example</groupId>
<artifactId>widget</artifactId><version>{version}</version>
</extension></extensions></build></project>
"""
ELSEWHERE = f"""
<pluginRepositories><pluginRepository><id>elsewhere</id>
<url>https://{NOWHERE}/m2</url></pluginRepository></pluginRepositories>
"""

MANIFEST = """\
[package]
name = "x"
version = "1.0.0"
edition = "2021"
license = "MIT"
description = "x"
[dependencies]
acme-widget = "1"
"""


class Client:
    """For a folder of its own in the guest: files, a script for sh(1) that
    installs and prints proof, and one that is refused for reason."""

    def __init__(self, name, preset, files, installs, refused, *,
                 proof="the widget", reason="no rule names this host"):
        self.name, self.preset, self.files = name, preset, files
        self.installs, self.refused = installs, refused
        self.proof, self.reason = proof, reason


def javascript(n):
    package = json.dumps({"name": "x", "version": "1.0.0"})
    npmrc = f"registry=https://{n.npm}/\n//{n.npm}/:_authToken=x\n"
    show = "cat node_modules/acme-widget/widget.js"
    return [
        Client("npm", "npm-read", {"package.json": package, ".npmrc": npmrc},
               "npm install --no-audit --no-fund --no-update-notifier "
               f"acme-widget; {show}",
               "npm publish --no-update-notifier",
               reason="preset npm-read allows reading only"),
        Client("yarn", "yarn-read", {"package.json": package},
               f"yarn add --registry https://{n.yarn} acme-widget; {show}",
               f"yarn add --registry https://{NOWHERE} acme-other"),
        Client("pnpm", "npm-read", {"package.json": package, ".npmrc": npmrc},
               f"pnpm add acme-widget; {show}",
               f"pnpm add --registry https://{NOWHERE}/ acme-other")]


def languages(n):
    pip = ("python3 -m pip install -q --isolated --no-cache-dir --no-deps "
           "--disable-pip-version-check --root-user-action=ignore "
           "--cert $PIP_CERT --target site")
    mvn = ("MAVEN_OPTS='-Duser.home=. -XX:TieredStopAtLevel=1 "
           "-XX:+UseSerialGC' mvn -B -ntp validate")
    return [
        Client("pip", "pypi-read", {},
               f"{pip} -i https://{n.python}/simple/ widget; "
               "cat site/widget.py",
               f"{pip} -i https://{NOWHERE}/simple/ other"),
        Client("cargo", "cargo-read",
               {"Cargo.toml": MANIFEST, "src/lib.rs": ""},
               "cargo fetch; cat .cargo/registry/src/*/acme-widget-*/src/*",
               "CARGO_REGISTRY_TOKEN=x cargo publish --no-verify",
               reason="no rule for this host allows this method"),
        Client("go", "go-read", {"go.mod": "module x.example/x\n"},
               "go mod download example.com/widget@v1.0.0; "
               "cat go/pkg/mod/example.com/*/widget.go",
               "go mod download other.example.com/widget@v1.0.0",
               proof="package widget"),
        Client("maven", "maven-read",
               {"pom.xml": POM.format(version="1.0.0", more=""),
                "2.xml": POM.format(version="2.0.0", more=ELSEWHERE)},
               f"{mvn}; ls .m2/repository/com/example/widget/1.0.0",
               f"{mvn} -f 2.xml", proof="widget-1.0.0.jar"),
        Client("gem", "rubygems-read", {},
               "gem install --no-document -i gems acme-widget; "
               "cat gems/gems/*/lib/*",
               "gem install -i gems --clear-sources --source "
               f"https://{NOWHERE}/ acme-other"),
        Client("composer", "composer-read", {"composer.json": "{}"},
               f"composer -n require {ecosystems.REPOSITORY}; "
               "cat vendor/acme/widget/widget.php",
               "echo '{\"repositories\": [{\"type\": \"composer\", \"url\": "
               f"\"https://{NOWHERE}\"}}]}}' >composer.json; "
               "composer -n require acme/other")]


def systems(n):
    apt = ("apt-get -o Dir::Etc::sourcelist=$PWD/sources.list "
           "-o Dir::Etc::sourceparts=- -o Dir::State::lists=$PWD/lists "
           "-o Dir::Cache=$PWD/cache -o Dir::State::status=$PWD/status "
           "-o APT::Sandbox::User=root -o Debug::NoLocking=1")
    skopeo = "skopeo --insecure-policy --tmpdir . copy -q"
    return [
        Client("apt", "debian-read",
               {"sources.list": f"deb [trusted=yes] http://{n.debian} apt/"},
               f": >status; {apt} update; {apt} install -y -d acme-widget; "
               "dpkg-deb -x cache/archives/*.deb x; "
               "cat x/usr/share/acme-widget/name",
               f"echo 'deb https://{NOWHERE} stable main' "
               f">sources.list; {apt} update"),
        Client("git", "github-read", {},
               f"git clone https://{n.forge}/{ecosystems.REPOSITORY} x; "
               "cat x/README",
               "cd x; git push origin HEAD:refs/heads/evil",
               reason="preset github-read allows fetching only"),
        Client("docker", "dockerhub-read", {},
               f"{skopeo} docker://docker.io/acme/widget:1 oci:x:1; "
               "cat x/index.json",
               f"{skopeo} docker://{NOWHERE}/acme/other:1 oci:y:1",
               proof="schemaVersion")]


_world = {}


def world():
    """The names of the presets' hosts lead to files of ours."""
    if not _world:
        n = ecosystems.Names()
        w = World({h: ecosystems.ADDRESS for h in n.all()}, more="""
[address ecosystems]
host = {}
range = 10.201.0.0/24
""".format("\nhost = ".join(n.all())))
        _world["w"] = w
        ecosystems.start(w, n)
        _world["clients"] = {c.name: c for c in
                             javascript(n) + languages(n) + systems(n)}
        _world["path"] = ":".join((
            f"{programs()}/node_modules/.bin", rust_folder(), "/usr/sbin",
            "/usr/bin", "/sbin", "/bin"))
    return _world["w"]


class Place:
    """A sandbox and the guest in it; kit and homes are folders of the guest."""

    def __init__(self, name, policy, guest, kit, homes):
        self.name, self.policy, self.guest = name, policy, guest
        self.kit, self.homes = kit, homes

    def sh(self, client, script):
        home = f"{self.homes}/{client.name}"
        return self.guest.run(
            ["sh", "-ec", f"mkdir -p {home}; cd {home}\n. {self.kit}/env.sh\n"
             f"{script}"], timeout=120, env={
                "PATH": _world["path"], "HOME": home, "GOSUMDB": "off",
                "CARGO_HOME": f"{home}/.cargo", "GOPATH": f"{home}/go",
                "GOFLAGS": "-mod=mod", "COMPOSER_ALLOW_SUPERUSER": "1"})

    def put(self, client):
        script = ["mkdir -p lists/partial cache/archives/partial src"]
        for path, text in client.files.items():
            script.append(f"cat >{path} <<'END'\n{text}\nEND")
        self.sh(client, "\n".join(script)).ok()


def namespace():
    w = world()
    if "namespace" not in _world:
        s = w.sandbox(POLICY.format("npm-read"))
        w.cli("env", s.name, "--directory", f"{w.folder}/kit").ok()
        _world["namespace"] = Place(s.name, s.policy, s, f"{w.folder}/kit",
                                    f"{w.folder}/homes")
    return _world["namespace"]


def microvm():
    w = world()
    if "microvm" not in _world:
        name = f"eco{w.id}"
        policy = w.file(f"{name}.ini", POLICY.format("npm-read"))
        info = json.loads(w.cli("create", name, "--policy", policy,
                                "--json").ok().out)
        w.cli("env", name, "--directory", f"{w.folder}/kit-vm", "--at",
              "/mnt/kit").ok()
        guest = _world["guest"] = SharedGuest(w, name, info)
        guest.run(["cp", "-r", f"{w.folder}/kit-vm", "/mnt/kit"]).ok()
        _world["microvm"] = Place(name, policy, guest, "/mnt/kit", "/mnt")
    return _world["microvm"]


def seconds(record):
    return datetime.datetime.fromisoformat(
        record["time"].replace("Z", "+00:00")).timestamp()


def check(place, name):
    w, client = _world["w"], _world["clients"][name]

    def refusals():
        return w.audit(place.name, event="request", verdict="deny")[before:]

    w.file(os.path.basename(place.policy), POLICY.format(client.preset))
    w.cli("reload", place.name, "--policy", place.policy).ok()
    before = 0
    before = len(refusals())
    place.put(client)
    got = place.sh(client, client.installs)
    equal(got.code, 0, repr(got))
    contains(got.out, client.proof, repr(got))
    equal(refusals(), [], "what an install was refused")
    got = place.sh(client, client.refused)
    ended = time.time()
    assert got.code != 0, repr(got)
    contains(got.both, client.reason, repr(got))
    first = until(refusals, 5, f"a refusal: {got!r}")[0]
    told = ended - seconds(first)
    assert told < TOLD_WITHIN_S, f"{told:.2f} s after our answer: {got!r}"
    return f"told in {told:.2f} s"


def register(name):
    @claim(f"{name}: its preset installs a package, the rest is refused in our words within 2 s")
    def _():
        return check(namespace(), name)

    if name not in IN_GUEST and \
            os.environ.get("TAPWARD_TEST_CLIENTS") != "all":
        return

    @claim(f"{name} in a microVM: installs by its preset, is told within 2 s of what is not in it")
    def _():
        return check(microvm(), name)


for _name in ("npm", "yarn", "pnpm", "pip", "cargo", "go", "maven", "gem",
              "composer", "apt", "git", "docker"):
    register(_name)


@claim("the world of the package managers ends and leaves nothing")
def _():
    w = world()
    if "guest" in _world:
        _world["guest"].close()
    w.close()
    _world.clear()
