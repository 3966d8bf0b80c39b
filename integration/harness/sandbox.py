"""One sandbox on a veth, with its guest namespace."""
import json
import os
import shlex

from .net import Namespace


class Sandbox:
    """Created on construction; run() is the guest."""

    def __init__(self, world, policy, name=None, *more, check=True):
        self.world = world
        self.guest = Namespace(world.guest_name())
        world.closers.append(self.guest.close)
        # Names of namespaces are the machine's: other worlds have others.
        self.name = name or f"s{world.id}-{world.sandboxes}"
        self.policy = world.file(f"{self.name}.ini", policy)
        self.created = world.cli(
            "create", self.name, "--policy", self.policy, "--device", "veth",
            "--netns", self.guest.path, "--json", *more)
        if not check:
            return
        self.created.ok()
        self.info = json.loads(self.created.out)
        self.guest.resolver(self.info["dns"])
        self.ca = self.info["ca"]
        self.env = dict(os.environ)
        for name in list(self.env):
            if name.lower().endswith("_proxy") or name.startswith("npm_"):
                del self.env[name]
        self.env.update(self.exports())

    def exports(self):
        """What `tapward env` prints, as a dict."""
        text = self.world.cli("env", self.name).ok().out
        pairs = {}
        for word in shlex.split(text, comments=True):
            if "=" in word:
                key, value = word.split("=", 1)
                pairs[key] = value
        return pairs

    def run(self, argv, **kwargs):
        kwargs.setdefault("env", self.env)
        return self.guest.run(argv, **kwargs)

    def curl(self, *argv, **kwargs):
        return self.run(["curl", "-sS", "--max-time", "20", "--cacert",
                         self.ca, *argv], **kwargs)

    def reload(self, policy):
        self.world.file(os.path.basename(self.policy), policy)
        return self.world.cli("reload", self.name, "--policy", self.policy)

    def audited(self, **want):
        return self.world.audited(self.name, **want)

    def rm(self):
        return self.world.cli("rm", self.name)
