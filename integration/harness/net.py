"""Network namespaces of the tests: a host, the network beyond it, guests."""
import os

from .shell import in_net, run

# The tests' own network. Special-purpose, so the host config of a test opens
# it with an [address] section.
NET = "10.201.0"
HOST_ADDRESS = f"{NET}.1"
RESOLVER = f"{NET}.53"


def ip(*argv):
    return run(["ip", *argv]).ok()


class Namespace:
    """A named network namespace with lo up; gone after close()."""

    def __init__(self, name):
        self.name = name
        self.path = f"/run/netns/{name}"
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
        self.resolv = f"/etc/netns/{name}"

    def resolver(self, address):
        """`ip netns exec` binds this over /etc/resolv.conf."""
        os.makedirs(self.resolv, exist_ok=True)
        with open(f"{self.resolv}/resolv.conf", "w", encoding="ascii") as f:
            f.write(f"nameserver {address}\noptions timeout:2 attempts:1\n")

    def run(self, argv, **kwargs):
        return run(["ip", "netns", "exec", self.name, *argv], **kwargs)

    def argv(self, argv):
        return ["ip", "netns", "exec", self.name, *argv]

    def plain(self, argv):
        return in_net(self.name, argv)

    def close(self):
        run(["ip", "netns", "del", self.name])
        if os.path.isdir(self.resolv):
            for name in os.listdir(self.resolv):
                os.unlink(f"{self.resolv}/{name}")
            os.rmdir(self.resolv)


def join(host, net, addresses):
    """A veth pair: HOST_ADDRESS on the host side, addresses on the other."""
    ip("-n", host.name, "link", "add", "uplink", "type", "veth", "peer",
       "name", "uplink", "netns", net.name)
    ip("-n", host.name, "addr", "add", f"{HOST_ADDRESS}/24", "dev", "uplink")
    for address in addresses:
        ip("-n", net.name, "addr", "add", f"{address}/24", "dev", "uplink")
    ip("-n", host.name, "link", "set", "uplink", "up")
    ip("-n", net.name, "link", "set", "uplink", "up")
