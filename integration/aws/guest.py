#!/usr/bin/python3
"""What runs in a sandbox of test_aws.py: calls of AWS by botocore, with what
`tapward env` printed and nothing else. Prints one JSON object: what each call
gave. Usage: guest.py CALL..."""
import hashlib
import io
import json
import sys
import urllib.request

import botocore.session
from botocore import auth, awsrequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

EMPTY = hashlib.sha256(b"").hexdigest()
CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
BUCKET = {"Bucket": "bucket", "Key": "a b/c+d=(1)é"}
FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:f"

session = botocore.session.Session()


def client(service, **config):
    config.setdefault("s3", {"addressing_style": "path"})
    return session.create_client(
        service, endpoint_url=f"https://{service}.example.com",
        config=Config(retries={"max_attempts": 0}, **config))


def s3(**config):
    return client("s3", signature_version=config.pop("version", "s3v4"), **config)


def put_bytes():
    return s3().put_object(Body=b"x" * 200000, **BUCKET)["ETag"]


def put_signed_payload():
    return s3(s3={"payload_signing_enabled": True, "addressing_style": "path"}) \
        .put_object(Body=b"y" * 1000, Metadata={"one": "a  b"}, **BUCKET)["ETag"]


def put_stream():
    return s3().put_object(Body=io.BytesIO(b"z" * 300000), **BUCKET)["ETag"]


def get():
    return s3().get_object(**BUCKET)["Body"].read().decode()


def get_range():
    return s3().get_object(Range="bytes=5-9", **BUCKET)["Body"].read().decode()


def list_objects():
    return s3().list_objects_v2(Bucket="bucket", Prefix="a b/é", Delimiter="/")["Name"]


def part():
    return s3().upload_part(PartNumber=1, UploadId="u~-_.", Body=b"p" * 70000,
                            **BUCKET)["ETag"]


def dynamodb():
    return client("dynamodb").put_item(
        TableName="table", Item={"k": {"S": "v" * 50000}})["ResponseMetadata"][
            "HTTPStatusCode"]


def invoke():
    return client("lambda").invoke(FunctionName=FUNCTION, Payload=b"{}" + b" " * 9000)[
        "Payload"].read().decode()


def identity():
    return client("sts").get_caller_identity()["Account"]


def assume():
    return client("sts").assume_role(RoleArn="arn:aws:iam::123456789012:role/other",
                                     RoleSessionName="mine")["Credentials"]


def token():
    return client("sts").get_session_token()["Credentials"]


def opened(url, **kwargs):
    with urllib.request.urlopen(urllib.request.Request(url, **kwargs)) as r:
        return r.read().decode()


def presigned_get():
    return opened(s3().generate_presigned_url("get_object", BUCKET))


def presigned_put():
    return opened(s3().generate_presigned_url("put_object", BUCKET), data=b"w" * 5000,
                  method="PUT", headers={"Content-Type": ""})


def presigned_version_2():
    return opened(s3(version="s3").generate_presigned_url("get_object", BUCKET))


def presigned_changed():
    return opened(s3().generate_presigned_url("get_object", BUCKET).replace("c%2B", "x%2B"))


def presigned_identity():
    """As a cluster's tokens are made: STS by a URL, with nothing in it."""
    return opened(client("sts").generate_presigned_url(
        "get_caller_identity", HttpMethod="GET"))[:26]


def chunks(spoil=b"", size=65536, count=3):
    """Signed chunk by chunk, as the SDKs for Java and Go do it."""
    keys = session.get_credentials()
    signer = auth.S3SigV4Auth(keys, "s3", "eu-west-1")
    data = [b"%d" % i * size for i in range(count)] + [b"tail", b""]
    length = sum(len(d) + len(b"%x" % len(d)) + 85 for d in data)
    request = awsrequest.AWSRequest(
        method="PUT", url="https://s3.example.com/bucket/chunks",
        headers={"x-amz-content-sha256": CHUNKS, "content-length": str(length),
                 "content-encoding": "aws-chunked",
                 "x-amz-decoded-content-length": str(sum(map(len, data)))})
    # The signer replaces what it finds there by the digest of no body.
    signer.payload = lambda _: CHUNKS
    signer.add_auth(request)
    assert request.headers["x-amz-content-sha256"] == CHUNKS, dict(request.headers)
    date = request.context["timestamp"]
    before = request.headers["Authorization"].rsplit("=", 1)[1]
    scope = f"{date[:8]}/eu-west-1/s3/aws4_request"
    body = b""
    for piece in data:
        before = signer.signature("\n".join((
            "AWS4-HMAC-SHA256-PAYLOAD", date, scope, before, EMPTY,
            hashlib.sha256(piece).hexdigest())), request)
        body += b"%x;chunk-signature=%s\r\n%s\r\n" % (len(piece), before.encode(), piece)
    assert len(body) == length
    if spoil:
        body = body.replace(b"tail", spoil)
    return opened(request.url, data=body, method="PUT", headers=dict(request.headers))


def chunks_changed():
    return chunks(spoil=b"tale")


def other_key():
    global session
    was, session = session, botocore.session.Session()
    session.set_credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG")
    try:
        return get()
    finally:
        session = was


def other_secret():
    global session
    was, session = session, botocore.session.Session()
    session.set_credentials(was.get_credentials().access_key, "not-the-secret-of-it")
    try:
        return get()
    finally:
        session = was


def other_region():
    keys = session.get_credentials()
    request = awsrequest.AWSRequest(method="GET", url="https://s3.example.com/bucket/k")
    auth.S3SigV4Auth(Credentials(keys.access_key, keys.secret_key), "s3",
                     "us-east-2").add_auth(request)
    return opened(request.url, headers=dict(request.headers))


def not_signed():
    return opened("https://s3.example.com/bucket/k")


def main():
    result = {}
    for name in sys.argv[1:]:
        try:
            result[name] = ["ok", globals()[name]()]
        except ClientError as e:
            result[name] = ["refused", str(e) + str(e.response.get("Error"))]
        except urllib.error.HTTPError as e:
            result[name] = [str(e.code), e.read().decode("utf-8", "replace")]
        except Exception as e:
            result[name] = [type(e).__name__, str(e)]
    print(json.dumps(result))


main()
