"""Package registries that presets name, as files that nginx serves.

Each holds one small package, in the form that its client installs. What a host
is called comes from the preset itself, so that a test runs on nothing else.
"""
import base64
import hashlib
import io
import json
import os
import tarfile
import zipfile

from . import shell
from .git import LOCATION, make_repository, start_backend
from .images import image_files
from .origins import Nginx
from .wheels import WHEEL, make_wheel
from .world import TREE

ADDRESS = "10.201.0.70"
# What a wildcard of a preset stands for here.
LABEL = "registry-under-test"
VERSION = "1.0.0"
REPOSITORY = "acme/widget"

SERVER = """
  server {{ listen {address}:443 ssl default_server; listen {address}:80;
    ssl_certificate {cert}; ssl_certificate_key {key};
    types {{ }} default_type application/json;
    location / {{ root {www}/$host; try_files $uri.file =404; }}
    location ~ /simple/ {{ default_type text/html; root {www}/$host;
      try_files $uri.file =404; }} }}
  server {{ listen {address}:443 ssl; server_name {codeload};
    ssl_certificate {cert}; ssl_certificate_key {key};
    location / {{ root {www}/$host; try_files $uri.file =404; }} }}
  server {{ listen {address}:443 ssl; server_name {zipball};
    ssl_certificate {cert}; ssl_certificate_key {key};
    location / {{ return 302 https://{codeload}/{repository}/legacy.zip/1; }} }}
  server {{ listen {address}:443 ssl; server_name {images};
    ssl_certificate {cert}; ssl_certificate_key {key};
    types {{ }} default_type {manifest};
    if ($http_authorization != "Bearer of-the-tests") {{ return 401; }}
    add_header WWW-Authenticate
      'Bearer realm="https://{auth}/token",service="registry of the tests"'
      always;
    location = /v2/ {{ return 200 "{{}}"; }}
    location / {{ root {www}/$host; try_files $uri.file =404; }} }}
  server {{ listen {address}:443 ssl; server_name {forge};
    ssl_certificate {cert}; ssl_certificate_key {key}; {git} }}
"""


def hosts(preset, rule):
    """The names that a rule of a preset is about, in their order."""
    text = shell.run([f"{TREE}/bin/tapward", "preset", "show", preset]).ok().out
    found, section = [], None
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]").split()[-1]
        elif section == rule and line.split("=")[0].strip() == "host":
            found += [h.strip().replace("*", LABEL)
                      for h in line.split("=", 1)[1].split(",")]
    assert found, f"{preset} has no rule {rule}"
    return found


class Names:
    """The hosts that the ecosystems' clients ask."""

    def __init__(self):
        self.npm = hosts("npm-read", "npm-read")[0]
        self.yarn = hosts("yarn-read", "yarn-read-registry")[0]
        self.python = hosts("pypi-read", "pypi-read-index")[0]
        self.wheels = hosts("pypi-read", "pypi-read-files")[0]
        self.crates_index = hosts("cargo-read", "cargo-read-index")[0]
        self.crates = hosts("cargo-read", "cargo-read-crates")[0]
        self.crates_api = hosts("cargo-read", "cargo-read-download")[0]
        self.go = hosts("go-read", "go-read-proxy")[0]
        self.debian = hosts("debian-read", "debian-read-http")[0]
        self.forge = hosts("github-read", "github-read-refs")[0]
        self.images = hosts("dockerhub-read", "dockerhub-read")[0]
        self.auth = hosts("dockerhub-read", "dockerhub-read-token")[0]
        self.maven = hosts("maven-read", "maven-read-central")[0]
        self.gems = hosts("rubygems-read", "rubygems-read")[0]
        self.gems_index = hosts("rubygems-read", "rubygems-read-index")[0]
        self.php = hosts("composer-read", "composer-read-index")[0]
        self.zipball = hosts("composer-read", "composer-read-dist")[0]
        self.codeload = hosts("composer-read", "composer-read-archives")[0]

    def all(self):
        return sorted(set(vars(self).values()))


def digest(name, data):
    return hashlib.new(name, data).hexdigest()


