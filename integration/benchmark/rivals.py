"""The proxies that tools/bench runs beside tapward, each at its best for one
kind of work, one worker, in the same namespace as tapward's dialler."""
import os

from harness import shell
from harness.claims import until
from harness.net import RESOLVER, Namespace, ip

from . import field
from .measure import Contestant, children

HERE, GUEST = "10.202.0.1", "10.202.0.2"
BEARER = "Bearer benchmark-token-of-nobody"
MITM_H2 = f"reverse:https://{field.NAME_H2}"

NGINX = """
daemon off; worker_processes 1; pid {folder}/rival.pid; user root;
error_log {folder}/rival-error.log;
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
events {{ worker_connections 4096; }}
stream {{
  map $ssl_preread_server_name $to {{ {passed} {origin}:443; }}
  server {{ listen {here}:1443; ssl_preread on; proxy_pass $to; }}
}}
http {{
  access_log {folder}/rival-access.log combined buffer=32k flush=1s;
  ssl_protocols TLSv1.2 TLSv1.3;
  upstream origin {{ server {origin}:443; keepalive 64; }}
  keepalive_requests 1000000;
  server {{ listen {here}:2443 ssl http2; ssl_certificate {cert};
    ssl_certificate_key {key}; ssl_session_cache off;
    location / {{ proxy_pass https://origin; proxy_http_version 1.1;
      proxy_set_header Connection ""; proxy_set_header Host {name};
      proxy_set_header Authorization "{bearer}";
      proxy_ssl_verify on; proxy_ssl_trusted_certificate {ca};
      proxy_ssl_name {name}; proxy_ssl_server_name on; }} }}
}}
"""

HAPROXY = """
global
  nbthread 1
  maxconn 2000
  ca-base /
defaults
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  log 127.0.0.1:5140 local0
listen passed
  mode tcp
  option splice-auto
  bind {here}:1444
  tcp-request inspect-delay 5s
  tcp-request content accept if {{ req_ssl_hello_type 1 }}
  use-server o if {{ req_ssl_sni -i {passed} }}
  server o {origin}:443
listen minted
  mode http
  bind {here}:2444 ssl crt {folder}/rival-default.pem generate-certificates ca-sign-file {folder}/rival-ca.pem alpn h2,http/1.1
  http-request set-header Authorization "{bearer}"
  http-reuse always
  acl two ssl_fc_sni -i {name_h2}
  use-server h2 if two
  use-server o unless two
  server o {origin}:443 ssl verify required ca-file {ca} sni ssl_fc_sni
  server h2 {origin_h2}:443 ssl verify required ca-file {ca} sni ssl_fc_sni alpn h2
"""

SQUID = """
pid_filename {folder}/squid/pid
access_log stdio:{folder}/squid/access.log
cache_log {folder}/squid/cache.log
cache deny all
cache_effective_user proxy
workers 1
coredump_dir {folder}/squid
http_port {here}:3128
http_port {here}:3129 ssl-bump generate-host-certificates=on dynamic_cert_mem_cache_size=16MB tls-cert={folder}/squid/ca.pem
sslcrtd_program /usr/lib/squid/security_file_certgen -s {folder}/squid/ssl_db -M 16MB
sslcrtd_children 1
tls_outgoing_options cafile={ca}
acl bumped localport 3129
ssl_bump bump bumped
request_header_add Authorization "{bearer}" all
dns_nameservers {resolver}
acl names dstdomain .example.com
http_access allow names
http_access deny all
shutdown_lifetime 0 seconds
"""


