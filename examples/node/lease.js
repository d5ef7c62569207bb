// npm install --prefix examples/node && node examples/node/lease.js 127.0.0.1:6380
'use strict';
// Decides in this process by leases of running nodes, and prints how decisions were found; TOLLGATE_LIBRARY names the library.
//
// A node runs by `tollgate serve --contracts examples/lease.yaml`. Exits with 1 where a decision is not what it should be.

const { randomBytes } = require('node:crypto');
const { setTimeout: sleep } = require('node:timers/promises');
const { Limiter, TollgateError } = require('./tollgate.js');

// Seconds that a call waits for a node: far longer than one takes, so that a busy machine is no reason to refuse.
const TIMEOUT = 10;
// Seconds after which it is no use to come back.
const PATIENCE = 30;

let wrong = 0;

function expect(holds, what) {
  if (holds) return;
  wrong += 1;
  console.error(`not as it should be: ${what}`);
}

function show(kind, answers) {
  const found = new Map();
  for (const { path } of answers) found.set(path, (found.get(path) ?? 0) + 1);
  const passed = answers.filter((answer) => answer.allowed).length;
  const paths = [...found].sort().map(([path, count]) => `${path} ${count}`);
  console.log(`${kind.padEnd(6)}${String(answers.length).padStart(5)}${String(passed).padStart(8)}  ${paths.join(', ')}`);
  return answers;
}

/** Asks until so many have passed. Who is refused waits as long as it was told, and up to half as long again. */
async function untilPassed(limiter, key, passes) {
  const answers = [];
  const deadline = Date.now() + PATIENCE * 1000;
  let passed = 0;
  while (passed < passes && Date.now() < deadline) {
    const answer = limiter.check(key);
    answers.push(answer);
    if (answer.allowed) passed += 1;
    else await sleep(Math.max(answer.retryAfter, 0.001) * 1000 * (1 + Math.random() / 2));
  }
  return answers;
}

async function main(nodes) {
  // Nobody has asked for this user before.
  const user = `ada-${randomBytes(8).toString('hex')}`;
  const limiter = Limiter.connect(nodes, { timeout: TIMEOUT });
  console.log('kind  asked  passed  found by');
  // A node that has just started lends nothing for a term, as the one before it may have lent everything.
  let answers = show('rate', await untilPassed(limiter, { kind: 'rate', user }, 500));
  expect(answers.filter((answer) => answer.allowed).length === 500, 'as many pass');
  expect(answers.some((answer) => answer.path === 'lease'), 'some by a lease');

  // What cannot be lent is asked for, and exact.
  answers = show('count', Array.from({ length: 6 }, () => limiter.check({ kind: 'count', user })));
  expect(answers.filter((answer) => answer.allowed).length === 3, 'three pass');
  expect(answers[0].path === 'asked', 'asked for');

  const answer = limiter.tryCheck({ kind: 'rate', user: `${user}-too` });
  console.log(`at once, with no lease at hand: ${answer.allowed ? 'passes' : 'refused'}`);
  expect(!answer.allowed, 'nothing is at hand');
  try {
    limiter.charge({ kind: 'rate', user }, 1);
    expect(false, 'charge');
  } catch (error) {
    expect(error instanceof TollgateError, error.message);
    console.log(`charge: ${error.message}`);
  }
  limiter.release({ kind: 'rate', user });
  limiter.close();
  return wrong ? 1 : 0;
}

const nodes = process.argv.slice(2);
if (nodes.length === 0) {
  console.error('usage: lease.js RESP-ADDRESS...');
  process.exitCode = 64;
} else {
  main(nodes).then((code) => {
    process.exitCode = code;
  });
}
