'use strict';
// redis-semaphore's Mutex, Semaphore and MultiSemaphore on ioredis.

const Redis = require('ioredis');
const { Mutex, MultiSemaphore, RedlockMutex, Semaphore } = require('redis-semaphore');
const t = require('../harness/scenarios.js');

const version = require(`${process.env.SUITE_HOME}/node_modules/redis-semaphore/package.json`).version;
const connect = (options = {}, port = t.PORT) => new Redis({ host: t.HOST, port, maxRetriesPerRequest: null, ...options });
const client = connect();
client.on('error', () => {}); // the restart of the server

const patient = { acquireTimeout: t.PATIENCE, retryInterval: 10, refreshInterval: 0 };
// tryAcquire() is patient too: so many attempts, or until acquireTimeout.
const once = { acquireAttemptsLimit: 1 };
const mutex = (key, lockTimeout, options = {}, on = client) => new Mutex(on, key, { ...patient, lockTimeout, ...options });

async function take(key, ms) {
  // 50 workers that ask every 10 ms are more than the event loop can do: the default of 10 ms is for a few.
  const lock = mutex(key, ms, { acquireTimeout: 10 * t.PATIENCE, retryInterval: 50 });
  await lock.acquire();
  return lock;
}

async function acquireRelease(on = client) {
  const lock = mutex('acquire', 10_000, {}, on);
  t.check(await lock.tryAcquire(), 'a free lock was refused');
  t.between(9_000, 10_000, await client.pttl('mutex:acquire'));
  await lock.release();
  t.check((await client.exists('mutex:acquire')) === 0, 'it is still there');
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
    const lock = mutex('hello', 10_000, {}, one);
    await lock.acquire();
    t.check((await client.exists('mutex:hello')) === 0, 'another database has the same lock');
    await lock.release();
    one.disconnect();
  },
  acquire_release: () => acquireRelease(),
  async refused_while_held() {
    const lock = await take('refused', t.FOREVER);
    t.check(!(await mutex('refused', 10_000, once).tryAcquire()), 'two have it');
    const error = await t.expect(() => mutex('refused', 10_000, { acquireTimeout: 200 }).acquire());
    t.check(error.name === 'TimeoutError' || /Acquire/.test(error.message), String(error));
    t.check((await client.get('mutex:refused')) === lock.identifier, 'it changed hands');
    await lock.release();
  },
  async wakes_on_release() {
    const quick = async (key, ms) => { const one = mutex(key, ms); await one.acquire(); return one; };
    return `${await t.wakesOnRelease(quick)}, polls every 10 ms`;
  },
  async extend() {
    const lock = mutex('extend', 2_000, { refreshInterval: 200 });
    await lock.acquire();
    await client.pexpire('mutex:extend', 1_000);
    await t.waitUntil('a refresh', async () => (await client.pttl('mutex:extend')) > 1_000);
    await lock.release();
    return 'by its refresh';
  },
  async expiry_frees() {
    await take('expiry', 300);
    await (await take('expiry', 10_000)).release();
  },
  async release_of_expired_or_foreign() {
    const late = await take('foreign', 300);
    const lock = await take('foreign', t.FOREVER);
    await late.release(); // says nothing, and must do nothing
    t.check((await client.get('mutex:foreign')) === lock.identifier, 'it was taken away');
    await lock.release();
    let lost;
    const robbed = mutex('foreign', 10_000, { refreshInterval: 50, onLockLost: (error) => { lost = error; } });
    await robbed.acquire();
    await client.del('mutex:foreign');
    await t.waitUntil('word of a lost lock', () => lost);
    return `release() says nothing; a refresh says ${lost.name}`;
  },
  reentrancy: t.none('a Mutex is not reentrant'),
  async watchdog() {
    const holder = await t.startHolder('watchdog');
    await t.outlives(1_500, async () => (await client.exists('mutex:watchdog')) === 1);
    await holder.kill();
    await (await take('watchdog', 10_000)).release();
  },
  counter: () => t.counter(take),
  fairness: () => t.fairness(take),
  resp2: () => withProtocol(2),
  resp3: () => withProtocol(3),
  async usage_errors() {
    await t.expect(async () => new Mutex(client, ''));
    await client.rpush('mutex:errors', 'a list');
    t.check(!(await mutex('errors', 1_000, once).tryAcquire()), 'a lock that is a list');
    const error = await t.expect(() => client.get('mutex:errors'));
    t.check(error.message.startsWith('WRONGTYPE'), error.message);
    await client.del('mutex:errors');
  },
  async semaphore() {
    const make = (options = {}) => new Semaphore(client, 'two', 2, { ...patient, lockTimeout: 10_000, ...options });
    const [one, two, three] = [make(), make(), make()];
    await one.acquire();
    await two.acquire();
    t.check(!(await make(once).tryAcquire()), 'three of two');
    const waiting = three.acquire();
    await one.release();
    await waiting;
    await two.release();
    await three.release();
    await make({ lockTimeout: 300 }).acquire();
    await make({ lockTimeout: 300 }).acquire();
    await one.acquire(); // when a permit has expired
    await one.release();
  },
  async multi_semaphore() {
    const make = (permits, options = {}) =>
      new MultiSemaphore(client, 'five', 5, permits, { ...patient, lockTimeout: 10_000, ...options });
    const [three, two, one] = [make(3), make(2), make(1)];
    await three.acquire();
    await two.acquire();
    t.check(!(await make(1, once).tryAcquire()), 'six of five');
    await two.release();
    await one.acquire();
    await one.release();
    await three.release();
  },
  async quorum_of_three() {
    const clients = t.PORTS.map((port) => connect({}, port));
    const make = (options = {}) => new RedlockMutex(clients, 'quorum', { ...patient, lockTimeout: 10_000, ...options });
    const lock = make();
    await lock.acquire();
    t.check(!(await make(once).tryAcquire()), 'two have it');
    await lock.release();
    await clients[1].set('mutex:quorum', 'somebody');
    await lock.acquire();
    await lock.release();
    clients.forEach((one) => one.disconnect());
  },
  async reconnect() {
    await (await take('restart', 10_000)).release();
    await t.restartServer();
    await (await take('after', 10_000)).release();
  },
};

if (t.holderKey) {
  mutex(t.holderKey, 1_500, { refreshInterval: 300 }).acquire().then(t.held);
} else {
  t.run(`redis-semaphore ${version}`, scenarios);
}