class Rivals:
    """Starts them all; each method gives one as a contestant."""

    def __init__(self, world, cert, key):
        self.world = world
        self.processes = []
        world.closers.append(self.close)
        self.guest = Namespace(world.guest_name())
        world.closers.append(self.guest.close)
        self.join()
        folder = world.folder
        self.words = {"folder": folder, "here": HERE, "cert": cert, "key": key,
                      "origin": field.ORIGIN, "name": field.NAME,
                      "origin_h2": field.ORIGIN_H2, "name_h2": field.NAME_H2,
                      "passed": field.PASS, "ca": world.authority.ca,
                      "resolver": RESOLVER, "bearer": BEARER}
        signer = [world.authority.ca, world.authority.key]
        self.concatenate(signer, "rival-ca.pem")
        self.concatenate([cert, key], "rival-default.pem")
        self.nginx = self.start("nginx", ["nginx", "-p", folder, "-c"], NGINX)
        self.haproxy = self.start("haproxy", ["haproxy", "-db", "-f"], HAPROXY)
        self.squid = self.start_squid(signer)
        self.mitm = {mode: self.start_mitm(mode, port, signer)
                     for mode, port in (("regular", 3130),
                                        (MITM_H2, 3131))}
        for port in (1443, 2443, 1444, 2444, 3128, 3129, 3130, 3131):
            until(lambda p=port: self.listens(p), 30, f"a rival on {port}")

    def join(self):
        host = self.world.host.name
        ip("-n", host, "link", "add", "rivals", "type", "veth", "peer", "name",
           "eth0", "netns", self.guest.name)
        ip("-n", host, "addr", "add", f"{HERE}/24", "dev", "rivals")
        ip("-n", self.guest.name, "addr", "add", f"{GUEST}/24", "dev", "eth0")
        ip("-n", host, "link", "set", "rivals", "up")
        ip("-n", self.guest.name, "link", "set", "eth0", "up")

    def concatenate(self, parts, name):
        with open(f"{self.world.folder}/{name}", "wb") as f:
            for part in parts:
                with open(part, "rb") as p:
                    f.write(p.read())

    def start(self, name, argv, text):
        conf = self.world.file(f"rival-{name}.conf", text.format(**self.words))
        return self.run(name, self.world.host.plain([*argv, conf]))

    def run(self, name, argv):
        process = shell.start(argv, f"{self.world.folder}/rival-{name}.out")
        self.processes.append(process)
        return process

    def start_squid(self, signer):
        folder = self.world.folder
        os.mkdir(f"{folder}/squid")
        shell.run(["/usr/lib/squid/security_file_certgen", "-c", "-s",
                   f"{folder}/squid/ssl_db", "-M", "16MB"]).ok()
        self.concatenate(signer, "squid/ca.pem")
        shell.run(["chown", "-R", "proxy", f"{folder}/squid"]).ok()
        return self.start(
            "squid", ["squid", "-N", "-n", f"bench{os.getpid()}", "-f"], SQUID)

    def start_mitm(self, mode, port, signer):
        folder = f"{self.world.folder}/mitm{port}"
        os.mkdir(folder)
        self.concatenate(signer[::-1], f"mitm{port}/mitmproxy-ca.pem")
        # It asks the C library, which `ip netns exec` shows our resolver.
        self.world.host.resolver(RESOLVER)
        return self.run(f"mitm{port}", self.world.host.argv([
            "mitmdump", "--quiet", "--mode", mode, "--listen-host", HERE,
            "--listen-port", str(port),
            "--set", f"confdir={folder}", "--set", "connection_strategy=lazy",
            "--set", "stream_large_bodies=1m",
            "--set", f"modify_headers=/~q/Authorization/{BEARER}",
            "--set", f"ssl_verify_upstream_trusted_ca={self.words['ca']}"]))

    def listens(self, port):
        out = self.world.host.run(["ss", "-Hltn", f"sport = :{port}"]).out
        return f":{port}" in out

    def contestant(self, name, port, process, **more):
        return Contestant(name, self.guest.plain, f"{HERE}:{port}",
                          self.world.authority.ca,
                          lambda: children(process.pid), **more)

    def nginx_stream(self):
        return self.contestant("nginx stream", 1443, self.nginx)

    def haproxy_tcp(self):
        return self.contestant("haproxy tcp, splice", 1444, self.haproxy)

    def squid_connect(self):
        return self.contestant("squid CONNECT", 3128, self.squid,
                               authority=f"{field.PASS}:443")

    def nginx_reverse(self):
        return self.contestant("nginx reverse proxy", 2443, self.nginx)

    def haproxy_mint(self):
        return self.contestant("haproxy generate-certificates", 2444,
                               self.haproxy)

    def squid_bump(self, name=field.NAME):
        return self.contestant("squid ssl-bump", 3129, self.squid,
                               authority=f"{name}:443", pace=4)

    def mitmproxy(self, name=field.NAME):
        return self.contestant("mitmproxy", 3130, self.mitm["regular"],
                               authority=f"{name}:443", pace=20)

    def mitmproxy_h2(self):
        return self.contestant("mitmproxy", 3131,
                               self.mitm[MITM_H2], pace=20)

    def close(self):
        for process in self.processes:
            shell.stop(process)
