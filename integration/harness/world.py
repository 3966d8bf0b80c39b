"""A world: one agent host with tapwardd, the network beyond it, guests.

Every world has its own namespaces, folders and daemon, so that it runs beside
an installed service and beside other worlds.
"""
import http.client
import json
import os
import shutil
import socket
import tempfile

from . import shell
from .certs import Authority
from .claims import until
from .net import NET, RESOLVER, Namespace, join
from .origins import Resolver
from .sandbox import Sandbox

TREE = os.environ.get("TAPWARD_TREE", "/usr/local")
# Where the programs of integration/ were built.
BUILD = os.environ.get("TAPWARD_BUILD", "build/release")
_serial = [0]
_open = []


def close_at_end(thing):
    """thing.close() is called at the latest when the tests end."""
    _open.append(thing)


def closed(thing):
    """It was closed: close_all() need not."""
    if thing in _open:
        _open.remove(thing)


def close_all():
    """Ends worlds that a failed claim left behind, and what claims share."""
    while _open:
        _open[-1].close()


CONFIG = """
[daemon]
run-dir = {folder}/run
state-dir = {folder}/state
log-dir = {folder}/log
group = {group}
uid-range = {uids}
[network]
pool = {pool}
[upstream]
resolver = {resolver}
ca-file = {ca}
[address tests]
host = **.example.com
range = {net}.0/24
[ceiling]
policy = {ceiling}
{more}
"""


class World:
    """names: {host name: address} of the tests' zone. tree: an installation
    other than the one under test."""

    def __init__(self, names, *, ceiling=None, more="", pool=2, start=True,
                 resolver=None, group="root", tree=TREE):
        _serial[0] += 1
        _open.append(self)
        self.tree = tree
        self.id = f"{os.getpid() % 10000}x{_serial[0]}"
        self.folder = tempfile.mkdtemp(prefix="tapward-test-")
        os.chmod(self.folder, 0o755)
        self.daemon = None
        self.closers = []
        self.sandboxes = 0
        try:
            self.set_up(names, ceiling, more, pool, resolver, group)
            if start:
                self.start()
        except BaseException:
            self.close()
            raise

    def set_up(self, names, ceiling, more, pool, resolver, group):
        self.host = Namespace(f"twt{self.id}h")
        self.closers.append(self.host.close)
        self.net = Namespace(f"twt{self.id}n")
        self.closers.append(self.net.close)
        join(self.host, self.net, sorted(
            {RESOLVER, *(a for a in names.values() if a.startswith(NET))}))
        self.authority = Authority(f"{self.folder}/ca")
        self.resolver = Resolver(self.net, self.folder, names.items())
        self.closers.append(self.resolver.close)
        ceiling_file = "none"
        if ceiling is not None:
            ceiling_file = self.file("ceiling.ini", ceiling)
        self.uid_first = base = 2200000000 + 5000 * (
            os.getpid() % 3000 * 100 + _serial[0] % 100)
        self.config = self.file("tapward.ini", CONFIG.format(
            folder=self.folder, uids=f"{base}-{base + 4095}", pool=pool,
            resolver=resolver or RESOLVER, ca=self.authority.ca, net=NET,
            ceiling=ceiling_file, more=more, group=group))
        self.socket = f"{self.folder}/run/control.sock"
        self.log = f"{self.folder}/tapwardd.log"

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close()

    def file(self, name, text, mode=0o644):
        path = f"{self.folder}/{name}"
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def own(self, thing):
        """thing.close() is called when the world ends; returns thing."""
        self.closers.append(thing.close)
        return thing

    def start(self, wait=True):
        env = {"PATH": os.environ["PATH"], **self.extra_env()}
        self.daemon = shell.start(
            self.host.plain([f"{self.tree}/sbin/tapwardd", "--config", self.config,
                             "--foreground"]), self.log, env=env)
        if wait:
            until(self.is_ready, 30, f"tapwardd answers ({self.log_text()})")

    def extra_env(self):
        return {k: v for k, v in os.environ.items()
                if k in ("TAPWARD_LOG", "TAPWARD_TEST_SECRET")}

    def is_ready(self):
        if self.daemon.poll() is not None:
            raise AssertionError(f"tapwardd ended:\n{self.log_text()}")
        return os.path.exists(self.socket) and self.cli("status").code == 0

    def stop(self):
        shell.stop(self.daemon, 20)

    def log_text(self):
        if not os.path.exists(self.log):
            return ""
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def cli(self, *argv, **kwargs):
        return shell.run(
            [f"{self.tree}/bin/tapward", "--socket", self.socket, *argv], **kwargs)

    def ask(self, method, path, body=None):
        """The status of a request of the control API, without a program."""
        link = http.client.HTTPConnection("tapward")
        link.sock = socket.socket(socket.AF_UNIX)
        link.sock.settimeout(60)
        try:
            link.sock.connect(self.socket)
            link.request(method, path, body and json.dumps(body))
            return link.getresponse().status
        finally:
            link.close()

    def guest_name(self):
        self.sandboxes += 1
        return f"twt{self.id}g{self.sandboxes}"

    def sandbox(self, policy, name=None, *more, **kwargs):
        return Sandbox(self, policy, name, *more, **kwargs)

    def audit(self, sandbox=None, **want):
        """Records of the log, as dicts, that have all the given fields."""
        records = []
        path = f"{self.folder}/log/audit.jsonl"
        if not os.path.exists(path):
            return records
        with open(path, encoding="ascii") as f:
            for line in f:
                record = json.loads(line)
                if sandbox and record.get("sandbox") != sandbox:
                    continue
                if all(record.get(k) == v for k, v in want.items()):
                    records.append(record)
        return records

    def audited(self, sandbox, **want):
        """The first such record, once it is there."""
        return until(lambda: self.audit(sandbox, **want), 5,
                     f"an audit record with {want} of {sandbox}, among "
                     f"{self.audit(sandbox)[-12:]}")[0]

    def close(self):
        if self not in _open:
            return
        _open.remove(self)
        self.stop()
        for close in reversed(self.closers):
            close()
        shutil.rmtree(self.folder, ignore_errors=True)
