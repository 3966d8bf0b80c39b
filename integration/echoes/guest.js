// A guest that asks for cases of origin.js and tells what it got of each, byte
// by byte. Usage: guest.js VERSION HOST; [{path, expect}] come on stdin. Of a path
// /event/ID/N, /go/ID is asked for once so many bytes are there as expect says.
'use strict';
const fs = require('fs'), http2 = require('http2'), https = require('https');

const [version, host] = process.argv.slice(2);
const ca = fs.readFileSync(process.env.NODE_EXTRA_CA_CERTS);
const jobs = JSON.parse(fs.readFileSync(0, 'utf8'));
const LANES = 6;

const agent = new https.Agent({keepAlive: true, maxSockets: 2 * LANES, ca});
let session = null;

const h1 = (path, got, onData) => new Promise((done) => {
  const q = https.get({host, path, agent, servername: host}, (res) => {
    got.status = res.statusCode;
    got.reason = res.statusMessage;
    got.head = res.rawHeaders;
    res.on('data', onData);
    res.on('end', () => {
      got.trailers = res.rawTrailers;
      got.end = res.complete ? 'whole' : 'cut';
    });
    res.on('error', (e) => { got.end = 'cut'; got.error = e.code; });
    res.on('close', done);
  });
  q.on('error', (e) => {
    if (!got.status) { got.end = 'none'; got.error = e.code; }
    done();
  });
});

const connect = () => {
  if (!session || session.closed || session.destroyed) {
    session = http2.connect(`https://${host}`, {ca});
    session.on('error', () => {});
  }
  return session;
};

const flat = (h) => Object.entries(h).flatMap(([n, v]) =>
  (Array.isArray(v) ? v : [v]).flatMap((one) => [n, String(one)]));

const h2 = (path, got, onData) => new Promise((done) => {
  const r = connect().request({':path': path});
  r.on('response', (h) => { got.status = h[':status']; got.head = flat(h); });
  r.on('trailers', (h) => { got.trailers = flat(h); });
  r.on('data', onData);
  r.on('end', () => { got.end = got.end || 'whole'; });
  r.on('error', (e) => { got.end = 'cut'; got.error = e.code; });
  r.on('close', () => {
    if (r.rstCode !== 0) got.end = 'cut';
    done();
  });
});

const ask = version === 'h1' ? h1 : h2;

const run = async ({path, expect}) => {
  const got = {path, status: 0, head: [], trailers: []};
  const parts = [];
  let size = 0, told = expect === undefined;
  await ask(path, got, (d) => {
    parts.push(d);
    size += d.length;
    if (told || size < expect) return;
    told = true;
    got.early = size; // bytes that came before anything else was sent
    ask(`/go/${path.split('/')[2]}`, {}, () => {});
  });
  got.body = Buffer.concat(parts).toString('base64');
  return got;
};

(async () => {
  const results = [];
  let next = 0;
  const lane = async () => {
    while (next < jobs.length) {
      const i = next++;
      results[i] = await run(jobs[i]);
    }
  };
  await Promise.all(Array.from({length: LANES}, lane));
  process.stdout.write(JSON.stringify(results), () => process.exit(0));
})();
