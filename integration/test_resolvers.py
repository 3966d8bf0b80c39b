"""Resolvers that are asked by TLS: unbound, and ones that fail in every way that
the manual's table has; the record's detail is what the table says.
"""
import json
import os
import re
import secrets
import ssl
import threading
import time

from harness import shell
from harness.certs import Authority
from harness.claims import claim, contains, equal, until
from harness.dot import Dot, Unbound, framed
from harness.issuer import Issuer
from harness.nameserver import A, HERE, Nameserver, record
from harness.raw import Recorder
from harness.world import World

GOOD, ISSUER = "10.201.0.10", "10.201.0.11"
FIRST, SECOND, CLEAR = "10.201.0.55", "10.201.0.54", "10.201.0.56"
LATER = "10.201.0.57"
NAMES = {"good.example.com": GOOD, "issuer.example.com": ISSUER,
         "first.example.com": FIRST, "second.example.com": SECOND,
         "clear.example.com": CLEAR, "later.example.com": LATER}
HOST = "dns.example.net"
TOKEN = f"token-{secrets.token_hex(12)}"
POLICY = """\
[policy]
version = 1

[allow minted]
host       = minted.example.com
credential = minted

[allow all]
host = *.example.com
"""
MORE = """
[limits]
resolve-timeout = 400ms
[credential minted]
kind          = oauth2
token-url     = https://issuer.example.com/token
client-id     = svc
client-secret = file:{folder}/token
host          = minted.example.com
apply         = bearer
grant         = r-* user:root
"""
MANUAL = f"{os.path.dirname(os.path.abspath(__file__))}/../docs/tapward.ini.5"

_world, _serial = {}, [0]