def tarred(files, mode="w:gz", name="", time=1):
    """An archive of {path: bytes or text}, below a folder if it has a name."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode=mode,
                      format=tarfile.USTAR_FORMAT) as tar:
        for path, data in files.items():
            data = data.encode() if isinstance(data, str) else data
            member = tarfile.TarInfo(name + path)
            member.size, member.mtime = len(data), time
            tar.addfile(member, io.BytesIO(data))
    return raw.getvalue()


def zipped(files):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as f:
        for path, text in files.items():
            f.writestr(path, text)
    return raw.getvalue()


def javascript(n):
    """npm, pnpm and yarn."""
    tgz = tarred({"package.json": json.dumps(
        {"name": "acme-widget", "version": VERSION, "main": "widget.js"}),
        "widget.js": "module.exports = 'the widget'\n"}, name="package/")
    for host in (n.npm, n.yarn):
        url = f"/acme-widget/-/acme-widget-{VERSION}.tgz"
        yield host, url, tgz
        yield host, "/acme-widget", json.dumps({
            "name": "acme-widget", "dist-tags": {"latest": VERSION},
            "versions": {VERSION: {
                "name": "acme-widget", "version": VERSION,
                "main": "widget.js", "dist": {
                    "tarball": f"https://{host}{url}",
                    "shasum": digest("sha1", tgz),
                    "integrity": "sha512-" + base64.b64encode(
                        hashlib.sha512(tgz).digest()).decode()}}}})


def python(n):
    raw = io.BytesIO()
    make_wheel(raw)
    yield n.wheels, f"/packages/{WHEEL}", raw.getvalue()
    yield n.python, "/simple/widget/", (
        f'<!DOCTYPE html><a href="https://{n.wheels}/packages/{WHEEL}'
        f'#sha256={digest("sha256", raw.getvalue())}">{WHEEL}</a>\n')


def rust(n):
    archive = tarred({
        "Cargo.toml": f'[package]\nname = "acme-widget"\nedition = "2021"\n'
                      f'version = "{VERSION}"\n',
        "src/lib.rs": "pub const NAME: &str = \"the widget\";\n"},
        name=f"acme-widget-{VERSION}/")
    yield n.crates_index, "/config.json", json.dumps(
        {"dl": f"https://{n.crates}/crates", "api": f"https://{n.crates_api}"})
    yield n.crates_index, "/ac/me/acme-widget", json.dumps(
        {"name": "acme-widget", "vers": VERSION, "deps": [], "features": {},
         "cksum": digest("sha256", archive), "yanked": False})
    yield n.crates, f"/crates/acme-widget/{VERSION}/download", archive


def golang(n):
    module, version = "example.com/widget", f"v{VERSION}"
    mod = f"module {module}\n"
    base = f"/{module}/@v/{version}"
    yield n.go, f"{base}.info", json.dumps({"Version": version})
    yield n.go, f"{base}.mod", mod
    yield n.go, f"{base}.zip", zipped({
        f"{module}@{version}/go.mod": mod,
        f"{module}@{version}/widget.go": "package widget\n"})


def debian(n, folder):
    """A package of one file, in a flat archive without a signature."""
    place = f"{folder}/deb"
    os.makedirs(f"{place}/DEBIAN")
    os.makedirs(f"{place}/usr/share/acme-widget")
    for path, text in (
            ("DEBIAN/control", "Package: acme-widget\nArchitecture: all\n"
             f"Version: {VERSION}\nMaintainer: a <a@example.com>\n"
             "Description: a widget\n"),
            ("usr/share/acme-widget/name", "the widget\n")):
        with open(f"{place}/{path}", "w", encoding="ascii") as f:
            f.write(text)
    shell.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", place,
               f"{folder}/widget.deb"]).ok()
    with open(f"{folder}/widget.deb", "rb") as f:
        deb = f.read()
    packages = ("Package: acme-widget\nArchitecture: all\n"
                f"Version: {VERSION}\nMaintainer: a <a@example.com>\n"
                f"Filename: apt/widget.deb\nSize: {len(deb)}\n"
                f"SHA256: {digest('sha256', deb)}\nDescription: a widget\n\n")
    yield n.debian, "/apt/widget.deb", deb
    yield n.debian, "/apt/Packages", packages
    yield n.debian, "/apt/Release", (
        f"Date: Mon, 30 Nov 2026 00:00:00 UTC\nSHA256:\n "
        f"{digest('sha256', packages.encode())} {len(packages)} Packages\n")


def images(n):
    """An image of one layer, as the registry's API serves it."""
    base = "/v2/acme/widget"
    manifest, blobs = image_files(1 << 16)
    yield n.images, f"{base}/manifests/1", manifest
    for name, data in blobs.items():
        yield n.images, f"{base}/blobs/{name}", data
    yield n.auth, "/token", json.dumps({"token": "of-the-tests"})


