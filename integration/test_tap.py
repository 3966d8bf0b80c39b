"""A tap sandbox, with a second tap joined to it where a VMM would be."""
import json

from harness import shell
from harness.claims import claim, contains, equal, until
from harness.net import Namespace, ip
from harness.origins import Nginx
from harness.world import BUILD, TREE, World

POLICY = "[policy]\nversion = 1\n\n[allow web]\nhost = web.example.com\n"


class TapGuest:
    """A namespace whose tap is pumped to the sandbox's."""

    def __init__(self, w, info):
        self.guest = Namespace(w.guest_name())
        w.closers.append(self.guest.close)
        name = self.guest.name
        ip("-n", name, "tuntap", "add", "eth0", "mode", "tap")
        ip("-n", name, "link", "set", "eth0", "address", info["guest_mac"])
        ip("-n", name, "addr", "add", info["guest_ip"], "dev", "eth0")
        log = f"{w.folder}/pump.log"
        self.pump = shell.start(
            [f"{TREE}/bin/tapward", "--socket", w.socket, "attach",
             info["name"], "--fd", "5", "--", "nsenter",
             f"--net={self.guest.path}", f"{BUILD}/integration/frame_pump",
             "5", "eth0"], log)
        w.closers.append(lambda: shell.stop(self.pump))
        until(lambda: "pumping" in open(log, encoding="utf-8").read(), 10,
              "the pump runs")
        ip("-n", name, "link", "set", "eth0", "up")
        ip("-n", name, "route", "add", "default", "via", info["gateway"])
        self.guest.resolver(info["dns"])


@claim("a guest behind a tap fetches, and is refused, as behind a veth")
def _():
    w = World({"web.example.com": "10.201.0.10"})
    with w:
        cert, key = w.authority.issue("web.example.com")
        w.own(Nginx(w.net, f"{w.folder}/nginx", f"""
          server {{ listen 10.201.0.10:443 ssl; ssl_certificate {cert};
            ssl_certificate_key {key};
            location / {{ return 200 "origin\\n"; }} }}"""))
        policy = w.file("tap.ini", POLICY)
        info = json.loads(w.cli("create", "tap-1", "--policy", policy,
                                "--json").ok().out)
        for field in ("name", "netns", "device", "guest_ip", "guest_mac",
                      "gateway", "dns", "ca", "proxy"):
            assert info.get(field), info
        g = TapGuest(w, info)
        curl = ["curl", "-sS", "--max-time", "10", "--cacert", info["ca"]]
        equal(g.guest.run([*curl, "https://web.example.com/"]).ok().out,
              "origin\n")
        got = g.guest.run([*curl, "-i", "https://other.example.com/"])
        contains(got.out, "no-rule", repr(got))
        # A second VMM cannot take the same tap.
        got = w.cli("attach", "tap-1", "--", "true")
        assert got.code != 0, repr(got)
        # The VMM ends; another may attach.
        shell.stop(g.pump)
        until(lambda: w.cli("attach", "tap-1", "--", "true").code == 0, 10,
              "the tap is free again")
        w.cli("rm", "tap-1").ok()


@claim("a device that vanishes makes the sandbox detached, and opens nothing")
def _():
    w = World({"web.example.com": "10.201.0.10"})
    with w:
        s = w.sandbox(POLICY)
        s.guest.run(["ip", "link", "del", "eth0"]).ok()
        until(lambda: json.loads(w.cli("show", s.name, "--json").ok().out)
              ["state"] == "detached", 10, "detached")
        s.rm().ok()
