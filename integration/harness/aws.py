"""An origin for AWS clients, which knows the real key and nothing of us: what
botocore makes of a request is what its signature has to be."""
import datetime
import hashlib
import re
import ssl
import threading
from urllib.parse import parse_qs, unquote

from botocore import auth, awsrequest
from botocore.credentials import Credentials

from .origins import RawOrigin

SCOPE = re.compile(r"([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request")
HEADER = re.compile(r"AWS4-HMAC-SHA256 Credential=(\S+), SignedHeaders=(\S+), "
                    r"Signature=([0-9a-f]{64})")
CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
EMPTY = hashlib.sha256(b"").hexdigest()


class Request:
    """One as it came: method, path, query, fields (lower case), body."""

    def __init__(self, head, body):
        line, *fields = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = line.split(" ")
        self.path, _, self.query = self.target.partition("?")
        self.fields = {}
        for field in fields:
            name, _, value = field.partition(":")
            name, value = name.lower(), value.strip()
            self.fields[name] = f"{self.fields[name]},{value}" \
                if name in self.fields else value
        self.body = body
        self.form, self.service, self.action, self.chunks = "", "", "", 0
        self.fault = "not looked at"
        self.decoded = body

    def __repr__(self):
        return (f"{self.method} {self.target} {self.fields} {self.body[:200]!r}: "
                f"{self.fault}")


def signed_by(key, request, names, service, region, date, query):
    """(what botocore signs with this key, its signer, its request)."""
    kind = {(False, False): auth.SigV4Auth, (False, True): auth.S3SigV4Auth,
            (True, False): auth.SigV4QueryAuth,
            (True, True): auth.S3SigV4QueryAuth}[query is not None, service == "s3"]
    signer = kind(Credentials(*key), service, region)
    host = request.fields["host"]
    url = f"https://{host}{request.path}"
    query = request.query if query is None else query
    again = awsrequest.AWSRequest(
        method=request.method, url=url + (f"?{query}" if query else ""),
        data=request.body,
        headers={n: request.fields[n] for n in names if n != "host"})
    again.context["timestamp"] = date
    canonical = signer.canonical_request(again)
    text = signer.string_to_sign(again, canonical)
    return signer.signature(text, again), signer, again


def check_time(date):
    then = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ")
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    return "" if abs((now - then).total_seconds()) < 300 else f"skewed: {date}"


def check_chunks(r, signer, again, date, scope, seed):
    """Each chunk's signature, the one before it, and the data."""
    rest, before, data = r.body, seed, b""
    while True:
        line, _, rest = rest.partition(b"\r\n")
        size, _, signature = line.decode().partition(";chunk-signature=")
        if not signature:
            return f"no chunk {r.chunks}"
        piece, rest = rest[:int(size, 16)], rest[int(size, 16):]
        text = "\n".join(("AWS4-HMAC-SHA256-PAYLOAD", date, scope, before, EMPTY,
                          hashlib.sha256(piece).hexdigest()))
        before = signer.signature(text, again)
        if before != signature:
            return f"chunk {r.chunks} is not signed right"
        if rest[:2] != b"\r\n":
            return f"chunk {r.chunks} does not end"
        rest = rest[2:]
        data += piece
        r.chunks += 1
        if not piece:
            r.decoded = data
            return "" if not rest else "more behind the last chunk"


def plain_chunks(body):
    """Of aws-chunked without signatures, with a trailer: (data, trailer)."""
    data = b""
    while True:
        line, _, body = body.partition(b"\r\n")
        size = int(line, 16)
        if size == 0:
            return data, body.strip()
        data, body = data + body[:size], body[size + 2:]


