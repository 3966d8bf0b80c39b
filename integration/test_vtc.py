"""Exchanges to the byte, by varnishtest: vtc/*.vtc, plain and over TLS."""
import os

from harness import vtc
from harness.claims import claim
from harness.raw import connect, synthetic, tls
from harness.world import World

HOST, ADDRESS = "vtc.example.com", "10.201.0.38"

POLICY = """\
[policy]
version = 1

[allow tls]
host   = vtc.example.com
method = GET, HEAD, POST, PUT
path   = /open/**
"""

PLAIN = POLICY.replace("path ", "port   = 80\nscheme = http\npath ")

_world = {}


def world():
    if not _world:
        w = World({HOST: ADDRESS})
        s, plain = w.sandbox(POLICY), w.sandbox(PLAIN)
        ways = {
            "https": (443, lambda: tls(s, HOST), [HOST]),
            "http": (80, lambda: connect(
                plain, (synthetic(plain, HOST), 80)), None),
        }
        for scheme, (port, open_, names) in ways.items():
            w.own(vtc.Entry(f"{w.folder}/{scheme}-gate", open_))
            vtc.Exit(w, ADDRESS, port, f"{w.folder}/{scheme}-origin", names)
        _world.update(w=w, ports={k: v[0] for k, v in ways.items()})
    return _world["w"]


def play(name):
    w = world()
    for scheme, port in _world["ports"].items():
        origin = f"{w.folder}/{scheme}-origin"
        if os.path.exists(origin):
            os.unlink(origin)
        vtc.play(name, w.folder, host=HOST, scheme=scheme, port=port,
                 gate=f"{w.folder}/{scheme}-gate", origin=origin)


def about(name):
    """What a script is called, and the rows of the catalogue it shows."""
    with open(f"{vtc.FOLDER}/{name}.vtc", encoding="ascii") as f:
        return f.readline().split('"')[1]


for script in vtc.scripts():
    claim(f"{script}: {about(script)}")(
        lambda script=script: play(script))


@claim("the world of the scripts ends and leaves nothing")
def _():
    world().close()
    _world.clear()
