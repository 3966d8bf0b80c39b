"""A double of Vault's HTTP API, version 1, which holds every field of every
request to what the API's documentation says of it, and ends what it made as
Vault does: with a token go its children and their leases."""
import json
import ssl
import threading
import time

from .origins import RawOrigin

TEXT, WORD, NUMBER = (str,), (str, int), (int,)
# What each question may hold: {field: types}; the first names are needed.
LOGINS = {"approle": ({"role_id": TEXT, "secret_id": TEXT}, 2),
          "jwt": ({"role": TEXT, "jwt": TEXT}, 2),
          "kubernetes": ({"role": TEXT, "jwt": TEXT}, 2)}
CREATE = ({"policies": (list,), "ttl": TEXT, "type": TEXT, "renewable": (bool,),
           "display_name": TEXT, "meta": (dict,), "id": TEXT, "no_parent": (bool,),
           "no_default_policy": (bool,), "explicit_max_ttl": TEXT,
           "num_uses": NUMBER, "period": TEXT, "entity_alias": TEXT}, 0)
RENEW = ({"increment": WORD}, 0)
RENEW_LEASE = ({"lease_id": TEXT, "increment": NUMBER}, 1)
DEFAULT = {"auth/token/renew-self", "auth/token/revoke-self",
           "auth/token/lookup-self", "sys/leases/renew"}
LIFE_MAX_S = 3600
JSON = "Content-Type: application/json\r\n"


class Refusal(Exception):
    def __init__(self, status, *errors):
        super().__init__(status, errors)
        self.status, self.errors = status, errors


class Token:
    """made: of the token, by which it lives or dies."""

    def __init__(self, vault, parent, policies, ttl, meta):
        self.id = f"hvs.{vault.serial():024d}"
        self.accessor = f"acc{vault.serial():024d}"
        self.parent, self.policies, self.meta = parent, policies, meta
        self.end = time.monotonic() + ttl
        self.last = time.monotonic() + LIFE_MAX_S
        self.leases = {}
        self.revoked = False

    def lives(self):
        return not self.revoked and time.monotonic() < self.end and \
            (self.parent is None or self.parent.lives())


class Lease:
    def __init__(self, token, value, ttl):
        self.token, self.value, self.end = token, value, time.monotonic() + ttl

    def lives(self):
        return self.token.lives() and time.monotonic() < self.end


