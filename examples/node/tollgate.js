'use strict';
// A limiter in the process: libtollgate by koffi, which calls C from JavaScript without a compiler.
//
//     const limiter = Limiter.open(fs.readFileSync('contracts.yaml', 'utf8'));
//     const answer = limiter.check({ user: 'ada' });
//     if (!answer.allowed) console.log('again in', answer.retryAfter, 'seconds');
//
// By leases of nodes, for contracts under `coordination: lease`, counting with everybody else:
//
//     const limiter = Limiter.connect(['10.0.0.1:6380', '10.0.0.2:6380']);
//
// Not here: asking a node for every request, see node.js beside this file.

const koffi = require('koffi');

const ABI_MAJOR = 1;

/** May a request pass? */
const VERDICTS = ['allow', 'delay', 'deny', 'never'];

/** How an answer was found. */
const PATHS = ['here', 'lease', 'waited', 'denied', 'asked', 'failed'];

/** A call that failed. A refusal is no failure: it is an answer. */
class TollgateError extends Error {
  constructor(code, text) {
    super(text);
    this.code = code;
  }
}

koffi.opaque('tollgate_limiter');
koffi.opaque('tollgate_receipt');
koffi.struct('tollgate_options', { bytes_max: 'uint64_t', alone: 'bool', refuse_when_full: 'bool' });
koffi.struct('tollgate_text', { data: 'const uint8_t *', length: 'size_t' });
koffi.struct('tollgate_client_options', {
  nodes: 'const tollgate_text *',
  nodes_count: 'size_t',
  token: 'tollgate_text',
  zone: 'tollgate_text',
  name: 'tollgate_text',
  timeout_ns: 'uint64_t',
  keys_max: 'uint64_t',
  allow_when_away: 'bool',
});
koffi.struct('tollgate_entry', { name: 'tollgate_text', value: 'tollgate_text' });
koffi.struct('tollgate_key', { entries: 'const tollgate_entry *', count: 'size_t' });
koffi.struct('tollgate_answer', {
  verdict: 'int32_t',
  path: 'int32_t',
  allowed: 'bool',
  bound: 'bool',
  shadowed: 'bool',
  limit: 'uint64_t',
  remaining: 'uint64_t',
  wait_ns: 'uint64_t',
  retry_after_ns: 'uint64_t',
  reset_after_ns: 'uint64_t',
  contract: koffi.array('char', 64, 'String'),
  policy: koffi.array('char', 64, 'String'),
});

/** The functions of the library at a path, or at that in TOLLGATE_LIBRARY. */
function load(path = process.env.TOLLGATE_LIBRARY ?? 'libtollgate.so') {
  const library = koffi.load(path);
  const asked = 'const tollgate_limiter *limiter, const tollgate_key *key';
  const functions = {
    version: library.func('uint32_t tollgate_abi_version()'),
    lastError: library.func('const char *tollgate_last_error()'),
    open: library.func(
      'int32_t tollgate_open(const uint8_t *text, size_t length, const tollgate_options *options, ' +
        '_Out_ tollgate_limiter **limiter)',
    ),
    connect: library.func(
      'int32_t tollgate_connect(const tollgate_client_options *options, _Out_ tollgate_limiter **limiter)',
    ),
    tryCheck: library.func(`int32_t tollgate_try_check(${asked}, uint64_t cost, _Out_ tollgate_answer *answer)`),
    check: library.func(`int32_t tollgate_check(${asked}, uint64_t cost, _Out_ tollgate_answer *answer)`),
    reserve: library.func(
      `int32_t tollgate_reserve(${asked}, uint64_t cost, _Out_ tollgate_answer *answer, ` +
        '_Out_ tollgate_receipt **receipt)',
    ),
    settle: library.func(
      'int32_t tollgate_settle(const tollgate_limiter *limiter, const tollgate_receipt *receipt, uint64_t actual)',
    ),
    freeReceipt: library.func('void tollgate_receipt_free(tollgate_receipt *receipt)'),
    charge: library.func(`int32_t tollgate_charge(${asked}, uint64_t cost)`),
    refund: library.func(`int32_t tollgate_refund(${asked}, uint64_t cost)`),
    reset: library.func(`int32_t tollgate_reset(${asked})`),
    release: library.func(`int32_t tollgate_release(${asked})`),
    close: library.func('void tollgate_close(tollgate_limiter *limiter)'),
  };
  const major = functions.version() >>> 16;
  if (major !== ABI_MAJOR) {
    throw new Error(`${path} has version ${major} of the interface, and this file speaks ${ABI_MAJOR}`);
  }
  return functions;
}

