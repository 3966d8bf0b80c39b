"""GitHub's interface for apps, as its documentation has it (REST API, version
2022-11-28): each field of each question is held to it."""
import base64
import binascii
import json
import secrets
import time

from .clouds import NONE, Refused, Server, opened, want

INSTALLATION = 42


class GitHub(Server):
    """One app that is installed for OWNER's repositories, and their tokens.

    issued: {token: [what it may do, when it ends, is it revoked]}
    """

    def __init__(self, world, address, host, app, public, owner, names, ttl):
        self.app, self.public, self.ttl = app, public, ttl
        self.owner, self.names, self.host = owner, names, host
        self.issued = {}
        super().__init__(world, address, host)

    def respond(self, method, host, path, fields, body):
        try:
            want(host == self.host, host)
            want(fields["User-Agent"], "a question without User-Agent")
            status, said = self.question(method, path, fields, body)
            self.log.append((f"{method} {path}", ""))
            return status, said
        except Refused as e:
            self.log.append((f"{method} {path}", str(e)))
            return 403, {"message": f"words of the issuer: {e}"}

    def question(self, method, path, fields, body):
        authorization = fields.get("Authorization", "")
        kind, _, value = authorization.partition(" ")
        if value in self.issued:
            return self.by_token(method, path, fields, value)
        want(fields["Accept"] == "application/vnd.github+json", fields["Accept"])
        want(fields["X-GitHub-Api-Version"] == "2022-11-28", "version")
        want(kind == "Bearer", kind)
        self.check_app(value)
        for name in self.names:
            if (method, path) == ("GET", f"/repos/{self.owner}/{name}/installation"):
                return 200, {"id": INSTALLATION, "app_id": self.app}
        want((method, path) == (
            "POST", f"/app/installations/{INSTALLATION}/access_tokens"), path)
        return 201, self.token(json.loads(body))

    def check_app(self, jwt):
        _, claims = opened(self.world, jwt, self.public)
        now = time.time()
        want(set(claims) == {"iss", "iat", "exp"}, claims)
        want(str(claims["iss"]) == str(self.app), claims)
        # GitHub takes none that is issued in its future, nor of over 10 min.
        want(now - 600 < claims["iat"] <= now, claims)
        want(now < claims["exp"] <= now + 600, claims)

    def token(self, asked):
        want(set(asked) == {"repositories", "permissions"}, asked)
        want(set(asked["repositories"]) <= set(self.names), asked)
        token = f"ghs_{secrets.token_urlsafe(27)}"
        end = int(time.time()) + self.ttl
        self.issued[token] = [asked, end, False]
        return {"token": token, "permissions": {**asked["permissions"],
                                                "metadata": "read"},
                "expires_at": time.strftime("%Y-%m-%dT%H:%M:%SZ",
                                            time.gmtime(end)),
                "repository_selection": "selected", "repositories": [
                    {"name": n, "full_name": f"{self.owner}/{n}"}
                    for n in asked["repositories"]]}

    def lives(self, token):
        found = self.issued.get(token)
        return found is not None and not found[2] and time.time() < found[1]

    def by_token(self, method, path, fields, token):
        want(self.lives(token), "a token that has ended")
        if (method, path) == ("DELETE", "/installation/token"):
            self.issued[token][2] = True
            return 204, NONE
        for name in self.issued[token][0]["repositories"]:
            if (method, path) == ("GET", f"/repos/{self.owner}/{name}"):
                return 200, {"full_name": f"{self.owner}/{name}"}
        raise Refused(path)

    def allows(self, authorization):
        """Is this the Basic pair of a token that lives and may write?"""
        try:
            user, _, token = base64.b64decode(
                authorization.removeprefix("Basic ")).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return False
        return user == "x-access-token" and self.lives(token) and \
            self.issued[token][0]["permissions"].get("contents") == "write"
