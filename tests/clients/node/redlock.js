'use strict';
// redlock 4 and 5 on ioredis, over one server and over three.

const Redis = require('ioredis');
const t = require('../harness/scenarios.js');

const five = t.VARIANT === 'redlock-5';
const library = require(five ? 'redlock5' : 'redlock4');
const Redlock = library.default ?? library;
const version = require(`${process.env.SUITE_HOME}/node_modules/redlock${five ? 5 : 4}/package.json`).version;

const connect = (options = {}, port = t.PORT) => new Redis({ host: t.HOST, port, maxRetriesPerRequest: null, ...options });
const client = connect();
client.on('error', () => {}); // the restart of the server

// redlock measures what is left of a lock from the moment of its request, so that a slow machine costs it locks of a
// short lease; these leases are long, and the retries many.
const settings = { retryCount: -1, retryDelay: 20, retryJitter: 10, automaticExtensionThreshold: 500 };
const redlock = new Redlock([client], settings);
const once = new Redlock([client], { ...settings, retryCount: 0 });
for (const one of [redlock, once]) one.on(five ? 'error' : 'clientError', () => {});

/** Both majors by one name: {release(), extend(ms), inner}. */
async function take(key, ms, by = redlock) {
  let inner = five ? await by.acquire([key], ms) : await by.lock(key, ms);
  return {
    extend: async (more) => { inner = await inner.extend(more); },
    release: () => (five ? inner.release() : inner.unlock()),
  };
}

async function acquireRelease(on = client) {
  const by = new Redlock([on], settings);
  const lock = await take('acquire', 10_000, by);
  t.between(9_000, 10_000, await client.pttl('acquire'));
  await lock.release();
  t.check((await client.exists('acquire')) === 0, 'it is still there');
}

async function withProtocol(protocol) {
  const one = connect({ protocol });
  try {
    await acquireRelease(one);
  } finally {
    one.disconnect();
  }
}

const scenarios = {
  async handshake() {
    const one = connect({ username: t.USER, password: t.PASSWORD, connectionName: 'suite', db: 3 });
    t.check((await one.client('GETNAME')) === 'suite', 'it has no name');
    const lock = await take('hello', 10_000, new Redlock([one], settings));
    t.check((await client.exists('hello')) === 0, 'another database has the same lock');
    await lock.release();
    one.disconnect();
  },
  acquire_release: () => acquireRelease(),
  async refused_while_held() {
    const lock = await take('refused', t.FOREVER);
    const token = await client.get('refused');
    await t.expect(() => take('refused', 10_000, once));
    t.check((await client.get('refused')) === token, 'it changed hands');
    await lock.release();
  },
  wakes_on_release: async () => `${await t.wakesOnRelease(take)}, polls every 20 to 30 ms`,
  async extend() {
    const lock = await take('extend', 10_000);
    await lock.extend(100_000);
    t.between(90_000, 100_000, await client.pttl('extend'));
    await lock.release();
  },
  async expiry_frees() {
    await take('expiry', 300);
    await (await take('expiry', 10_000)).release();
  },
  async release_of_expired_or_foreign() {
    const late = await take('foreign', 300, once);
    const lock = await take('foreign', t.FOREVER);
    const token = await client.get('foreign');
    const error = await t.expect(() => late.release());
    t.check(error.name === (five ? 'ExecutionError' : 'LockError'), `it says ${error}`);
    await t.expect(() => late.extend(1000));
    t.check((await client.get('foreign')) === token, 'it changed hands');
    await lock.release();
    const twice = await take('foreign', t.FOREVER, once);
    await twice.release();
    await t.expect(() => twice.release());
  },
  reentrancy: t.none('redlock is not reentrant'),
  watchdog: five
    ? async () => {
      const holder = await t.startHolder('watchdog');
      await t.outlives(1500, async () => (await client.exists('watchdog')) === 1);
      await holder.kill();
      await (await take('watchdog', 10_000)).release();
    }
    : t.none('redlock 4 does not extend by itself'),
  counter: () => t.counter(take),
  fairness: () => t.fairness(take),
  resp2: () => withProtocol(2),
  resp3: () => withProtocol(3),
  async usage_errors() {
    await client.rpush('errors', 'a list');
    await t.expect(() => take('errors', 1000, once));
    const error = await t.expect(() => client.get('errors'));
    t.check(error.message.startsWith('WRONGTYPE'), error.message);
    await client.del('errors');
    await t.expect(() => take('errors', -5, once));
    t.check((await client.exists('errors')) === 0, 'a lock with a negative lease');
  },
  async several_keys() {
    const keys = ['several:a', 'several:b', 'several:c'];
    const lock = five ? await redlock.acquire(keys, 10_000) : await redlock.lock(keys, 10_000);
    await t.expect(() => take('several:b', 1000, once));
    await (five ? lock.release() : lock.unlock());
    await (await take('several:b', 1000, once)).release();
  },
  async quorum_of_three() {
    const clients = t.PORTS.map((port) => connect({}, port));
    const all = new Redlock(clients, settings);
    const lock = await take('quorum', 10_000, all);
    const seen = await Promise.all(clients.map((one) => one.exists('quorum')));
    t.check(seen.filter((one) => one === 1).length >= 2, `on ${seen}`);
    await t.expect(() => take('quorum', 10_000, new Redlock(clients, { ...settings, retryCount: 0 })));
    await lock.release();
    // A minority that somebody else has does not matter.
    await clients[1].set('quorum', 'somebody');
    await (await take('quorum', 10_000, all)).release();
    clients.forEach((one) => one.disconnect());
  },
  latency: () => t.latency((key, ms) => take(key, ms, new Redlock([client], { ...settings, retryDelay: 10, retryJitter: 5 }))),
  async reconnect() {
    await (await take('restart', 10_000)).release();
    await t.restartServer();
    await (await take('after', 10_000)).release();
  },
};

if (t.holderKey) {
  redlock.using([t.holderKey], 1500, { ...settings }, () => { t.held(); return new Promise(() => {}); });
} else {
  t.run(`redlock ${version.replace('v', '')}`, scenarios);
}