def world():
    if not _world:
        w = World(NAMES, start=False, resolver=f"{SECOND}#{HOST}")
        w.file("token", TOKEN, 0o600)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(MORE.format(folder=w.folder))
        # What leaves the host in the clear for a nameserver, of anybody.
        nft = lambda *words: shell.run(
            shell.in_net(w.host.name, ["nft", *words])).ok().out
        nft("add table inet seen")
        nft("add chain inet seen out { type filter hook output priority 0; }")
        nft("add rule inet seen out meta l4proto { tcp, udp } th dport 53 counter")
        unbound = Unbound(w, SECOND, w.authority.issue(HOST), {
            "example.com": GOOD, "issuer.example.com": ISSUER})
        first = Dot(w, FIRST, w.authority.issue(HOST),
                    lambda q: q.addresses(GOOD))
        w.start()
        Recorder(w, GOOD, 443, ["*.example.com"]).answer = lambda nth, head: (
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        _world.update(w=w, first=first, unbound=unbound, nft=nft,
                      issuer=Issuer(w, ISSUER, "issuer.example.com", TOKEN),
                      s=w.sandbox(POLICY, f"r-{w.id}"))
    return _world["w"], _world["s"], _world["first"]


def resolvers(*names):
    """The host's configuration has these from now on."""
    w = _world["w"]
    with open(w.config, encoding="ascii") as f:
        text = f.read()
    w.file("tapward.ini", re.sub(
        r"(?m)^resolver = .*", "resolver = " + ", ".join(names), text))
    w.cli("reload", "--host").ok()


def fetch(host=None):
    """(what a guest gets of a name that nobody knows yet, the record's detail)."""
    s = _world["s"]
    _serial[0] += 1
    host = host or f"n{_serial[0]}.example.com"
    got = s.curl("-i", f"https://{host}/")
    reason = re.search(r"(?i)tapward-reason: (\S+)", got.out)
    made = s.audited(event="connect", host=host)
    return reason.group(1) if reason else got.out.split()[1], \
        made.get("detail", "")


def states():
    said = json.loads(_world["w"].cli("status", "--json").ok().out)
    return said["resolver_states"]


def in_the_clear():
    return int(re.search(r"packets (\d+)", _world["nft"]("list table inet seen"))[1])


def tables():
    """{fault: (when the next one is asked, detail)} in the clear, and by TLS."""
    with open(MANUAL, encoding="ascii") as f:
        text = f.read()
    found = []
    for part in text.split(".Ss Resolvers that fail\n")[1].split(".Bl -column")[1:]:
        rows = re.findall(r"(?m)^\.It (?!Em)(.*) Ta (.*) Ta (.*)$",
                          part.split(".El")[0])
        found.append({fault: (then, detail) for fault, then, detail in rows})
    equal(len(found), 2)
    return found


@claim("unbound by TLS: many names by one handshake, also an issuer's; none in the clear; status and doctor say so")
def _():
    w, s, _ = world()
    for _ in range(8):
        equal(fetch(), ("200", ""))
    # The broker has a connection of its own.
    contains(s.curl("-i", "https://minted.example.com/").out, " 200 ")
    equal(_world["issuer"].asked, 1)
    contains(_world["unbound"].log(), "issuer.example.com. A IN")
    state, = states()
    equal((state["name"], state["state"], state["text"], state["handshakes"]),
          (f"{SECOND}:853#{HOST}", "up", "TLSv1.3", 1))
    assert state["answers"] >= 18, state
    contains(w.cli("status").ok().out, f"{SECOND}:853#{HOST} up, TLSv1.3")
    contains(w.cli("doctor", "--config", w.config).out,
             f"{SECOND}:853#{HOST} proves its name, TLSv1.3")
    # It is started anew, and no name is lost.
    unbound = _world["unbound"]
    unbound.close()
    until(lambda: fetch()[0] == "resolve-failed", 10, "it is seen to be gone")
    unbound.start()
    until(lambda: fetch()[0] == "200", 5, "it is seen to be back")
    equal(in_the_clear(), 0)


def answers_with(change):
    """A way that sends bytes made of each good answer."""
    def way(dot, peer):
        tls, questions = dot.talk(peer)
        for q in questions:
            tls.sendall(change(q, framed(dot.zone(q))))
    return way


def after_one_answer(dot, peer):
    tls, questions = dot.talk(peer)
    for q in questions:
        tls.sendall(framed(dot.zone(q)))
        tls.unwrap()
        return


def before_an_answer(dot, peer):
    tls, questions = dot.talk(peer)
    for _ in questions:
        tls.unwrap()
        return


def in_any_order(dot, peer):
    tls, questions = dot.talk(peer)
    held = b""
    for q in questions:
        if not held:
            held = framed(dot.zone(q))
            continue
        for byte in framed(dot.zone(q)) + held:
            tls.sendall(bytes([byte]))
        held = b""


def no_tls(dot, peer):
    peer.sendall(b"220 mail.example.com ESMTP\r\n")
    peer.recv(4096)


def no_handshake(dot, peer):
    while peer.recv(4096):
        pass


# What is done in each; those in the clear too, by what they say of a question.
SAID = {
    "says nothing": lambda q: [],
    "answers late": lambda q: threading.Event().wait(0.1) or q.addresses(GOOD),
    "answers something else": lambda q: q.addresses(GOOD).replace(
        b"\7example", b"\7exbmple"),
    "answers in another's name": lambda q: b"\xff\xff" + q.addresses(GOOD)[2:],
    "fails": lambda q: q.answer(flags=0x8182),
    "refuses": lambda q: q.answer(flags=0x8185),
    "leads inwards": lambda q: q.addresses("127.0.0.1"),
    "says that there is no such name": lambda q: q.answer(flags=0x8183),
    "gives an answer that is none": lambda q: q.answer(
        record(HERE, A, bytes(16))),
}
WAYS = {
    "has nobody at its port": Dot.plain,
    "has a certificate for another name": Dot.plain,
    "has a certificate that has expired": Dot.plain,
    "has a certificate of a CA unknown to us": Dot.plain,
    "speaks no TLS": no_tls,
    "speaks TLS before 1.2": Dot.plain,
    "ends connections before it answers": before_an_answer,
    "ends connections after each answer": after_one_answer,
    "answers in any order, or in pieces": in_any_order,
    "sends a length that no answer has": answers_with(
        lambda q, answer: b"\xff\xff" + answer[2:]),
    "sends answers to what was not asked": answers_with(
        lambda q, answer: (answer[:2] + b"\xaa\xaa" + answer[4:]) * 64),
    "sends half of an answer": answers_with(
        lambda q, answer: answer[:len(answer) // 2]),
    "never ends the handshake": no_handshake,
}


def certificates(w):
    """{fault: (certificate, key)}."""
    other, old = (Authority(f"{w.folder}/{n}") for n in ("other-ca", "old"))
    return {
        "has a certificate for another name": w.authority.issue("dns.example.org"),
        "has a certificate that has expired": old.issue(
            HOST, days=-1, ca=w.authority),
        "has a certificate of a CA unknown to us": other.issue(HOST),
    }


def expect(fault, detail, got):
    if detail == "(the name resolves)":
        equal(got, ("200", ""), fault)
    elif detail == "private-address":
        equal(got[0], detail, fault)
    else:
        equal(got, ("resolve-failed", detail), fault)


@claim("a resolver in the clear that is down, slow or lies: what the manual's table says of each is what the record says")
def _():
    w, _, _ = world()
    clear, _ = tables()
    resolvers(CLEAR)
    expect("is not there", clear.pop("is not there")[1], fetch())
    server = Nameserver(w, CLEAR)
    equal(set(clear), set(SAID), "the manual's table")
    for fault, (_, detail) in clear.items():
        server.rules = type("", (dict,), {"get": lambda self, n: SAID[fault]})()
        expect(fault, detail, fetch())
    return f"{len(clear) + 1} faults"


@claim("a resolver that stops answering is told, once, with why, in status, doctor, metrics and the log, and that it answers again")
def _():
    w, _, _ = world()
    server = Nameserver(w, LATER)
    resolvers(LATER)
    silent = type("", (dict,), {"get": lambda self, n: lambda q: []})()
    up = type("", (dict,), {"get": lambda self, n: lambda q: q.addresses(GOOD)})()

    def counted(state):
        text = shell.run(["curl", "-sS", "--fail", "--unix-socket", w.socket,
                          "http://tapward/metrics"]).ok().out
        return f'tapward_resolvers{{role="dialler",state="{state}"}} 1\n' in text

    def lines(word):
        return len(re.findall(f"resolver at={LATER}:53 role=dialler {word}",
                              w.log_text()))

    server.rules = up
    equal(fetch(), ("200", ""))
    state, = states()
    equal((state["state"], state["text"], state["answers"] >= 2), ("up", "", True))
    assert counted("up") and not counted("down")
    equal(lines("down"), 0)
    server.rules = silent
    expect("says nothing", "resolver-timeout", fetch())
    until(lambda: counted("down"), 10, "it is seen to be down")
    state, = states()
    equal((state["state"], state["text"]),
          ("down", "resolver-timeout: no answer in 1500 ms"))
    contains(w.cli("status").ok().out, f"{LATER}:53 DOWN: resolver-timeout")
    equal((lines("down"), lines("answers again")), (1, 0))
    server.rules = up
    equal(fetch(), ("200", ""))
    equal(states()[0]["state"], "up")
    equal((lines("down"), lines("answers again")), (1, 1))


@claim("a resolver by TLS that is down, slow or lies: what the manual's tables say of each, alone and, if TLS is at fault, before a good one; nothing goes in the clear")
def _():
    w, _, first = world()
    table = {}
    for part in tables():
        table |= part
    # In the clear whether it is there is not told from what it says.
    del table["is not there"]
    resolvers(f"{SECOND}#{HOST}")
    before = in_the_clear()
    equal(set(table), {*SAID, *WAYS}, "the manual's tables")
    good, certs = first.cert, certificates(w)
    for fault, (then, detail) in table.items():
        first.cert = certs.get(fault, good)
        first.max_version = ssl.TLSVersion.TLSv1_1 \
            if fault == "speaks TLS before 1.2" else ssl.TLSVersion.TLSv1_3
        first.way = WAYS.get(fault) or answers_with(
            lambda q, answer: framed(said) if (said := SAID[fault](q)) else b"")
        # Nobody listens on that port.
        name = f"{FIRST}:1#{HOST}" if fault == "has nobody at its port" \
            else f"{FIRST}#{HOST}"
        resolvers(name)
        expect(fault, detail, fetch())
        # What is said is read by one code, and names has it with a good one.
        if detail == "(the name resolves)" or fault in SAID:
            continue
        resolvers(name, f"{SECOND}#{HOST}")
        begin = time.monotonic()
        got, _ = fetch()
        took = time.monotonic() - begin
        equal(got, "200", fault)
        if then == "at once":
            assert took < 1, (fault, took)
    equal(in_the_clear() - before, 0)
    return f"{len(table)} faults"


@claim("the world of the resolvers ends and leaves nothing")
def _():
    _world["w"].close()
    _world.clear()
