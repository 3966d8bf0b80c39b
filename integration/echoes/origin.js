// An origin that says what it is told to, in the pieces that it is told, to
// whoever sends it the canary. Usage: origin.js CERT KEY CASES ADDRESS-H1
// ADDRESS-H2. A case: {head: [[name, value]], status, reason, pieces: [base64],
// trailers: [[name, value]], has_length}.
'use strict';
const fs = require('fs'), http2 = require('http2'), https = require('https');

const [cert, key, file, one, two] = process.argv.slice(2);
const tls = {cert: fs.readFileSync(cert), key: fs.readFileSync(key)};
const {canary, cases} = JSON.parse(fs.readFileSync(file, 'utf8'));
const waiting = new Map(); // events of which only the first was sent

// Each piece is a chunk, or a DATA frame, and a TLS record of its own.
const say = (out, pieces, end) => {
  if (pieces.length === 0) { end(); return; }
  out.write(Buffer.from(pieces[0], 'base64'));
  setImmediate(say, out, pieces.slice(1), end);
};

const pairs = (list) => Object.fromEntries(list);

const length = (c) => c.pieces.reduce(
  (n, p) => n + Buffer.byteLength(p, 'base64'), 0);

// An event goes out; the rest of its case when somebody asks for /go.
const event = (c, path, out, end) => {
  const [, , id] = path.split('/');
  out.write(Buffer.from(c.pieces[0], 'base64'));
  waiting.set(id, () => say(out, c.pieces.slice(1), end));
};

const answer1 = (c, path, res) => {
  const fields = c.head.flatMap(([n, v]) => [n, v]);
  if (c.has_length) fields.push('Content-Length', String(length(c)));
  res.sendDate = false;
  res.writeHead(c.status, c.reason, fields);
  res.flushHeaders();
  const end = () => {
    if (c.trailers.length) res.addTrailers(c.trailers);
    res.end();
  };
  if (path.startsWith('/event/')) event(c, path, res, end);
  else if (c.status === 204 || c.status === 304) end();
  else say(res, c.pieces, end);
};

const answer2 = (c, path, s) => {
  const head = pairs(c.head.map(([n, v]) => [n.toLowerCase(), v]));
  if (c.has_length) head['content-length'] = String(length(c));
  const bare = c.status === 204 || c.status === 304;
  s.respond({...head, ':status': c.status},
            {waitForTrailers: c.trailers.length > 0, endStream: bare,
             sendDate: false});
  s.on('wantTrailers', () => s.sendTrailers(
    pairs(c.trailers.map(([n, v]) => [n.toLowerCase(), v]))));
  if (bare) return;
  if (path.startsWith('/event/')) event(c, path, s, () => s.end());
  else say(s, c.pieces, () => s.end());
};

// The case that a path asks for; without the canary, none is told.
const none = {status: 500, reason: 'No', head: [], pieces: [], trailers: []};
const find = (path, authorization) => {
  const [, kind, id, index] = path.split('/');
  if (kind === 'go') {
    const go = waiting.get(id);
    waiting.delete(id);
    if (go) go();
    return {...none, status: 204, reason: 'Gone On'};
  }
  if (authorization !== `Bearer ${canary}`) return none;
  return cases[Number(kind === 'event' ? index : id)];
};

const h1 = https.createServer(tls, (q, res) => {
  q.socket.setNoDelay(true);
  answer1(find(q.url, q.headers.authorization), q.url, res);
});
const h2 = http2.createSecureServer(tls);
h2.on('stream', (s, h) => {
  s.on('error', () => {});
  answer2(find(h[':path'], h.authorization), h[':path'], s);
});
for (const s of [h1, h2]) s.on('error', () => {}).on('clientError', () => {});
h1.listen(443, one, () => h2.listen(443, two, () => console.log('ready')));
