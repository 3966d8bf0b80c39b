"""A world for `tools/demo --public`: the machine's own network, and the
registry that its npm client is configured for. Tests never use it."""
import ipaddress
import os
import socket
import urllib.parse

from . import shell
from .world import TREE, World

CONFIG = """
[daemon]
run-dir = {folder}/run
state-dir = {folder}/state
log-dir = {folder}/log
group = root
uid-range = {uid}-{last}
[upstream]
ca-file = {ca}
[ceiling]
policy = none
{more}
"""

ADDRESS = """
[address registry]
host = {host}
range = {address}/32
"""


class Here:
    """The machine's own namespace, where a world has its host."""

    @staticmethod
    def plain(argv):
        return argv


class PublicWorld(World):
    def __init__(self):
        super().__init__({})

    def set_up(self, names, ceiling, more, pool, resolver, group):
        self.host = Here()
        self.registry = shell.run(
            ["npm", "config", "get", "registry"]).ok().out.strip()
        self.registry_host = urllib.parse.urlsplit(self.registry).hostname
        ca = shell.run(["npm", "config", "get", "cafile"]).ok().out.strip()
        if not os.path.isfile(ca):
            ca = "/etc/ssl/certs/ca-certificates.crt"
        self.said = "it is reached as any other origin"
        section = ""
        address = socket.gethostbyname(self.registry_host)
        if not ipaddress.ip_address(address).is_global:
            section = ADDRESS.format(host=self.registry_host, address=address)
            self.said = ("here its name resolves to a special-purpose address:"
                         " an [address] section opens that for this name alone")
        self.uid_first = 2100000000
        self.config = self.file("tapward.ini", CONFIG.format(
            folder=self.folder, uid=self.uid_first,
            last=self.uid_first + 4095, ca=ca, more=section))
        with open(f"{TREE}/share/tapward/presets/npm-read.ini",
                  encoding="ascii") as f:
            self.policy = f.read().replace("*.npmjs.org", self.registry_host)
        self.socket = f"{self.folder}/run/control.sock"
        self.log = f"{self.folder}/tapwardd.log"
