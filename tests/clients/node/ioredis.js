'use strict';
// A lock by hand on ioredis: one connection for all workers.

const Redis = require('ioredis');
const t = require('../harness/scenarios.js');
const { scenarios } = require('./by-hand.js');

const version = require(`${process.env.SUITE_HOME}/node_modules/ioredis/package.json`).version;

async function open({ user, password, name, db, protocol, patient = true }) {
  const client = new Redis({
    host: t.HOST, port: t.PORT, username: user, password, connectionName: name, db: db ?? 0,
    ...(protocol ? { protocol } : {}), ...(patient ? {} : { retryStrategy: null }),
  });
  client.on('error', () => {}); // the restart of the server
  return {
    driver: {
      set: (key, token, ms) => client.set(key, token, 'PX', ms, 'NX'),
      evaluate: (script, key, ...rest) => client.eval(script, 1, key, ...rest),
    },
    command: (...words) => client.call(...words),
    close: () => client.disconnect(),
  };
}

open({}).then((client) => t.run(`ioredis ${version}`, scenarios(client, open)));
