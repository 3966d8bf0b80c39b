"""An LFS server as git-lfs's docs/api has it: batch, locks and verify at the
repository's host, objects wherever a test wants them, behind nginx."""
import hashlib
import json
import re
import secrets
from http.server import BaseHTTPRequestHandler

from .git import Backend, run_backend

TYPE = "application/vnd.git-lfs+json"

# What a server block holds, beside that of git.LOCATION.
LOCATION = """
    location ~ {paths} {{
      proxy_http_version 1.1; proxy_set_header Host $http_host;
      proxy_request_buffering off;
      proxy_pass http://unix:{folder}/lfs.sock; }}
"""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        data = b""
        while True:
            size = int(self.rfile.readline(), 16)
            data += self.rfile.read(size)
            self.rfile.readline()
            if size == 0:
                return data

    def answer(self):
        body = self.body()
        host, path = self.headers["Host"], self.path
        lfs = self.server
        lfs.log.append((self.command, host, path))
        lfs.authorizations.append((host, self.headers.get("Authorization", "")))
        status, said, coding = lfs.respond(self.command, host, path, self.headers, body)
        if not isinstance(said, bytes):
            said = json.dumps(said).encode()
        self.send_response_only(status)
        self.send_header("Content-Type", TYPE if said[:1] == b"{"
                         else "application/octet-stream")
        if coding:
            self.send_header("Content-Encoding", coding)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(said)

    def handle(self):
        try:
            super().handle()
        except (OSError, ValueError):  # whoever asked has gone
            pass

    do_GET = do_HEAD = do_POST = do_PUT = answer

    def log_message(self, format, *args):
        pass


class Lfs(Backend):
    """objects: {oid: bytes}. store: {repository: base URL of its objects}.
    log: (method, host, path) of each request that came."""

    def __init__(self, w, store):
        self.store = store
        self.objects, self.tokens, self.locks = {}, {}, {}
        self.log, self.authorizations = [], []
        self.expires = {"expires_in": 600}
        self.change = lambda answer: answer  # of a batch, before it goes
        super().__init__(w.folder, "lfs", Handler)
        run_backend(w, self)

    def add(self, data):
        oid = hashlib.sha256(data).hexdigest()
        self.objects[oid] = data
        return oid

    def respond(self, method, host, path, fields, body):
        """Status, what is said, its coding or None."""
        found = re.match(r"/([a-z]+)(?:\.git)?/info/lfs/(.*)$", path)
        if not found:
            return (*self.thing(method, host, path, fields, body), None)
        name, what = found.groups()
        is_asked = what == "objects/batch" or what.startswith("locks")
        asked = json.loads(body) if body and is_asked else {}
        if what == "objects/batch":
            said = self.change(self.batch(name, host, asked))
            return (*said, None) if len(said) == 2 else said
        if what.startswith("locks"):
            return (*self.lock(what, asked, method), None)
        return (*self.thing(method, host, path, fields, body), None)

    def action(self, href, method):
        """A URL that is good once it was named, with its own token."""
        token = secrets.token_urlsafe(12)
        href = f"{href}?sig={token}"
        self.tokens[method, href] = f"RemoteAuth {token}"
        return {"href": href, **self.expires,
                "header": {"Authorization": f"RemoteAuth {token}", "X-Extra": "y"}}

    def batch(self, name, host, asked):
        said = []
        base = self.store.get(name, f"https://{host}/{name}.git/info/lfs/objects")
        for o in asked["objects"]:
            actions, oid = {}, o["oid"]
            if asked["operation"] == "upload" and oid not in self.objects:
                actions = {"upload": self.action(f"{base}/{oid}", "PUT"),
                           "verify": self.action(
                               f"https://{host}/{name}.git/info/lfs/verify", "POST")}
            elif asked["operation"] == "download" and oid in self.objects:
                actions = {"download": self.action(f"{base}/{oid}", "GET")}
            said.append({"oid": oid, "size": o["size"], "authenticated": True,
                         "actions": actions})
        return 200, {"transfer": "basic", "objects": said, "hash_algo": "sha256"}

    def lock(self, what, asked, method):
        if what == "locks/verify":
            return 200, {"ours": list(self.locks.values()), "theirs": []}
        if what.endswith("/unlock"):
            return 200, {"lock": self.locks.pop(what.split("/")[1])}
        if method == "GET":
            return 200, {"locks": list(self.locks.values())}
        lock = {"id": str(len(self.locks) + 1), "path": asked["path"],
                "locked_at": "2026-01-01T00:00:00Z", "owner": {"name": "a"}}
        self.locks[lock["id"]] = lock
        return 201, {"lock": lock}

    def thing(self, method, host, path, fields, body):
        """An object or what verifies it, if its token came along."""
        href = f"https://{host}{path}"
        want = self.tokens.get((method, href))
        if want is None:
            return 404, {"message": f"{method} {href} was not named"}
        if fields.get("Authorization", "") not in (want, self.also()):
            return 403, {"message": "another token"}
        oid = path.split("?")[0].split("/")[-1]
        if method == "PUT":
            if hashlib.sha256(body).hexdigest() != oid:
                return 422, {"message": "another object"}
            self.objects[oid] = body
            return 200, {}
        if method == "POST":
            said = json.loads(body)
            is_there = len(self.objects.get(said["oid"], b"")) == said["size"]
            return (200, {}) if is_there else (404, {"message": "not there"})
        return 200, self.objects[oid]

    def also(self):
        """A token that is as good as the one that was named, or None."""
        return None