/** Decides in the process. Made by `Limiter.open` or `Limiter.connect`. */
class Limiter {
  #library;
  #handle;

  constructor(library, make) {
    const handle = [null];
    this.#library = library;
    this.#expectOk(make(handle));
    this.#handle = handle[0];
  }

  /** By the text of a contract file, counting in this process only. */
  static open(contract, { alone = false, bytesMax = 0, library } = {}) {
    const functions = load(library);
    const text = Buffer.from(contract);
    const options = { bytes_max: bytesMax, alone, refuse_when_full: false };
    return new Limiter(functions, (handle) => functions.open(text, text.length, options, handle));
  }

  /** By leases of nodes, named by their RESP doors; `timeout` in seconds is the longest that a call waits. */
  static connect(nodes, { token = null, zone = null, timeout = 0.2, library } = {}) {
    const functions = load(library);
    const options = {
      nodes: nodes.map(textOf),
      nodes_count: nodes.length,
      token: textOf(token),
      zone: textOf(zone),
      name: textOf(null),
      timeout_ns: Math.max(1, Math.round(timeout * 1e9)),
      keys_max: 0,
      allow_when_away: false,
    };
    return new Limiter(functions, (handle) => functions.connect(options, handle));
  }

  /**
   * May this key spend `cost` now? It is charged where it may. A key is entries by name, or a bare string. With leases it waits
   * where none is at hand.
   */
  check(key, cost = 1) {
    const answer = {};
    this.#expectOk(this.#library.check(this.#open(), keyOf(key), cost, answer));
    return answerOf(answer);
  }

  /** The same without ever waiting: where no lease is at hand, it refuses and asks for one. */
  tryCheck(key, cost = 1) {
    const answer = {};
    this.#expectOk(this.#library.tryCheck(this.#open(), keyOf(key), cost, answer));
    return answerOf(answer);
  }

  /** How does this key stand? Nothing is charged. */
  peek(key) {
    return this.check(key, 0);
  }

  /** As `check`, with a function that settles the request at its real cost, once, where it passes. */
  reserve(key, cost) {
    const answer = {};
    const receipt = [null];
    this.#expectOk(this.#library.reserve(this.#open(), keyOf(key), cost, answer, receipt));
    const settle = (actual) => {
      const [handle] = receipt.splice(0, 1, null);
      if (handle === null) throw new TollgateError(0, 'refused, or settled before');
      const code = this.#library.settle(this.#open(), handle, actual);
      this.#library.freeReceipt(handle);
      this.#expectOk(code);
    };
    return { ...answerOf(answer), settle };
  }

  /** Charges without asking; the key may go into debt. */
  charge(key, cost) {
    this.#expectOk(this.#library.charge(this.#open(), keyOf(key), cost));
  }

  /** Gives tokens back. */
  refund(key, cost) {
    this.#expectOk(this.#library.refund(this.#open(), keyOf(key), cost));
  }

  /** Forgets everything about a key. */
  reset(key) {
    this.#expectOk(this.#library.reset(this.#open(), keyOf(key)));
  }

  /** Gives back what is held of a key by leases. */
  release(key) {
    this.#expectOk(this.#library.release(this.#open(), keyOf(key)));
  }

  /** Ends the limiter; a second time does nothing. */
  close() {
    const handle = this.#handle;
    this.#handle = null;
    this.#library.close(handle);
  }

  #open() {
    if (this.#handle === null) throw new Error('the limiter is closed');
    return this.#handle;
  }

  #expectOk(code) {
    if (code !== 0) throw new TollgateError(code, this.#library.lastError());
  }
}

function textOf(value) {
  if (value === null) return { data: null, length: 0 };
  const data = Buffer.from(value);
  return { data, length: data.length };
}

function keyOf(key) {
  const bare = typeof key === 'string';
  const entries = bare
    ? [{ name: textOf(null), value: textOf(key) }]
    : Object.entries(key).map(([name, value]) => ({ name: textOf(name), value: textOf(value) }));
  return { entries, count: entries.length };
}

/** Spans are in seconds. */
function answerOf(answer) {
  const { verdict, path, wait_ns, retry_after_ns, reset_after_ns, ...rest } = answer;
  const seconds = (nanos) => Number(nanos) / 1e9;
  return {
    ...rest,
    verdict: VERDICTS[verdict],
    path: PATHS[path],
    wait: seconds(wait_ns),
    retryAfter: seconds(retry_after_ns),
    resetAfter: seconds(reset_after_ns),
  };
}

module.exports = { Limiter, TollgateError };
