// node examples/node/node.js 127.0.0.1:8080 127.0.0.1:6380
'use strict';
// Asks a running node by HTTP and by RESP, with nothing but what Node.js brings, and prints a table.
//
// The node runs by `tollgate serve --contracts examples/languages.yaml`. Exits with 1 where a decision is not what it should be.

const { randomBytes } = require('node:crypto');
const net = require('node:net');

// What is asked for, and what it should hear: whether it passes, what is left, whether coming back helps.
const EXPECTED = [
  [3, true, 2, false],
  [3, false, 2, true],
  [6, false, 2, false],
];

async function byHttp(address, user, cost) {
  const response = await fetch(`http://${address}/v1/check`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key: { user }, cost }),
    signal: AbortSignal.timeout(10_000),
  });
  const answer = await response.json();
  return [answer.allowed, answer.remaining, answer.retry_after_ms !== null];
}

async function byResp(address, user, cost) {
  const words = ['TOLLGATE.CHECK', 'COST', String(cost), 'KEY', 'user', user];
  const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  const reply = await exchange(address, `*${words.length}\r\n${parts.join('')}`);
  const answer = new Map();
  for (let at = 0; at < reply.length; at += 2) answer.set(reply[at], reply[at + 1]);
  return [answer.get('allowed') === 1, answer.get('remaining'), answer.get('retry_after_ms') !== null];
}

/** Sends one command and waits for its whole reply. */
function exchange(address, command) {
  const [host, port] = address.split(/:(?=\d+$)/);
  return new Promise((resolve, reject) => {
    let heard = '';
    const stream = net.connect({ host, port: Number(port) }, () => stream.write(command));
    stream.setTimeout(10_000, () => stream.destroy(new Error('no answer within 10 s')));
    stream.on('error', reject);
    stream.on('data', (data) => {
      heard += data;
      const read = value(heard, 0);
      if (read === null) return;
      stream.end();
      if (read[0] instanceof Error) reject(read[0]);
      else resolve(read[0]);
    });
  });
}

/** One value of RESP2 and where it ends, or null where it has not all come yet. */
function value(text, start) {
  const end = text.indexOf('\r\n', start);
  if (end < 0) return null;
  const [kind, rest, next] = [text[start], text.slice(start + 1, end), end + 2];
  if (kind === ':') return [Number(rest), next];
  if (kind === '-') return [new Error(rest), next];
  if (kind === '+') return [rest, next];
  if (rest === '-1') return [null, next];
  if (kind === '$') {
    const after = next + Number(rest);
    return text.length < after + 2 ? null : [text.slice(next, after), after + 2];
  }
  const items = [];
  let at = next;
  for (let left = Number(rest); left > 0; left -= 1) {
    const read = value(text, at);
    if (read === null) return null;
    items.push(read[0]);
    at = read[1];
  }
  return [items, at];
}

async function main(http, resp) {
  let wrong = 0;
  console.log('door  cost  passes left  retry');
  for (const [door, ask, address] of [['http', byHttp, http], ['resp', byResp, resp]]) {
    // Nobody has asked for this user before.
    const user = `ada-${randomBytes(8).toString('hex')}`;
    for (const [cost, ...expected] of EXPECTED) {
      const heard = await ask(address, user, cost);
      const [passes, left, retry] = heard;
      console.log(`${door}  ${String(cost).padStart(4)}  ${String(passes).padEnd(7)}${String(left).padStart(4)}  ${retry ? 'yes' : 'no'}`);
      wrong += JSON.stringify(heard) === JSON.stringify(expected) ? 0 : 1;
    }
  }
  return wrong ? 1 : 0;
}

const [http, resp] = process.argv.slice(2);
if (resp === undefined) {
  console.error('usage: node.js HTTP-ADDRESS RESP-ADDRESS');
  process.exitCode = 64;
} else {
  main(http, resp).then((code) => {
    process.exitCode = code;
  });
}