def maven(n):
    """A build extension, which needs no plugin. Beside each of them Maven 3
    wants plexus-utils of that version, whatever it is."""
    jar = zipped({"META-INF/MANIFEST.MF": "Manifest-Version: 1.0\n"})
    for group, name, version in (("com.example", "widget", VERSION),
                                 ("org.codehaus.plexus", "plexus-utils", "1.1")):
        base = (f"/maven2/{group.replace('.', '/')}/{name}/{version}/"
                f"{name}-{version}")
        pom = ("<project><modelVersion>4.0.0</modelVersion>"
               f"<groupId>{group}</groupId><artifactId>{name}</artifactId>"
               f"<version>{version}</version></project>").encode()
        for suffix, data in ((".pom", pom), (".jar", jar)):
            yield n.maven, base + suffix, data
            yield n.maven, f"{base}{suffix}.sha1", digest("sha1", data)


GEM = """
require "rubygems/package"
spec = Gem::Specification.new do |s|
  s.name, s.version, s.summary = "acme-widget", ARGV[0], "a widget"
  s.authors, s.files = ["a"], ["lib/acme_widget.rb"]
end
Gem::DefaultUserInteraction.ui = Gem::SilentUI.new
Gem::Package.build(spec, true)
File.binwrite("spec.rz", Gem.deflate(Marshal.dump(spec)))
"""


def gems(n, folder):
    """Made by RubyGems itself, since its index is a dump of Ruby's objects."""
    os.makedirs(f"{folder}/gem/lib")
    with open(f"{folder}/gem/lib/acme_widget.rb", "w", encoding="ascii") as f:
        f.write("NAME = 'the widget'\n")
    shell.run(["ruby", "-e", GEM, VERSION], cwd=f"{folder}/gem").ok()
    full = f"acme-widget-{VERSION}"
    with open(f"{folder}/gem/{full}.gem", "rb") as f:
        gem = f.read()
    with open(f"{folder}/gem/spec.rz", "rb") as f:
        spec = f.read()
    yield n.gems_index, "/", "\n"
    yield n.gems_index, "/info/acme-widget", (
        f"---\n{VERSION} |checksum:{digest('sha256', gem)}\n")
    yield n.gems_index, f"/quick/Marshal.4.8/{full}.gemspec.rz", spec
    yield n.gems_index, f"/gems/{full}.gem", gem


def php(n):
    yield n.php, "/packages.json", json.dumps(
        {"packages": [], "metadata-url": "/p2/%package%.json",
         "available-packages": [REPOSITORY]})
    yield n.php, f"/p2/{REPOSITORY}.json", json.dumps(
        {"packages": {REPOSITORY: [
            {"name": REPOSITORY, "version": VERSION,
             "version_normalized": f"{VERSION}.0", "dist": {
                 "type": "zip", "reference": "1", "url":
                 f"https://{n.zipball}/repos/{REPOSITORY}/zipball/1"}}]}})
    yield n.codeload, f"/{REPOSITORY}/legacy.zip/1", zipped({
        "acme-widget-1/composer.json": json.dumps({"name": REPOSITORY}),
        "acme-widget-1/widget.php": "<?php // the widget\n"})


def start(w, n):
    """All of them at one address of a world's network."""
    www = f"{w.folder}/www"
    for made in (javascript(n), python(n), rust(n), golang(n), images(n),
                 debian(n, w.folder), maven(n), gems(n, w.folder), php(n)):
        for host, path, data in made:
            place = f"{www}/{host}{path}.file"
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "wb") as f:
                f.write(data.encode() if isinstance(data, str) else data)
    make_repository(w.folder, "widget", [("README", b"the widget\n")])
    os.makedirs(f"{w.folder}/repos/acme")
    os.rename(f"{w.folder}/repos/widget.git",
              f"{w.folder}/repos/{REPOSITORY}.git")
    start_backend(w)
    cert, key = w.authority.issue(*n.all())
    w.own(Nginx(w.net, f"{w.folder}/nginx", SERVER.format(
        address=ADDRESS, cert=cert, key=key, www=www, repository=REPOSITORY,
        manifest="application/vnd.oci.image.manifest.v1+json",
        git=LOCATION.format(location=f"/{REPOSITORY}", more="",
                            folder=w.folder), **vars(n))))
