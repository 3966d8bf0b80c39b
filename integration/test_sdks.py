"""Clients of language models in a sandbox that holds placeholders only: their
own SDKs from npm, plain answers and streams, at an API that wants the real key.
"""
import json
import re
import secrets
import ssl

from harness import canary
from harness.claims import claim, contains, equal, lacks
from harness.node import environment
from harness.origins import RawOrigin
from harness.world import World

ORIGIN = "10.201.0.40"
NAMES = {"api.openai.com": ORIGIN, "api.anthropic.com": ORIGIN}
KEYS = {"openai": f"sk-proj-{secrets.token_urlsafe(36)}",
        "anthropic": f"sk-ant-api03-{secrets.token_urlsafe(70)}"}

POLICY = """\
[policy]
version = 1

[allow openai]
host       = api.openai.com
method     = POST
path       = /v1/chat/completions
credential = openai

[allow anthropic]
host       = api.anthropic.com
method     = POST
path       = /v1/messages
credential = anthropic
"""

# Which the host lets lead to the tests' network.
CREDENTIALS = """
[address apis]
host  = api.openai.com, api.anthropic.com
range = 10.201.0.0/24

[credential openai]
value = file:{folder}/openai.key
host  = api.openai.com
path  = /v1/chat/completions
apply = bearer
grant = llm-* user:root

[credential anthropic]
value = file:{folder}/anthropic.key
host  = api.anthropic.com
path  = /v1/messages
apply = header:x-api-key
grant = llm-* user:root
"""

# What each says goes to standard output as one JSON object.
SCRIPT = """
const { OpenAI } = require('openai');
const { Anthropic } = require('@anthropic-ai/sdk');
const e = process.env, said = {};
const messages = [{ role: 'user', content: 'say it' }];
const openai = new OpenAI({ apiKey: e.TAPWARD_CREDENTIAL_OPENAI, maxRetries: 0 });
const anthropic = new Anthropic({ apiKey: e.TAPWARD_CREDENTIAL_ANTHROPIC, maxRetries: 0 });
async function all(stream, text) {
  let out = '', parts = 0;
  for await (const event of stream) {
    const t = text(event);
    if (t) { out += t; parts++; }
  }
  return `${out} in ${parts}`;
}
const calls = {
  openai: async () => (await openai.chat.completions.create(
    { model: 'm', messages })).choices[0].message.content,
  openai_stream: async () => all(await openai.chat.completions.create(
    { model: 'm', messages, stream: true }), (c) => c.choices[0].delta.content),
  openai_echo: async () => (await openai.chat.completions.create(
    { model: 'echo', messages })).choices[0].message.content,
  openai_models: async () => (await openai.models.list()).data,
  anthropic: async () => (await anthropic.messages.create(
    { model: 'm', max_tokens: 9, messages })).content[0].text,
  anthropic_stream: async () => all(anthropic.messages.stream(
    { model: 'm', max_tokens: 9, messages }),
    (c) => c.type === 'content_block_delta' && c.delta.text),
};
(async () => {
  for (const [name, call] of Object.entries(calls)) {
    try { said[name] = await call(); }
    catch (error) { said[name] = `${error.status}: ${error.message}`; }
  }
  console.log(JSON.stringify(said));
})();
"""
WORDS = ("hello", " from", " the", " model")
SAID = "".join(WORDS)

_world = {}


def openai_answer(text):
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop",
                         "message": {"role": "assistant", "content": text}}]}


def openai_events():
    for word in WORDS:
        yield None, {"id": "c", "object": "chat.completion.chunk", "created": 1,
                     "model": "m", "choices": [{"index": 0, "delta": {"content": word}}]}
    yield None, "[DONE]"


def anthropic_answer(text):
    return {"id": "m", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
            "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}


def anthropic_events():
    yield "message_start", {"message": dict(anthropic_answer(""), content=[])}
    yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
    for word in WORDS:
        yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta",
                                                            "text": word}}
    yield "content_block_stop", {"index": 0}
    yield "message_delta", {"delta": {"stop_reason": "end_turn", "stop_sequence": None},
                            "usage": {"output_tokens": 4}}
    yield "message_stop", {}


