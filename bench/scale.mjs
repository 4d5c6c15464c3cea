// `npm run bench:scale` measures the capacity of one gateway, one PostgreSQL and one Redis for docs/scale.md. Its data
// has 1,000,000 past instances, 100,000 accounts and 100,000 machines. As with bench:growth, BENCH_DATA=FOLDER keeps
// the data for the next run. `--database NAME` uses another database in that folder.
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { authorization } from './cases/accounts.mjs';
import { rowsOf, withClient } from './support/database.mjs';
import { ACCOUNTS, createDefaultData, rentalsOf } from './support/default-data.mjs';
import { accountId } from './support/fill.mjs';
import { createLargeData } from './support/large-data.mjs';
import { inTurn, requestBytes, runLoad } from './support/load.mjs';
import { cpuSecondsOf, residentMegabytesOf, startGateway } from './support/programs.mjs';
import { pairClient } from './support/rental-client.mjs';
import { table } from './support/report.mjs';
import { percentile } from './support/rounds.mjs';
import { withServer } from './support/session.mjs';
import { settings } from './support/settings.mjs';

const { values: given } = parseArgs({ options: { database: { type: 'string', default: 'large' } } });
const STREAMS = 2_000;
const NOTICES = 100_000;
const NOTICES_PER_COMMIT = 100;
const REDIS_PORT = 16_379;
const CONNECTIONS = 32;

async function main(server) {
  if (given.database === 'large' && !(await server.exists('large'))) {
    if (!(await server.exists('gateway'))) await createDefaultData(server, 'gateway');
    await createLargeData(server, 'gateway', 'large');
  }
  const url = server.urlOf(given.database);
  console.log(table([['table', 'rows', 'bytes per row', 'with indexes'], ...(await sizes(url))], [1, 2, 3]));
  const startedAt = performance.now();
  const gateway = await startGateway(url);
  say('start to first response', `${(performance.now() - startedAt).toFixed(0)} ms`);
  await pause(3_000);
  say('memory afterwards', `${residentMegabytesOf(gateway.pid).toFixed(0)} MB`);
  await rentals(url, gateway);
  await notices(url, gateway);
  await streams(url, gateway);
  await gateway.end();
  await limiter(url);
}

function say(what, figure) {
  console.log(`${what}: ${figure}`);
}

async function sizes(url) {
  const rows = await rowsOf(url, SIZES);
  return rows.map(({ name, rows: count, bytes, all }) => [name, count, bytes, all]);
}

/**
 * Deploys and destroys on one machine per connection, then measures the rows and the write-ahead log that this leaves
 * behind.
 */
async function rentals(url, gateway) {
  const renters = await rentalsOf(url);
  const run = (seconds) =>
    runLoad({
      port: gateway.port,
      connections: renters.length,
      seconds,
      clientOf: (n) => pairClient(renters[n]),
      status: [200, 201],
    });
  await run(2);
  const [before] = await rowsOf(url, LOG_POSITION);
  const cpu = cpuSecondsOf(gateway.pid);
  const load = await run(settings.seconds);
  const spent = cpuSecondsOf(gateway.pid) - cpu;
  const [after] = await rowsOf(url, LOG_POSITION);
  const pairs = load.latenciesMs.length / 2;
  const sorted = Float64Array.from(load.latenciesMs).sort();
  say('rentals (deploy and destroy) per second', (load.perSecond / 2).toFixed(0));
  say(
    'latency of these',
    `p50 ${percentile(sorted, 0.5).toFixed(1)} ms, p99 ${percentile(sorted, 0.99).toFixed(1)} ms`,
  );
  say('CPU of the gateway per rental', `${((spent / pairs) * 1_000).toFixed(2)} ms`);
  say('log (WAL) per rental', `${((Number(after.bytes) - Number(before.bytes)) / pairs / 1_000).toFixed(1)} kB`);
}

/** Measures how much another gateway's rentals cost this one. */
async function notices(url, gateway) {
  const send = `select count(pg_notify('gateway', json_build_object('table', 'instance', 'id', 'i-' || lpad(to_hex(n), 8, '0'),
    'account', 'acc-none', 'machine', 'm-none')::text)) from generate_series($1::int, $2) n`;
  const cpu = cpuSecondsOf(gateway.pid);
  const startedAt = performance.now();
  await withClient(url, async (client) => {
    for (let n = 0; n < NOTICES; n += NOTICES_PER_COMMIT) await client.query(send, [n, n + NOTICES_PER_COMMIT - 1]);
  });
  const sentMs = performance.now() - startedAt;
  // Measures the CPU time until the gateway has received all notices, because no rental waits for them.
  let [known, spent] = [-1, 0];
  while (spent !== known) {
    known = spent;
    await pause(500);
    spent = cpuSecondsOf(gateway.pid) - cpu;
  }
  say('notices sent per second, 100 per commit', (NOTICES / (sentMs / 1_000)).toFixed(0));
  say('CPU of the gateway per notice', `${((spent / NOTICES) * 1e6).toFixed(1)} µs`);
}

