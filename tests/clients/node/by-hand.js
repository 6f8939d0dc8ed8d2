'use strict';
// What applications write by hand on a driver: SET NX PX, and the two scripts that everybody copies.

const crypto = require('node:crypto');
const t = require('../harness/scenarios.js');

const RELEASE = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end';
const EXTEND = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end';

/** A lock on `driver`: {set(key, token, ms), evaluate(script, key, ...arguments)}. */
function lockOn(driver) {
  const tryTake = async (key, ms) => {
    const token = crypto.randomUUID();
    if ((await driver.set(key, token, ms)) !== 'OK') return null;
    return {
      token,
      extend: (more) => driver.evaluate(EXTEND, key, token, String(more)),
      release: () => driver.evaluate(RELEASE, key, token),
    };
  };
  const take = async (key, ms, pause = 20) => {
    for (;;) {
      const lock = await tryTake(key, ms);
      if (lock) return lock;
      await t.sleep(pause);
    }
  };
  return { tryTake, take };
}

/** `open(options)` connects with {db, name, user, password, protocol, patient} and gives {driver, command(...), close()}. */
function scenarios(client, open) {
  const { tryTake, take } = lockOn(client.driver);
  const slowly = (key, ms) => take(key, ms, 100); // 50 workers

  async function acquireRelease(on) {
    const lock = await lockOn(on.driver).tryTake('acquire', 10_000);
    t.check(lock, 'a free lock was refused');
    t.between(9_000, 10_000, await on.command('PTTL', 'acquire'));
    t.check((await lock.release()) === 1, 'not released');
    t.check((await on.command('EXISTS', 'acquire')) === 0, 'it is still there');
    t.check((await on.command('GET', 'acquire')) === null, 'null has another shape');
  }

  async function withProtocol(protocol) {
    const one = await open({ protocol });
    try {
      await acquireRelease(one);
    } finally {
      await one.close();
    }
  }

  return {
    async handshake() {
      const one = await open({ user: t.USER, password: t.PASSWORD, name: 'suite', db: 3 });
      t.check((await one.command('CLIENT', 'GETNAME')) === 'suite', 'it has no name');
      const lock = await lockOn(one.driver).take('hello', 10_000);
      t.check((await client.command('EXISTS', 'hello')) === 0, 'another database has the same lock');
      await lock.release();
      await one.close();
      const refused = await t.expect(async () => {
        const other = await open({ user: t.USER, password: 'a wrong one', patient: false });
        try {
          await lockOn(other.driver).tryTake('hello', 10_000);
        } finally {
          await other.close();
        }
      });
      t.check(/WRONGPASS/.test(refused.message), String(refused));
    },
    acquire_release: () => acquireRelease(client),
    async refused_while_held() {
      const lock = await take('refused', t.FOREVER);
      t.check((await tryTake('refused', 10_000)) === null, 'two have it');
      t.check((await client.command('GET', 'refused')) === lock.token, 'it changed hands');
      await lock.release();
    },
    wakes_on_release: async () => `${await t.wakesOnRelease(take)}, polls every 20 ms`,
    async extend() {
      const lock = await take('extend', 10_000);
      t.check((await lock.extend(100_000)) === 1, 'not extended');
      t.between(90_000, 100_000, await client.command('PTTL', 'extend'));
      await lock.release();
      t.check((await lock.extend(1_000)) === 0, 'extended after its end');
    },
    async expiry_frees() {
      await take('expiry', 300);
      await (await take('expiry', 10_000)).release();
    },
    async release_of_expired_or_foreign() {
      const late = await take('foreign', 300);
      const lock = await take('foreign', t.FOREVER);
      t.check((await late.release()) === 0, 'released what is not its own');
      t.check((await late.extend(1_000)) === 0, 'extended what is not its own');
      t.check((await lock.release()) === 1, 'it was taken away');
      t.check((await lock.release()) === 0, 'released twice');
    },
    reentrancy: t.none('a driver has no locks of its own; SET NX is not reentrant'),
    watchdog: t.none('a driver has no locks of its own'),
    counter: () => t.counter(slowly),
    fairness: () => t.fairness(take),
    resp2: () => withProtocol(2),
    resp3: () => withProtocol(3),
    async usage_errors() {
      await client.command('RPUSH', 'errors', 'a list');
      t.check((await tryTake('errors', 1_000)) === null, 'a lock that is a list');
      t.check((await t.expect(() => client.command('GET', 'errors'))).message.startsWith('WRONGTYPE'), 'GET of a list');
      const error = await t.expect(() => client.driver.evaluate(RELEASE, 'errors', 'x'));
      t.check(error.message.includes('WRONGTYPE'), error.message);
      await client.command('DEL', 'errors');
      t.check((await t.expect(() => client.driver.set('errors', 'x', 0))).message
        === "ERR invalid expire time in 'set' command", 'PX 0');
      t.check((await t.expect(() => client.command('SET', 'errors', 'x', 'NX', 'XX'))).message === 'ERR syntax error', 'NX XX');
    },
    async reconnect() {
      await (await take('restart', 10_000)).release();
      await t.restartServer();
      const again = async () => {
        try {
          return await tryTake('after', 10_000);
        } catch {
          return null;
        }
      };
      let lock;
      await t.waitUntil('a lock after a restart', async () => { lock = await again(); return lock; });
      t.check((await lock.release()) === 1, 'not released');
    },
  };
}

module.exports = { scenarios };
