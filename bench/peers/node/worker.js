'use strict';
// redlock and redis-semaphore on ioredis: each client is a connection of its own, all in one event loop. The pauses between
// two attempts are the libraries' own defaults; only the number of attempts has no end.

const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');
const Redis = require('ioredis');

const count = Number(process.env.PEER_CLIENTS);
const first = Number(process.env.PEER_FIRST);
const key = process.env.PEER_KEY;
const hold = Number(process.env.PEER_HOLD_US) / 1000;
const LEASE_MS = 30_000;

const now = () => process.hrtime.bigint();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const libraries = {
  redlock: {
    folder: 'redlock5',
    make: (client) => {
      const library = require('redlock5');
      const redlock = new (library.default ?? library)([client], { retryCount: -1 });
      redlock.on('error', () => {}); // a refusal is one, too
      return async () => {
        const lock = await redlock.acquire([key], LEASE_MS);
        return () => lock.release();
      };
    },
  },
  'redis-semaphore': {
    folder: 'redis-semaphore',
    make: (client) => {
      const { Mutex } = require('redis-semaphore');
      return async () => {
        const mutex = new Mutex(client, key, { lockTimeout: LEASE_MS, acquireTimeout: 3_600_000 });
        await mutex.acquire();
        return () => mutex.release();
      };
    },
  },
};

/** Read as a file: not every package lets its package.json be required. */
function versionOf(library) {
  const file = path.join(process.env.NODE_PATH, library.folder, 'package.json');
  return JSON.parse(fs.readFileSync(file)).version.replace(/^v/, '');
}

async function main() {
  const library = libraries[process.env.PEER_VARIANT];
  console.log(`# version ${versionOf(library)}`);
  const clients = [];
  for (let i = 0; i < count; ++i) {
    const connection = new Redis({ host: '127.0.0.1', port: Number(process.env.PEER_PORT), maxRetriesPerRequest: null });
    await connection.ping();
    clients.push({ acquire: library.make(connection), rows: [], asked: null });
  }
  console.log('ready');
  const line = await new Promise((resolve) => readline.createInterface({ input: process.stdin }).once('line', resolve));
  const end = BigInt(line.trim());

  let failure = null;
  async function work(client) {
    try {
      while (now() < end) {
        const asked = now();
        client.asked = asked;
        const release = await client.acquire();
        const granted = now();
        client.asked = null;
        if (hold > 0) await sleep(hold);
        const gaveBack = now();
        await release();
        client.rows.push([asked, granted, gaveBack]);
      }
    } catch (error) {
      failure ??= error;
    }
  }
  clients.forEach(work);
  await sleep(Number(end - now()) / 1e6);

  if (failure) {
    console.error(String(failure));
    process.exit(1);
  }
  const lines = [];
  clients.forEach((client, index) => {
    for (const row of client.rows) lines.push(`${first + index} ${row.join(' ')}`);
    if (client.asked !== null) lines.push(`${first + index} ${client.asked} - -`);
  });
  process.stdout.write(`${lines.join('\n')}\n`, () => process.exit(0));
}

main();
