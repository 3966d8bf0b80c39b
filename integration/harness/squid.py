"""squid as a company's forward proxy: CONNECT only, with a login."""
import os

from . import shell
from .claims import until

CONF = """
pid_filename {folder}/pid
access_log stdio:{folder}/access.log
cache_log {folder}/cache.log
cache deny all
cache_mem 1 MB
workers 1
coredump_dir {folder}
http_port {address}:3128
hosts_file {folder}/hosts
dns_nameservers 127.0.0.1
auth_param basic program /usr/lib/squid/basic_ncsa_auth {folder}/passwords
auth_param basic children 1
acl known proxy_auth REQUIRED
acl tunnels method CONNECT
acl forbidden dstdomain forbidden.example.net
http_access deny forbidden
http_access deny !tunnels
http_access allow known
http_access deny all
shutdown_lifetime 0 seconds
"""


class Squid:
    """hosts: {name: address}, which it alone knows."""

    def __init__(self, w, address, hosts, user, password):
        self.folder = f"{w.folder}/squid"
        os.mkdir(self.folder)
        coded = shell.run(["openssl", "passwd", "-apr1", password]).ok().out
        for name, text in (
                ("passwords", f"{user}:{coded}"),
                ("hosts", "".join(f"{a} {n}\n" for n, a in hosts.items())),
                ("conf", CONF.format(folder=self.folder, address=address))):
            w.file(f"squid/{name}", text)
        shell.run(["chown", "-R", "proxy", self.folder]).ok()
        self.process = shell.start(
            w.net.plain(["squid", "-N", "-n", f"tapward{w.id}", "-f",
                         f"{self.folder}/conf"]), f"{self.folder}/out")
        w.own(self)
        until(lambda: f"{address}:3128" in w.net.run(
            ["ss", "-Hltn", "sport = :3128"]).out, 20, "squid listens")

    def log(self):
        """What it was asked: [(status, target, user)]."""
        path = f"{self.folder}/access.log"
        if not os.path.exists(path):
            return []
        with open(path, encoding="ascii", errors="replace") as f:
            lines = [line.split() for line in f]
        return [(w[3].split("/")[1], w[6], w[7]) for w in lines]

    def close(self):
        shell.stop(self.process, 10)