def check(r, key):
    """"" if r is signed with key (id, secret, token), else what is wrong."""
    found = HEADER.fullmatch(r.fields.get("authorization", ""))
    parameters = parse_qs(r.query, keep_blank_values=True)
    query = None
    if found:
        r.form = "header"
        credential, names, signature = found.groups()
        date, token = r.fields["x-amz-date"], r.fields.get("x-amz-security-token")
    elif "X-Amz-Signature" in parameters:
        r.form = "query"
        credential, names, signature, date = (
            parameters[f"X-Amz-{n}"][0]
            for n in ("Credential", "SignedHeaders", "Signature", "Date"))
        token = parameters.get("X-Amz-Security-Token", [None])[0]
        query = "&".join(p for p in r.query.split("&")
                         if not p.startswith("X-Amz-Signature="))
    else:
        return "it is not signed"
    names = names.split(";")
    scope = SCOPE.fullmatch(unquote(credential))
    key_id, day, region, r.service = scope.groups()
    if key_id != key[0]:
        return f"another key: {key_id}"
    if token != key[2]:
        return f"another token: {token}"
    if day != date[:8]:
        return "another day"
    if token and found and "x-amz-security-token" not in names:
        return "the token is not signed"
    unsigned = [n for n in r.fields if n.startswith("x-amz-") and n not in names]
    if unsigned:
        return f"not signed: {unsigned}"
    want, signer, again = signed_by(key, r, names, r.service, region, date, query)
    if want != signature:
        return "another signature"
    told = r.fields.get("x-amz-content-sha256", "")
    if told == CHUNKS:
        fault = check_chunks(r, signer, again, date, scope.group(0).split("/", 1)[1],
                             signature)
        if fault:
            return fault
    elif told == "STREAMING-UNSIGNED-PAYLOAD-TRAILER":
        r.decoded, r.trailer = plain_chunks(r.body)
    elif re.fullmatch("[0-9a-f]{64}", told):
        if hashlib.sha256(r.body).hexdigest() != told:
            return "another payload"
    return check_time(date)


class AwsOrigin:
    """Answers as S3, DynamoDB, Lambda and STS do, if it is signed with key."""

    def __init__(self, w, address, names, key):
        self.key = key  # (id, secret, token)
        self.session = None  # what AssumeRole gives: (id, secret, token, end)
        self.seen = []
        self.lock = threading.Lock()
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(*w.authority.issue(*names))
        self.raw = w.own(RawOrigin(w.net, address, 443, self.serve))

    def serve(self, peer, record):
        peer = self.tls.wrap_socket(peer, server_side=True)
        peer.settimeout(20)
        reader = peer.makefile("rb")
        while True:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                line = reader.readline(65536)
                if not line:
                    return
                head += line
            r = Request(head[:-4], b"")
            r.body = r.decoded = self.read_body(reader, r)
            r.fault = check(r, self.key_for(r))
            r.action = parse_qs(r.body.decode("latin-1")).get("Action", [""])[0]
            with self.lock:
                self.seen.append(r)
            self.answer(peer, r)

    def key_for(self, r):
        """AssumeRole is signed with the key, what follows with the session's."""
        if self.session and not r.body.startswith(b"Action=AssumeRole"):
            return self.session[:3]
        return self.key

    @staticmethod
    def read_body(reader, r):
        if "content-length" in r.fields:
            return reader.read(int(r.fields["content-length"]))
        body = b""
        while r.fields.get("transfer-encoding") == "chunked":
            size = int(reader.readline().split(b";")[0], 16)
            body += reader.read(size)
            reader.readline()
            if size == 0:
                break
        return body

    def answer(self, peer, r):
        status, kind, body = b"200 OK", b"application/xml", b""
        if r.fault:
            status = b"403 Forbidden"
            body = b"<Error><Code>SignatureDoesNotMatch</Code></Error>"
        elif r.service == "dynamodb":
            kind, body = b"application/x-amz-json-1.0", b"{}"
        elif r.service == "lambda":
            kind, body = b"application/json", b'{"did": true}'
        elif r.action == "AssumeRole" and self.session:
            kind, body = b"text/xml", SESSION.format(*self.session).encode()
        elif r.service == "sts":
            kind, body = b"text/xml", IDENTITY
        elif r.method == "GET" and "list-type" in r.query:
            body = b"<ListBucketResult><Name>b</Name></ListBucketResult>"
        elif r.method == "GET" and "range" in r.fields:
            status, body = b"206 Partial Content", b"56789"
        elif r.method in ("GET", "POST"):
            body = b"0123456789"
        fields = b'ETag: "e"\r\nContent-Type: ' + kind
        peer.sendall(b"HTTP/1.1 %s\r\n%s\r\nContent-Length: %d\r\n\r\n%s" % (
            status, fields, len(body), b"" if r.method == "HEAD" else body))

    def take(self):
        """What came since the last time."""
        with self.lock:
            seen, self.seen = self.seen, []
        return seen


SESSION = """<AssumeRoleResponse><AssumeRoleResult><Credentials>
<AccessKeyId>{0}</AccessKeyId><SecretAccessKey>{1}</SecretAccessKey>
<SessionToken>{2}</SessionToken><Expiration>{3}</Expiration>
</Credentials></AssumeRoleResult></AssumeRoleResponse>"""
IDENTITY = b"""<GetCallerIdentityResponse><GetCallerIdentityResult>
<Arn>arn:aws:iam::123456789012:user/agent</Arn><UserId>u</UserId>
<Account>123456789012</Account></GetCallerIdentityResult>
</GetCallerIdentityResponse>"""
