"""The issuers of Google Cloud and of Microsoft Entra, as their documentation has
them: each field of each question is held to it, and openssl checks signatures.
"""
import base64
import json
import ssl
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer

from . import shell
from .origins import listen_in

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
EMAIL = "ci@acme-prod.iam.gserviceaccount.com"
KEY_ID = "0123456789abcdef0123456789abcdef01234567"
IAM = "https://www.googleapis.com/auth/iam"


NONE = object()


class Refused(Exception):
    """What an issuer says no to."""


def want(is_so, why):
    if not is_so:
        raise Refused(why)


def _raw(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def opened(world, jwt, public, pss=False):
    """(head, claims) of a JWT that openssl finds signed with public's key."""
    text, _, signature = jwt.rpartition(".")
    head, claims = (json.loads(_raw(part)) for part in text.split("."))
    data = world.file("jwt.txt", text)
    with open(f"{data}.sig", "wb") as f:
        f.write(_raw(signature))
    options = ["-sigopt", "rsa_padding_mode:pss", "-sigopt",
               "rsa_pss_saltlen:32"] if pss else []
    got = shell.run(["openssl", "dgst", "-sha256", "-verify", public, *options,
                     "-signature", f"{data}.sig", data])
    want(got.code == 0, f"signature: {got.out}")
    want(head["alg"] == ("PS256" if pss else "RS256"), head)
    want(head["typ"] == "JWT", head)
    return head, claims


def key_pair(world, name):
    """(private, public) in PEM, as files."""
    key = world.file(f"{name}.key", "", 0o600)
    shell.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt",
               "rsa_keygen_bits:2048", "-out", key]).ok()
    shell.run(["openssl", "pkey", "-in", key, "-pubout", "-out",
               f"{key}.pub"]).ok()
    return key, f"{key}.pub"


class Server:
    """Over TLS, under names; answer(host, path, fields, body) of a subclass
    gives an object to say, or raises Refused."""

    def __init__(self, world, address, *names):
        self.world = world
        self.log = []  # (host and path, why it was refused or "")
        self.server = HTTPServer((address, 443), self._handler(), False)
        self.server.socket.close()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*world.authority.issue(*names))
        self.server.socket = context.wrap_socket(
            listen_in(world.net, address, 443), server_side=True,
            do_handshake_on_connect=False)
        self.thread = threading.Thread(target=self.server.serve_forever,
                                       daemon=True)
        self.thread.start()

    def answer(self, host, path, fields, body):
        raise NotImplementedError

    def respond(self, method, host, path, fields, body):
        """(status, object); NONE for an answer without a body."""
        try:
            want(method == "POST", method)
            said = self.answer(host, path, fields, body)
            self.log.append((host + path, ""))
            return 200, said
        except Refused as e:
            self.log.append((host + path, str(e)))
            return 400, {"error": "invalid_request",
                         "error_description": f"words of the issuer: {e}"}

    def _handler(self):
        server = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                size = int(self.headers.get("Content-Length", "0"))
                body = self.rfile.read(size).decode("ascii")
                status, said = server.respond(
                    self.command, self.headers["Host"], self.path,
                    self.headers, body)
                raw = b"" if said is NONE else json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Type",
                                 "application/json; charset=UTF-8")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            do_GET = do_POST = do_DELETE = answer

            def log_message(self, format, *args):
                pass

        return Handler

    @staticmethod
    def form(fields, body, *names):
        """The fields of a form, each there once, and no other."""
        want(fields["Content-Type"] == "application/x-www-form-urlencoded",
             fields["Content-Type"])
        pairs = urllib.parse.parse_qsl(body, strict_parsing=True)
        want([k for k, _ in pairs] == list(dict(pairs)), "twice the same field")
        want(set(dict(pairs)) == set(names), f"fields: {list(dict(pairs))}")
        return dict(pairs)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Google(Server):
    """token.NAME, iam.NAME and sts.NAME. issued: what each token is good for."""

    def __init__(self, world, address, name, public, ttl):
        self.name, self.public, self.ttl = name, public, ttl
        self.email, self.key_id = EMAIL, KEY_ID
        self.issued = {}
        super().__init__(world, address, f"token.{name}", f"iam.{name}",
                         f"sts.{name}")

    @staticmethod
    def key_json_of(private, name):
        """As Google gives a key, for the issuer of this name."""
        with open(private, encoding="ascii") as f:
            pem = f.read()
        return json.dumps({
            "type": "service_account", "project_id": "acme-prod",
            "private_key_id": KEY_ID, "private_key": pem,
            "client_email": EMAIL, "client_id": "1",
            "token_uri": f"https://token.{name}/token"}, indent=2)

    def key_json(self, private):
        return self.key_json_of(private, self.name)

    def _issue(self, **what):
        token = f"ya29.c.{len(self.issued)}." + "t" * 100
        self.issued[token] = what
        return token

    def answer(self, host, path, fields, body):
        if (host, path) == (f"token.{self.name}", "/token"):
            return self._exchange(fields, body)
        if (host, path) == (f"sts.{self.name}", "/v1/token"):
            return self._cut_down(fields, body)
        want(host == f"iam.{self.name}", "no such host")
        return self._impersonate(path, fields, body)

    def _exchange(self, fields, body):
        got = self.form(fields, body, "grant_type", "assertion")
        want(got["grant_type"] == JWT_BEARER, got)
        head, claims = opened(self.world, got["assertion"], self.public)
        now = time.time()
        want(head["kid"] == self.key_id, head)
        want(set(claims) <= {"iss", "scope", "aud", "iat", "exp", "jti"}, claims)
        want(claims["iss"] == self.email, claims)
        want(claims["aud"] == f"https://token.{self.name}/token", claims)
        want(claims["iat"] <= now < claims["exp"] <= claims["iat"] + 3600, claims)
        return {"access_token": self._issue(scope=claims["scope"],
                                            account=self.email),
                "expires_in": self.ttl, "token_type": "Bearer"}

    def _impersonate(self, path, fields, body):
        begin, end = "/v1/projects/-/serviceAccounts/", ":generateAccessToken"
        want(path.startswith(begin) and path.endswith(end), path)
        mine = self.issued.get(fields["Authorization"].removeprefix("Bearer "))
        want(mine and mine["scope"] == IAM, "no right to act as another")
        want(fields["Content-Type"] == "application/json", "its type")
        asked = json.loads(body)
        want(set(asked) == {"delegates", "scope", "lifetime"}, asked)
        life = int(asked["lifetime"].removesuffix("s"))
        want(0 < life <= 3600, asked)
        end_at = time.gmtime(time.time() + min(life, self.ttl))
        return {"accessToken": self._issue(
                    scope=" ".join(asked["scope"]),
                    account=path[len(begin):-len(end)]),
                "expireTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", end_at)}

    def _cut_down(self, fields, body):
        got = self.form(fields, body, "grant_type", "subject_token",
                        "subject_token_type", "requested_token_type", "options")
        want(got["grant_type"] == EXCHANGE, got)
        want(got["subject_token_type"] == got["requested_token_type"]
             == ACCESS_TOKEN, got)
        whole = self.issued.get(got["subject_token"])
        want(whole, "no such token")
        boundary = json.loads(got["options"])["accessBoundary"]
        want(0 < len(boundary["accessBoundaryRules"]) <= 10, boundary)
        return {"access_token": self._issue(
                    rules=boundary["accessBoundaryRules"], **whole),
                "issued_token_type": ACCESS_TOKEN, "token_type": "Bearer"}


