"""Debian's docker-registry, and the token server that its specification has.

The registry checks each token by itself: signature, audience, time, and that
it is for the repository and for what is done there.
"""
import base64
import json
import os
import ssl
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer

from . import shell
from .claims import until
from .origins import listen_in

CONFIG = """
version: 0.1
log: {{ level: warn, accesslog: {{ disabled: true }} }}
storage: {{ filesystem: {{ rootdirectory: {folder}/storage }} }}
http: {{ addr: "{address}:443", tls: {{ certificate: {cert}, key: {key} }} }}
auth:
  token:
    realm: https://{auth}/token
    service: {service}
    issuer: {auth}
    rootcertbundle: {signer}
"""
SERVICE = "registry of the tests"


def _b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


class TokenServer:
    """Gives user what is asked for of repositories below its prefix."""

    def __init__(self, world, name, address, user, password, prefix):
        self.world, self.name, self.prefix = world, name, prefix
        self.login = "Basic " + base64.b64encode(
            f"{user}:{password}".encode()).decode("ascii")
        self.asked, self.tokens = [], []  # scopes, and what was given
        self.key = f"{world.folder}/signer.key"
        self.cert = f"{world.folder}/signer.pem"
        shell.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
                   "-keyout", self.key, "-out", self.cert, "-days", "2",
                   "-subj", "/CN=signer"]).ok()
        self.server = HTTPServer((address, 443), self._handler(), False)
        self.server.socket.close()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*world.authority.issue(name))
        self.server.socket = context.wrap_socket(
            listen_in(world.net, address, 443), server_side=True,
            do_handshake_on_connect=False)
        self.thread = threading.Thread(target=self.server.serve_forever,
                                       daemon=True)
        self.thread.start()

    def _sign(self, claims):
        with open(self.cert, encoding="ascii") as f:
            der = ssl.PEM_cert_to_DER_cert(f.read())
        head = {"typ": "JWT", "alg": "RS256",
                "x5c": [base64.b64encode(der).decode("ascii")]}
        text = ".".join(_b64(json.dumps(part).encode())
                        for part in (head, claims))
        raw = self.world.file("token.txt", text)
        shell.run(["openssl", "dgst", "-sha256", "-sign", self.key, "-out",
                   f"{raw}.sig", raw]).ok()
        with open(f"{raw}.sig", "rb") as f:
            return f"{text}.{_b64(f.read())}"

    def _grant(self, scope):
        """Rights below the prefix; a scope is parted from its right."""
        rest, actions = scope.rsplit(":", 1)
        kind, name = rest.split(":", 1)
        is_ours = kind == "repository" and name.startswith(self.prefix)
        return {"type": kind, "name": name,
                "actions": actions.split(",") if is_ours else []}

    def answer(self, path, login):
        """(status, object) for one request."""
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)
        if login != self.login or query.get("service") != [SERVICE]:
            return 401, {"errors": [{"code": "UNAUTHORIZED"}]}
        scopes = query.get("scope", [])
        now = int(time.time())
        token = self._sign({
            "iss": self.name, "sub": "ci", "aud": SERVICE, "exp": now + 60,
            "nbf": now - 60, "iat": now, "jti": f"{now}-{len(self.asked)}",
            "access": [self._grant(scope) for scope in scopes]})
        self.asked.append(" ".join(scopes))
        self.tokens.append(token)
        return 200, {"token": token, "expires_in": 60}

    def _handler(self):
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                status, body = server.answer(
                    self.path, self.headers.get("Authorization"))
                raw = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format, *args):
                pass

        return Handler

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Registry:
    """In the tests' network, under names, and under auth's tokens."""

    def __init__(self, world, address, auth, *names):
        folder = f"{world.folder}/registry"
        os.makedirs(f"{folder}/storage")
        cert, key = world.authority.issue(*names)
        config = world.file("registry.yml", CONFIG.format(
            folder=folder, address=address, cert=cert, key=key,
            auth=auth.name, service=SERVICE, signer=auth.cert))
        self.log = f"{folder}/log"
        self.process = shell.start(
            world.net.plain(["docker-registry", "serve", config]), self.log)
        until(lambda: shell.run(world.net.plain(
            ["curl", "-sS", "--max-time", "5", "--cacert", world.authority.ca,
             "--resolve", f"{names[0]}:443:{address}",
             f"https://{names[0]}/v2/"])).code == 0, 30,
              f"docker-registry answers (see {self.log})")

    def close(self):
        shell.stop(self.process)