class Vault:
    """Under names, over TLS. policies: {name: paths}; logins: {(mount, id,
    secret): (namespace, policies)}; kv: {path: data}; modes: {name: bytes of
    whatever that name answers to everything, or None for nothing}."""

    def __init__(self, world, address, name, *, policies, logins, kv, ttl,
                 modes=None):
        self.policies, self.logins, self.kv, self.ttl = policies, logins, kv, ttl
        self.modes = modes or {}
        self.tokens, self.asked, self.faults = {}, [], []
        self.count = 0
        self.lock = threading.RLock()
        self.root = Token(self, None, ["root"], 1e6, {})
        self.tokens[self.root.id] = self.root
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(*world.authority.issue(name, *self.modes))
        self.raw = RawOrigin(world.net, address, 443, self.serve)

    def close(self):
        self.raw.close()

    def serial(self):
        with self.lock:
            self.count += 1
            return self.count

    # --- what tests ask

    def made(self, sandbox=None):
        """Tokens below a login or the root, of this sandbox."""
        return [t for t in self.tokens.values() if t.parent is not None and
                (sandbox is None or t.meta.get("tapward_sandbox") == sandbox)]

    def times(self, path, status=200):
        return sum(1 for p, s in self.asked if p == path and s == status)

    def grow_old(self):
        """All but the root have lived nearly as long as any may."""
        for token in self.tokens.values():
            if token is not self.root:
                token.last = time.monotonic() + 1.5

    # --- HTTP

    def serve(self, peer, record):
        peer = self.tls.wrap_socket(peer, server_side=True)
        peer.settimeout(20)
        buffer = b""
        while True:
            while b"\r\n\r\n" not in buffer:
                part = peer.recv(65536)
                if not part:
                    return
                buffer += part
            head, _, buffer = buffer.partition(b"\r\n\r\n")
            line, *fields = head.decode("latin-1").split("\r\n")
            fields = {n.lower(): v.strip() for n, _, v in
                      (f.partition(":") for f in fields)}
            while len(buffer) < int(fields.get("content-length", 0)):
                buffer += peer.recv(65536)
            length = int(fields.get("content-length", 0))
            body, buffer = buffer[:length], buffer[length:]
            host = fields.get("host", "").partition(":")[0]
            if host in self.modes:
                if self.modes[host] is None:
                    peer.recv(1)
                    return
                peer.sendall(self.modes[host])
                return
            peer.sendall(self.answer(line, fields, body))

    def answer(self, line, fields, body):
        method, path, _ = line.split(" ")
        with self.lock:
            try:
                status, value = 200, self.judge(method, path, fields, body)
            except Refusal as r:
                status, value = r.status, {"errors": list(r.errors)}
            self.asked.append((path.removeprefix("/v1/"), status))
        if value is None:
            return b"HTTP/1.1 204 No Content\r\nCache-Control: no-store\r\n\r\n"
        text = json.dumps(value)
        return (f"HTTP/1.1 {status} X\r\n{JSON}Cache-Control: no-store\r\n"
                f"Content-Length: {len(text)}\r\n\r\n{text}").encode()

    # --- the API

    def fault(self, text):
        """Whoever asks so has not read the documentation."""
        self.faults.append(text)
        raise Refusal(400, text)

    def fields_of(self, body, fields, schema):
        """The body, of no other fields than these and of these types."""
        allowed, needed = schema
        if not body:
            if needed:
                self.fault("a body is missing")
            return {}
        if fields.get("content-type", "").split(";")[0] != "application/json":
            self.fault(f"a body of {fields.get('content-type')}")
        try:
            value = json.loads(body)
        except ValueError:
            self.fault("a body that is no JSON")
        if not isinstance(value, dict):
            self.fault("a body that is no object")
        for name, v in value.items():
            # To Python a truth is a number.
            if name not in allowed or not isinstance(v, allowed[name]) or \
                    (isinstance(v, bool) and bool not in allowed[name]):
                self.fault(f"{name} = {v!r}")
        for name in list(allowed)[:needed]:
            if name not in value:
                self.fault(f"{name} is missing")
        return value

    def token_of(self, fields):
        token = self.tokens.get(fields.get("x-vault-token", ""))
        if token is None or not token.lives():
            raise Refusal(403, "permission denied", "invalid token")
        return token

    def may(self, token, path):
        if "root" in token.policies:
            return True
        return any(path in (DEFAULT if name == "default" else
                            self.policies.get(name, ()))
                   for name in token.policies)

    def judge(self, method, path, fields, body):
        if not path.startswith("/v1/") or "?" in path or "//" in path:
            self.fault(f"{method} {path}")
        if "x-vault-wrap-ttl" in fields:
            self.fault("a wrapped answer is asked for")
        path = path.removeprefix("/v1/")
        parts = path.split("/")
        if parts[0] == "auth" and parts[-1] == "login":
            if method not in ("POST", "PUT") or "x-vault-token" in fields:
                self.fault(f"{method} {path} with a token or not by POST")
            return self.log_in("/".join(parts[1:-1]), fields, body)
        token = self.token_of(fields)
        if not self.may(token, path):
            raise Refusal(403, "1 error occurred:\n\t* permission denied\n\n")
        kind = path if parts[0] in ("auth", "sys") else "read"
        if path.startswith("auth/token/create"):
            kind = "create"
        row = {"create": ("POST", CREATE, self.create),
               "auth/token/renew-self": ("POST", RENEW, self.renew),
               "auth/token/lookup-self": ("GET", ({}, 0), self.look_up),
               "auth/token/revoke-self": ("POST", ({}, 0), self.revoke),
               "sys/leases/renew": ("POST", RENEW_LEASE, self.renew_lease),
               "read": ("GET", ({}, 0), self.read)}.get(kind)
        if row is None:
            raise Refusal(404)
        if method != row[0] and (method, row[0]) != ("PUT", "POST"):
            self.fault(f"{method} of {path}")
        return row[2](token, path, self.fields_of(body, fields, row[1]))

    def envelope(self, **more):
        return {"request_id": f"id-{self.serial()}", "lease_id": "",
                "renewable": False, "lease_duration": 0, "data": None,
                "wrap_info": None, "warnings": None, "auth": None, **more}

    def auth(self, token, ttl):
        return self.envelope(auth={
            "client_token": token.id, "accessor": token.accessor,
            "policies": sorted(token.policies),
            "token_policies": sorted(token.policies), "metadata": token.meta,
            "lease_duration": ttl, "renewable": True, "entity_id": "",
            "token_type": "service", "orphan": token.parent is None,
            "mfa_requirement": None, "num_uses": 0})

    def log_in(self, mount, fields, body):
        kind = mount.split("/")[0]
        if kind not in LOGINS:
            raise Refusal(404)
        asked = self.fields_of(body, fields, LOGINS[kind])
        found = self.logins.get(
            (mount, *(asked[name] for name in LOGINS[kind][0])))
        if found is None:
            raise Refusal(400, "invalid role or secret")
        namespace, policies = found
        if fields.get("x-vault-namespace", "") != namespace:
            self.fault(f"namespace {fields.get('x-vault-namespace')}")
        token = Token(self, None, ["default", *policies], LIFE_MAX_S, {})
        self.tokens[token.id] = token
        return self.auth(token, LIFE_MAX_S)

    def seconds(self, text):
        if isinstance(text, int):
            return text
        if not text.endswith("s") or not text[:-1].isdigit():
            self.fault(f"no duration: {text}")
        return int(text[:-1])

    def create(self, token, path, asked):
        policies = asked.get("policies", token.policies)
        for name in policies:
            if not isinstance(name, str):
                self.fault(f"a policy {name!r}")
            if name not in token.policies and "root" not in token.policies:
                raise Refusal(400, "child policies must be subset of parent")
        for name, value in asked.get("meta", {}).items():
            if not isinstance(value, str):
                self.fault(f"meta {name} = {value!r}")
        if asked.get("type", "service") != "service":
            self.fault("a token that cannot be revoked")
        ttl = min(self.seconds(asked.get("ttl", f"{self.ttl}s")), LIFE_MAX_S)
        child = Token(self, token, sorted({*policies, "default"}), ttl,
                      asked.get("meta", {}))
        self.tokens[child.id] = child
        return self.auth(child, ttl)

    def renew(self, token, path, asked):
        """Counts from now, and never beyond the most that it may live."""
        ttl = max(0, int(min(self.seconds(asked.get("increment", self.ttl)),
                             token.last - time.monotonic())))
        token.end = time.monotonic() + ttl
        return self.auth(token, ttl)

    def look_up(self, token, path, asked):
        return self.envelope(data={
            "id": token.id, "accessor": token.accessor, "type": "service",
            "ttl": int(token.end - time.monotonic()), "meta": token.meta,
            "policies": token.policies, "renewable": True})

    def revoke(self, token, path, asked):
        token.revoked = True

    def read(self, token, path, asked):
        mount = path.split("/")[0]
        if mount == "database":
            lease = Lease(token, f"made-{self.serial():06d}-for-one", self.ttl)
            name = f"{path}/lease{self.serial()}"
            token.leases[name] = lease
            return self.envelope(
                lease_id=name, lease_duration=self.ttl, renewable=True,
                data={"username": f"v-{self.serial()}", "password": lease.value})
        data = self.kv.get(path)
        if data is None:
            raise Refusal(404)
        if path.split("/")[1] != "data":
            return self.envelope(data=data, lease_duration=2764800)
        return self.envelope(data={"data": data, "metadata": {
            "created_time": "2026-01-01T00:00:00.123456789Z",
            "custom_metadata": None, "deletion_time": "", "destroyed": False,
            "version": 1}})

    def renew_lease(self, token, path, asked):
        for owner in self.tokens.values():
            lease = owner.leases.get(asked["lease_id"])
            if lease is not None and lease.lives():
                ttl = min(asked.get("increment", self.ttl), self.ttl)
                lease.end = time.monotonic() + ttl
                return self.envelope(lease_id=asked["lease_id"], renewable=True,
                                     lease_duration=ttl)
        raise Refusal(400, "lease not found")