class Entra(Server):
    """One tenant with one application, known by a secret or a certificate."""

    def __init__(self, world, address, name, tenant, client, secret, cert, ttl):
        self.name, self.tenant, self.client = name, tenant, client
        self.secret, self.cert, self.ttl = secret, cert, ttl
        self.issued = {}
        self.public = f"{cert}.pub"
        got = shell.run(["openssl", "x509", "-in", cert, "-noout", "-pubkey"])
        with open(self.public, "w", encoding="ascii") as f:
            f.write(got.ok().out)
        got = shell.run(["openssl", "x509", "-in", cert, "-noout",
                         "-fingerprint", "-sha256"]).ok()
        self.thumbprint = bytes.fromhex(
            got.out.strip().partition("=")[2].replace(":", ""))
        super().__init__(world, address, name)

    def answer(self, host, path, fields, body):
        want(host == self.name, host)
        is_v2 = path == f"/{self.tenant}/oauth2/v2.0/token"
        want(is_v2 or path == f"/{self.tenant}/oauth2/token", path)
        subject = "scope" if is_v2 else "resource"
        proof = ["client_secret"] if "client_secret=" in body else \
            ["client_assertion_type", "client_assertion"]
        got = self.form(fields, body, "grant_type", "client_id", subject, *proof)
        want(got["grant_type"] == "client_credentials", got)
        want(got["client_id"] == self.client, "no such application")
        if "client_secret" in got:
            want(got["client_secret"] == self.secret, "another secret")
        else:
            self._check(got, f"https://{host}{path}")
        if is_v2:
            want(got["scope"].endswith("/.default"), got["scope"])
        token = f"eyJ0.{len(self.issued)}." + "t" * 1200
        self.issued[token] = got[subject]
        return {"token_type": "Bearer", "access_token": token,
                "ext_expires_in": self.ttl if is_v2 else str(self.ttl),
                "expires_in": self.ttl if is_v2 else str(self.ttl)}

    def _check(self, got, url):
        want(got["client_assertion_type"] == ASSERTION, got)
        head, claims = opened(self.world, got["client_assertion"], self.public,
                              pss=True)
        now = time.time()
        want(_raw(head["x5t#S256"]) == self.thumbprint, "another certificate")
        want(claims["iss"] == claims["sub"] == self.client, claims)
        want(claims["aud"] == url and claims["jti"], claims)
        want(claims["nbf"] <= now < claims["exp"] <= now + 600, claims)
