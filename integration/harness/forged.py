"""Certificates that are wrong in one way each, made by openssl(1)."""
import os
from types import SimpleNamespace

from .shell import run

SERVER = ("extendedKeyUsage=serverAuth", "basicConstraints=critical,CA:FALSE")
SIGNER = ("basicConstraints=critical,CA:TRUE",
          "keyUsage=critical,keyCertSign,cRLSign", "subjectKeyIdentifier=hash")


def san(*names):
    return "subjectAltName=" + ",".join(names)


def raw_san(name):
    """One dNSName of any bytes, which no configuration could write."""
    inner = b"\x82" + bytes([len(name)]) + name
    der = b"\x30" + bytes([len(inner)]) + inner
    return f"subjectAltName=DER:{der.hex(':')}"


class Forge:
    """Makes them below an Authority; each is {ca: certificate, key}."""

    def __init__(self, authority):
        self.folder = f"{authority.folder}/forged"
        os.makedirs(self.folder, exist_ok=True)
        self.root = SimpleNamespace(ca=authority.ca, key=authority.key)
        self.count = 0
        self.keys = {}

    def key(self, *kind):
        """A key of its kind, as openssl genpkey takes it; made once."""
        if kind not in self.keys:
            self.keys[kind] = f"{self.folder}/key{len(self.keys)}"
            run(["openssl", "genpkey", "-out", self.keys[kind], *kind]).ok()
        return self.keys[kind]

    def make(self, subject, *extensions, by=None, key=None, digest="sha256",
             clock=None):
        """by: who signs (None: itself). clock: when, for faketime(1); it is
        good for two days from then."""
        self.count += 1
        base = f"{self.folder}/{self.count}"
        key = key or self.key("-algorithm", "EC", "-pkeyopt",
                              "ec_paramgen_curve:P-256")
        with open(f"{base}.conf", "w", encoding="utf-8") as f:
            f.write("[req]\nprompt=no\ndistinguished_name=dn\n"
                    f"x509_extensions=ext\nutf8=yes\n[dn]\nCN={subject}\n"
                    "[ext]\n" + "\n".join(extensions) + "\n")
        argv = ["openssl", "req", "-x509", "-config", f"{base}.conf", "-key",
                key, "-out", f"{base}.pem", "-days", "2", f"-{digest}"]
        if by:
            argv += ["-CA", by.ca, "-CAkey", by.key]
        if clock:
            argv = ["faketime", "-f", clock, *argv]
        run(argv).ok()
        return SimpleNamespace(ca=f"{base}.pem", key=key)

    def leaf(self, host, *extensions, by=None, **more):
        """For host, right but for what is given."""
        return self.make(host, *(extensions or (san(f"DNS:{host}"), *SERVER)),
                         by=by or self.root, **more)

    def signer(self, *extensions, by=None, **more):
        return self.make(f"signer {self.count}", *(extensions or SIGNER),
                         by=by or self.root, **more)

    def with_chain(self, leaf, *signers):
        """leaf, with the certificates of signers behind its own."""
        path = f"{leaf.ca}.chain"
        with open(path, "w", encoding="ascii") as out:
            for part in (leaf, *signers):
                with open(part.ca, encoding="ascii") as f:
                    out.write(f.read())
        return SimpleNamespace(ca=path, key=leaf.key)
