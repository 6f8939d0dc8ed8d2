'use strict';
// What the suites in JavaScript share: where the server is, how an outcome is told, waiting, processes that die.

const { spawn } = require('node:child_process');
const net = require('node:net');
const readline = require('node:readline');

const HOST = process.env.LOCK_HOST || '127.0.0.1';
const PORT = Number(process.env.LOCK_PORT);
const PORTS = (process.env.LOCK_PORTS || String(PORT)).split(',').map(Number);
// Somebody who needs a password, on every server; who does not log in may do everything as well.
const USER = process.env.LOCK_USER || 'default';
const PASSWORD = process.env.LOCK_PASSWORD || 'any';
const VARIANT = process.env.LOCK_VARIANT || '';
// Milliseconds; long enough for a loaded machine. Only something broken takes it.
const PATIENCE = 60_000;
// Nobody has a lock of this lease for any other reason than its release.
const FOREVER = 3_600_000;
// A measurement of waits ends with the first of these.
const COUNTED_WAITS = 200;
const GRANTS_MAX = 8000;
const WORKERS = 50;
const INCREMENTS = Number(process.env.LOCK_INCREMENTS || 200);

/** Thrown by a scenario for which the library has no call; the text says so. */
class NotApplicable extends Error {}

function none(why) {
  return async () => { throw new NotApplicable(why); };
}

/** Runs {name: function} and tells the outcomes. A function may return what it saw, to stand in the report. */
async function run(version, scenarios) {
  say({ version });
  const only = process.env.LOCK_ONLY; // for those who look into one of them
  for (const [name, play] of Object.entries(scenarios)) {
    if (name === 'latency' && only !== name) continue;
    if (only && !only.split(',').includes(name)) continue;
    try {
      say({ scenario: name, outcome: 'pass', reason: String((await play()) ?? '') });
    } catch (error) {
      if (error instanceof NotApplicable) say({ scenario: name, outcome: 'na', reason: error.message });
      else say({ scenario: name, outcome: 'fail', reason: String(error?.stack ?? error) });
    }
  }
  process.exit(0);
}

function say(what) {
  process.stdout.write(JSON.stringify(what) + '\n');
}

function check(holds, what) {
  if (!holds) throw new Error(what);
}

function between(low, high, seen) {
  check(low <= seen && seen <= high, `expected ${low} to ${high}, saw ${seen}`);
}

/** The error that the promise of `call` ends with. */
async function expect(call) {
  let result;
  try {
    result = await call();
  } catch (error) {
    return error;
  }
  throw new Error(`no error, but ${JSON.stringify(result)}`);
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function waitUntil(what, condition) {
  const end = performance.now() + PATIENCE;
  while (!(await condition())) {
    check(performance.now() < end, `not in time: ${what}`);
    await sleep(10);
  }
}

function restartServer() {
  return new Promise((resolve, reject) => {
    const control = net.connect(Number(process.env.LOCK_CONTROL), '127.0.0.1', () => control.write('restart\n'));
    let answer = '';
    control.on('data', (data) => { answer += data; });
    control.on('error', reject);
    control.on('close', () => (answer === 'done\n' ? resolve() : reject(new Error('the server could not be restarted'))));
  });
}

/** The scenarios that are the same whatever the library: `take` gives an object with a release(). */
async function counter(take) {
  let count = 0;
  await Promise.all(Array.from({ length: WORKERS }, async () => {
    for (let i = 0; i < INCREMENTS; i++) {
      const lock = await take('counter', FOREVER);
      const seen = count;
      await new Promise(setImmediate); // another worker may run
      count = seen + 1;
      await lock.release();
    }
  }));
  check(count === WORKERS * INCREMENTS, `${count} of ${WORKERS * INCREMENTS}`);
}

async function fairness(take) {
  const turns = [0, 0, 0, 0, 0];
  await Promise.all(turns.map(async (_, me) => {
    while (Math.min(...turns) < 5) {
      const lock = await take('fair', FOREVER);
      turns[me]++;
      await lock.release();
      await sleep(1);
    }
  }));
  return `turns until everybody had 5: ${turns}`;
}

async function wakesOnRelease(take) {
  const held = await take('wakes', FOREVER);
  let woken;
  const waiting = take('wakes', FOREVER).then((lock) => { woken = performance.now(); return lock.release(); });
  await sleep(500); // it has asked a few times by now
  check(!woken, 'two have it');
  await held.release();
  const released = performance.now();
  await waiting;
  return `${Math.max(0, woken - released).toFixed(0)} ms`;
}

/** How long 8 workers wait for one lock that each holds for about a millisecond. Only the waits of those who have it from
 * somebody else count: who releases and takes it again at once has not waited. Figures are no verdict: played only if it is
 * asked for by name. */
async function latency(take) {
  const waits = [];
  let grants = 0;
  let previous;
  await Promise.all(Array.from({ length: 8 }, async (_, me) => {
    while (waits.length < COUNTED_WAITS && grants < GRANTS_MAX) {
      const begin = performance.now();
      const lock = await take('latency', 30_000);
      if (previous !== undefined && previous !== me) waits.push(performance.now() - begin);
      previous = me;
      grants++;
      await sleep(1);
      await lock.release();
    }
  }));
  waits.sort((a, b) => a - b);
  const at = (part) => waits[Math.floor(waits.length * part)].toFixed(1);
  return `median ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms of ${waits.length} hand-offs in ${grants} grants`;
}

/** Another process of this suite, which takes the lock `key`, says so, and keeps it until it is killed. */
async function startHolder(key) {
  const child = spawn(process.execPath, [process.argv[1], 'hold', key], { stdio: ['ignore', 'pipe', 'inherit'] });
  const line = await new Promise((resolve) => readline.createInterface(child.stdout).once('line', resolve));
  check(line === 'held', `the holder said ${line}`);
  return { kill: () => new Promise((resolve) => { child.once('exit', resolve); child.kill('SIGKILL'); }) };
}

/** In the process of a holder: true, and the key, if this process is one. */
const holderKey = process.argv[2] === 'hold' ? process.argv[3] : undefined;

function held() {
  console.log('held');
  setInterval(() => {}, FOREVER);
}

/** Looks again and again whether `taken()` still holds, for longer than three leases. */
async function outlives(lease, taken) {
  const end = performance.now() + 3 * lease + 500;
  while (performance.now() < end) {
    check(await taken(), 'it was lost while its process lived');
    await sleep(50);
  }
}

module.exports = {
  HOST, PORT, PORTS, USER, PASSWORD, VARIANT, PATIENCE, FOREVER, none, run, check, between, expect, sleep, waitUntil, restartServer,
  counter, fairness, wakesOnRelease, latency, startHolder, holderKey, held, outlives,
};
