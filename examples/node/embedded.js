// npm install --prefix examples/node && TOLLGATE_LIBRARY=target/release/libtollgate.so node examples/node/embedded.js
'use strict';
// Decides in this process, and prints a table. Exits with 1 where a decision is not what it should be.

const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { Limiter, TollgateError } = require('./tollgate.js');

// Who asks for how much, and what it should hear: the verdict, and what is left.
const EXPECTED = [
  ['ada', 3, 'allow', 2],
  ['ada', 3, 'deny', 2],
  ['ada', 6, 'never', 2],
  ['bob', 5, 'allow', 0],
];

let wrong = 0;

function expect(holds, what) {
  if (holds) return;
  wrong += 1;
  console.error(`not as it should be: ${what}`);
}

function refuses(call, text) {
  try {
    call();
  } catch (error) {
    expect(error instanceof TollgateError && error.message.includes(text), error.message);
    return;
  }
  expect(false, `a call that must fail: ${text}`);
}

const limiter = Limiter.open(readFileSync(join(__dirname, '../languages.yaml'), 'utf8'));
console.log('user  cost  verdict  left  again in');
for (const [user, cost, verdict, left] of EXPECTED) {
  const answer = limiter.check({ user }, cost);
  const again = answer.verdict === 'deny' ? `${answer.retryAfter.toFixed(0)} s` : '-';
  const row = [user.padEnd(6), String(cost).padStart(4), answer.verdict.padEnd(8), String(answer.remaining).padStart(4)];
  console.log(`${row[0]}${row[1]}  ${row[2]}${row[3]}  ${again}`);
  expect(answer.verdict === verdict && Number(answer.remaining) === left, `${user} ${cost}`);
  expect(answer.policy === 'daily' && answer.contract === 'users', 'names');
}

// Five were feared, one it was.
const reserved = limiter.reserve('eve', 5);
reserved.settle(1);
const left = Number(limiter.peek('eve').remaining);
console.log(`eve reserved 5 and settled at 1: ${left} left`);
expect(left === 4, 'settled');
refuses(() => reserved.settle(1), 'settled before');

limiter.charge('eve', 4);
expect(!limiter.peek('eve').allowed, 'charged');
limiter.refund('eve', 2);
expect(Number(limiter.peek('eve').remaining) === 2, 'refunded');
limiter.reset('eve');
expect(Number(limiter.peek('eve').remaining) === 5, 'reset');
limiter.close();
refuses(() => Limiter.open('contracts: 7'), 'line 1');
process.exitCode = wrong ? 1 : 0;