/** Opens one stream for each of many accounts, and then changes each account. */
async function streams(url, gateway) {
  const before = residentMegabytesOf(gateway.pid);
  const query = 'subscription { balanceChanged { balance burnPerHour } }';
  let events = 0;
  const sockets = await Promise.all(
    Array.from({ length: STREAMS }, async (_, index) => {
      await pause(index * 2);
      const socket = connect({ port: gateway.port, host: '127.0.0.1' });
      const headers = { ...authorization((index % ACCOUNTS) + 1), Accept: 'text/event-stream' };
      socket.write(requestBytes({ method: 'POST', path: '/graphql', headers, body: JSON.stringify({ query }) }));
      socket.setEncoding('latin1').on('data', (text) => {
        events += text.split('event: next').length - 1;
      });
      return socket;
    }),
  );
  await until(() => events >= STREAMS);
  await pause(2_000);
  say(
    `memory per stream, with ${STREAMS}`,
    `${(((residentMegabytesOf(gateway.pid) - before) * 1_024) / STREAMS).toFixed(0)} kB`,
  );
  const [cpu, begun, startedAt] = [cpuSecondsOf(gateway.pid), events, performance.now()];
  const ids = Array.from({ length: STREAMS }, (_, index) => accountId(index + 1));
  await rowsOf(url, `update account set credit_units = credit_units + 3600 where id = any($1)`, [ids]);
  await until(() => events >= begun + STREAMS);
  say(`a change delivered to all ${STREAMS} of them within`, `${(performance.now() - startedAt).toFixed(0)} ms`);
  say('CPU of the gateway per event', `${(((cpuSecondsOf(gateway.pid) - cpu) / STREAMS) * 1_000).toFixed(2)} ms`);
  await rowsOf(url, `update account set credit_units = credit_units - 3600 where id = any($1)`, [ids]);
  for (const socket of sockets) socket.destroy();
}

async function until(isSo) {
  for (let tries = 0; !isSo(); tries += 1) {
    if (tries > 3_000) throw new Error('timed out after 60 s');
    await pause(20);
  }
}

/** Measures how much the shared rate limit costs Redis. */
async function limiter(url) {
  const redisServer = spawn('redis-server', ['--port', String(REDIS_PORT), '--save', ''], { stdio: 'ignore' });
  const redis = new Redis(REDIS_PORT, '127.0.0.1');
  redis.on('error', () => {});
  try {
    const gateway = await startGateway(url, { REDIS_URL: `redis://127.0.0.1:${REDIS_PORT}` });
    const requests = Array.from({ length: ACCOUNTS }, (_, n) =>
      requestBytes({ path: '/v1/balance', headers: authorization(n + 1) }),
    );
    const run = (seconds) =>
      runLoad({ port: gateway.port, connections: CONNECTIONS, seconds, clientOf: inTurn(requests), status: 200 });
    await run(2);
    const figure = async (name) => Number(new RegExp(`${name}:([0-9.]+)`).exec(await redis.info())[1]);
    const cpu = (await figure('used_cpu_user')) + (await figure('used_cpu_sys'));
    const load = await run(settings.seconds);
    const spent = (await figure('used_cpu_user')) + (await figure('used_cpu_sys')) - cpu;
    say('GET /v1/balance per second with Redis', load.perSecond.toFixed(0));
    say('CPU of Redis per request', `${((spent / load.latenciesMs.length) * 1e6).toFixed(1)} µs`);
    const keys = await redis.dbsize();
    say('memory of Redis per account', `${(((await figure('used_memory')) - 1e6) / keys).toFixed(0)} bytes at most`);
    await gateway.end();
  } finally {
    redis.disconnect();
    redisServer.kill();
  }
}

const SIZES = `
  select relname as name, reltuples::bigint::text as rows, (pg_relation_size(oid) / reltuples)::int::text as bytes,
    (pg_total_relation_size(oid) / reltuples)::int::text as all
  from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and reltuples > 1000 order by reltuples desc`;
const LOG_POSITION = `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text as bytes`;

await withServer(main, settings.dataDir);
