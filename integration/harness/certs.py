"""A certificate authority for the tests' origins, made by openssl(1)."""
import os

from .shell import run


class Authority:
    """Makes server certificates that its ca.pem vouches for."""

    def __init__(self, folder):
        self.folder = folder
        self.ca = f"{folder}/ca.pem"
        self.key = f"{folder}/ca.key"
        os.makedirs(folder, exist_ok=True)
        run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.key, "-out",
             self.ca, "-days", "2", "-subj", "/CN=origins of the tests",
             "-addext", "keyUsage=critical,keyCertSign,cRLSign"]).ok()

    def issue(self, name, *names, days=2, ca=None):
        """(certificate, key) for name and further names, with its chain."""
        base = f"{self.folder}/{name.replace('*', '_')}"
        alt = ",".join(f"DNS:{n}" for n in (name, *names))
        run(["openssl", "req", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{base}.key",
             "-out", f"{base}.csr", "-subj", f"/CN={name}"]).ok()
        with open(f"{base}.ext", "w", encoding="ascii") as f:
            f.write(f"subjectAltName={alt}\nextendedKeyUsage=serverAuth\n")
        issuer = ca or self
        run(["openssl", "x509", "-req", "-in", f"{base}.csr", "-CA", issuer.ca,
             "-CAkey", issuer.key, "-CAcreateserial", "-days", str(days),
             "-extfile", f"{base}.ext", "-out", f"{base}.pem"]).ok()
        return f"{base}.pem", f"{base}.key"
