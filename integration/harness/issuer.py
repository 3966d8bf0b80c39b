"""An issuer of tokens: one answer to whatever is asked."""
import json
import ssl

from .origins import RawOrigin


class Issuer:
    def __init__(self, w, address, host, token):
        self.token, self.asked = token, 0
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(*w.authority.issue(host))
        self.raw = w.own(RawOrigin(w.net, address, 443, self._serve))

    def _serve(self, peer, record):
        body = json.dumps({"access_token": self.token, "token_type": "bearer",
                           "expires_in": 600}).encode()
        with self.tls.wrap_socket(peer, server_side=True) as k:
            k.recv(65536)
            self.asked += 1
            k.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                      b"Content-Length: %d\r\n\r\n" % len(body) + body)
