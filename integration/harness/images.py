"""Container images of one layer, as OCI's image-spec has them."""
import hashlib
import io
import json
import os
import tarfile

BASE = "application/vnd.oci.image"
MANIFEST = f"{BASE}.manifest.v1+json"


def _about(data):
    return {"digest": "sha256:" + hashlib.sha256(data).hexdigest(),
            "size": len(data)}


def image_files(size):
    """(manifest, {digest: blob}) of an image with a file of random bytes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        member = tarfile.TarInfo("hello")
        member.size = size
        tar.addfile(member, io.BytesIO(os.urandom(size)))
    layer = raw.getvalue()
    config = json.dumps(
        {"architecture": "amd64", "os": "linux", "config": {},
         "rootfs": {"type": "layers",
                    "diff_ids": [_about(layer)["digest"]]}}).encode()
    manifest = json.dumps(
        {"schemaVersion": 2, "mediaType": MANIFEST,
         "config": dict(_about(config), mediaType=f"{BASE}.config.v1+json"),
         "layers": [dict(_about(layer),
                         mediaType=f"{BASE}.layer.v1.tar")]}).encode()
    return manifest, {_about(blob)["digest"]: blob for blob in (layer, config)}


def make_layout(folder, size):
    """The same as a folder that skopeo reads as oci:FOLDER."""
    manifest, blobs = image_files(size)
    os.makedirs(f"{folder}/blobs/sha256")
    for name, data in [*blobs.items(), (_about(manifest)["digest"], manifest)]:
        with open(f"{folder}/blobs/{name.replace(':', '/')}", "wb") as f:
            f.write(data)
    for name, text in (("oci-layout", {"imageLayoutVersion": "1.0.0"}),
                       ("index.json", {"schemaVersion": 2, "manifests": [
                           dict(_about(manifest), mediaType=MANIFEST)]})):
        with open(f"{folder}/{name}", "w", encoding="ascii") as f:
            json.dump(text, f)
