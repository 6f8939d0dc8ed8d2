'use strict';
// A lock by hand on node-redis: one connection for all workers.

const { createClient } = require('redis');
const t = require('../harness/scenarios.js');
const { scenarios } = require('./by-hand.js');

const version = require(`${process.env.SUITE_HOME}/node_modules/redis/package.json`).version;

async function open({ user, password, name, db, protocol, patient = true }) {
  const client = createClient({
    socket: { host: t.HOST, port: t.PORT, reconnectStrategy: patient ? 50 : false },
    username: user, password, name, database: db ?? 0,
    ...(protocol ? { RESP: protocol } : {}),
  });
  client.on('error', () => {}); // the restart of the server
  await client.connect();
  return {
    driver: {
      set: (key, token, ms) => client.set(key, token, { NX: true, PX: ms }),
      evaluate: (script, key, ...rest) => client.eval(script, { keys: [key], arguments: rest }),
    },
    command: (...words) => client.sendCommand(words.map(String)),
    close: () => client.close(),
  };
}

open({}).then((client) => t.run(`node-redis ${version}`, scenarios(client, open)));
