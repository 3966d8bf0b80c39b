"""An OAuth 2.0 authorization server that nobody here wrote: oidc-provider."""
import json
import os
import urllib.parse

from . import shell
from .claims import until
from .node import programs

SCRIPT = """
import crypto from 'node:crypto';
import fs from 'node:fs';
import https from 'node:https';
const [,, modules, config] = process.argv;
const { default: Provider } =
  await import(`file://${modules}/oidc-provider/lib/index.js`);
const c = JSON.parse(fs.readFileSync(config));
for (const client of c.clients) {
  if (!client.public_key) continue;
  const key = crypto.createPublicKey(fs.readFileSync(client.public_key));
  client.jwks = { keys: [{ ...key.export({ format: 'jwk' }), alg: 'ES256' }] };
  delete client.public_key;
}
const provider = new Provider(c.issuer, {
  clients: c.clients,
  scopes: ['read', 'write'],
  ttl: { ClientCredentials: c.ttl },
  clientAuthMethods: ['client_secret_basic', 'client_secret_post',
    'private_key_jwt'],
  features: {
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    devInteractions: { enabled: false },
  },
});
const answer = provider.callback();
https.createServer({ key: fs.readFileSync(c.key), cert: fs.readFileSync(c.cert) },
  (req, res) => {
    res.on('finish', () => console.log(JSON.stringify(
      { method: req.method, url: req.url, status: res.statusCode })));
    answer(req, res);
  }).listen(443, c.address);
"""


class Issuer:
    """In the tests' network, under name. clients: as oidc-provider has them,
    but for public_key, a file in PEM."""

    def __init__(self, world, name, address, clients, ttl):
        self.world, self.name, self.address = world, name, address
        self.url = f"https://{name}"
        cert, key = world.authority.issue(name)
        self.folder = f"{world.folder}/issuer"
        os.makedirs(self.folder)
        self.script = world.file("issuer/issuer.mjs", SCRIPT)
        self.config = world.file("issuer/issuer.json", json.dumps(
            {"issuer": self.url, "clients": clients, "ttl": ttl, "key": key,
             "cert": cert, "address": address}))
        self.log = f"{self.folder}/log"
        self.process = None
        self.start()

    def start(self):
        self.process = shell.start(
            self.world.net.plain(["node", self.script,
                                  f"{programs()}/node_modules", self.config]),
            self.log)
        until(self.answers, 30, f"oidc-provider answers (see {self.log})")

    def stop(self):
        shell.stop(self.process)

    close = stop

    def ask(self, *argv):
        return shell.run(self.world.net.plain(
            ["curl", "-sS", "--max-time", "10", "--cacert",
             self.world.authority.ca, "--resolve",
             f"{self.name}:443:{self.address}", *argv]))

    def answers(self):
        return self.ask(f"{self.url}/.well-known/openid-configuration").code == 0

    def is_active(self, token, user, password):
        """What the issuer itself says of a token."""
        got = self.ask("-u", ":".join(urllib.parse.quote(part, safe="")
                                      for part in (user, password)),
                       "--data-urlencode", f"token={token}",
                       f"{self.url}/token/introspection").ok()
        return json.loads(got.out)["active"]

    def count(self, url, method="POST", status=200):
        """Requests so far that were answered so."""
        with open(self.log, encoding="utf-8") as f:
            lines = [json.loads(line) for line in f if line.startswith("{")]
        return sum(1 for line in lines if line["url"] == url and
                   line["method"] == method and line["status"] == status)