class Api:
    """Both APIs, as far as the SDKs ask; 401 without the real key."""

    def __init__(self, w):
        self.seen = []
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(*w.authority.issue(*NAMES))
        self.raw = w.own(RawOrigin(w.net, ORIGIN, 443, self.serve))

    def serve(self, peer, record):
        peer = self.tls.wrap_socket(peer, server_side=True)
        peer.settimeout(20)
        reader = peer.makefile("rb")
        while line := reader.readline(65536):
            fields = {}
            while (field := reader.readline(65536).decode().strip()):
                name, _, value = field.partition(":")
                fields[name.lower()] = value.strip()
            body = json.loads(reader.read(int(fields.get("content-length", 0))))
            self.seen.append((line.decode(), fields, body))
            self.answer(peer, fields, body)

    @staticmethod
    def send(peer, status, value):
        body = json.dumps(value).encode()
        peer.sendall(b"HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
                     b"Content-Length: %d\r\n\r\n%s" % (status, len(body), body))

    @staticmethod
    def stream(peer, events):
        """A chunk for each event, cut in two."""
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n")
        for name, value in events:
            if name is not None:
                value = {"type": name, **value}
            text = value if isinstance(value, str) else json.dumps(value)
            text = (f"event: {name}\n" if name else "") + f"data: {text}\n\n"
            for part in (text[:7].encode(), text[7:].encode()):
                peer.sendall(b"%x\r\n%s\r\n" % (len(part), part))
        peer.sendall(b"0\r\n\r\n")

    def answer(self, peer, fields, body):
        is_openai = fields["host"] == "api.openai.com"
        key = fields.get("authorization", "")[7:] if is_openai \
            else fields.get("x-api-key", "")
        if key != KEYS["openai" if is_openai else "anthropic"]:
            self.send(peer, b"401 Unauthorized", {"error": {"message": "bad key"}})
        elif body.get("stream"):
            self.stream(peer, openai_events() if is_openai else anthropic_events())
        else:
            text = f"your key is {key}" if body["model"] == "echo" else SAID
            self.send(peer, b"200 OK", (openai_answer if is_openai
                                        else anthropic_answer)(text))


def world():
    if not _world:
        w = World(NAMES, start=False)
        for name, key in KEYS.items():
            w.file(f"{name}.key", key + "\n", 0o600)
        w.file("sdks.js", SCRIPT)
        with open(w.config, "a", encoding="ascii") as f:
            f.write(CREDENTIALS.format(folder=w.folder))
        w.start()
        api = Api(w)
        _world.update(w=w, api=api, s=w.sandbox(POLICY, f"llm-{w.id}"))
    return _world["w"], _world["api"], _world["s"]


@claim("sdks: OpenAI's and Anthropic's own clients call and stream with placeholders, and see no key that is echoed")
def _():
    w, api, s = world()
    for name, prefix in (("OPENAI", "sk-proj-"), ("ANTHROPIC", "sk-ant-api03-")):
        contains(s.env[f"TAPWARD_CREDENTIAL_{name}"], prefix)
    ran = s.run(["node", f"{w.folder}/sdks.js"], env=environment(s.env), timeout=60).ok()
    for key in KEYS.values():
        lacks(ran.both, key)
        lacks(ran.both, key[-24:])
        for value in s.env.values():
            lacks(value, key)
    said = json.loads(ran.out)
    for name in KEYS:
        equal(said[name], SAID, name)
        equal(said[f"{name}_stream"], f"{SAID} in {len(WORDS)}", name)
    assert re.fullmatch(r"your key is \*+", said["openai_echo"]), said
    # Refused by path, in words that the SDK shows.
    contains(said["openai_models"], "403")
    equal(len(api.seen), 5)
    for _, fields, _ in api.seen:
        for name, placeholder in s.env.items():
            if name.startswith("TAPWARD_CREDENTIAL_"):
                lacks(json.dumps(fields), placeholder)
    with open(f"{w.folder}/log/audit.jsonl", encoding="utf-8") as f:
        log = f.read()
    for key in KEYS.values():
        lacks(log, key)
    return f"{len(api.seen)} calls"


@claim("sdks: no process but the broker and the sandbox's gate holds a key")
def _():
    w, _, s = world()
    return canary.search(w, [s], [], KEYS.values())


@claim("the world of the SDKs ends and leaves nothing")
def _():
    w, _, _ = world()
    w.close()
    _world.clear()
