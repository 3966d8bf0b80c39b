"""A private npm registry that answers 401 without its token."""
import json
import os

from . import shell
from .claims import until
from .node import programs

CONFIG = """
storage: {folder}/storage
auth:
  htpasswd: {{ file: {folder}/htpasswd, algorithm: bcrypt, rounds: 4 }}
uplinks: {{}}
packages:
  '**': {{ access: $authenticated, publish: $authenticated }}
middlewares: {{ audit: {{ enabled: false }} }}
log: {{ type: stdout, format: json, level: http }}
listen: https://{address}:443
https: {{ key: {key}, cert: {cert} }}
max_body_size: 100mb
"""


class Verdaccio:
    """In the tests' network, under name, with one user and its token."""

    def __init__(self, world, name, address):
        self.world, self.name, self.address = world, name, address
        self.folder = f"{world.folder}/verdaccio"
        os.makedirs(f"{self.folder}/storage")
        cert, key = world.authority.issue(name)
        config = world.file("verdaccio.yaml", CONFIG.format(
            folder=self.folder, address=address, cert=cert, key=key))
        self.log = f"{self.folder}/log"
        env = {k: v for k, v in os.environ.items()
               if not k.startswith("npm_")}
        self.process = shell.start(
            world.net.plain(["node", f"{programs()}/node_modules/.bin/verdaccio",
                             "--config", config]), self.log, env=env,
            cwd=self.folder)
        until(self.answers, 30, f"verdaccio answers (see {self.log})")
        self.token = self.add_user("ci", "a-password-of-the-tests")

    def ask(self, *argv):
        return shell.run(self.world.net.plain(
            ["curl", "-sS", "--max-time", "10", "--cacert",
             self.world.authority.ca, "--resolve",
             f"{self.name}:443:{self.address}", *argv]))

    def answers(self):
        return self.ask(f"https://{self.name}/-/ping").code == 0

    def add_user(self, user, password):
        body = json.dumps({"name": user, "password": password})
        got = self.ask("-X", "PUT", "-H", "Content-Type: application/json",
                       "-d", body,
                       f"https://{self.name}/-/user/org.couchdb.user:{user}").ok()
        return json.loads(got.out)["token"]

    def publish(self, package, version, files):
        """Publishes a package from outside any sandbox; files: {name: text}."""
        folder = f"{self.folder}/package"
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/package.json", "w", encoding="ascii") as f:
            json.dump({"name": package, "version": version,
                       "description": "made by a test"}, f)
        for name, text in files.items():
            with open(f"{folder}/{name}", "w", encoding="ascii") as f:
                f.write(text)
        npmrc = self.world.file("publish.npmrc", (
            f"//{self.name}/:_authToken={self.token}\n"
            f"registry=https://{self.name}/\ncafile={self.world.authority.ca}\n"
            "update-notifier=false\n"), 0o600)
        hosts = self.world.file("publish.hosts", f"{self.address} {self.name}\n")
        # A mount namespace of its own, for /etc/hosts: the world's resolver
        # is for tapward alone, so that its log is tapward's questions.
        shell.run(["unshare", "--mount", "sh", "-ec",
                   f"mount --bind {hosts} /etc/hosts; exec nsenter "
                   f"--net={self.world.net.path} npm publish --userconfig "
                   f"{npmrc} --cache {self.folder}/npm-cache {folder}"],
                  timeout=60).ok()
        os.unlink(npmrc)

    def close(self):
        shell.stop(self.process)
