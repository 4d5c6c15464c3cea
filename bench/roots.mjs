// `npm run bench:roots` makes roots of the public log with a million accounts (`-- --accounts N` for another number),
// each of which has a chain: the first root, one after every chain has grown, one after 1% have, and one after none
// has. It prints how long each took, the CPU time of PostgreSQL's processes, the longest delay of the gateway's event
// loop, and the longest response time of `GET /v1/balance` in the meantime, which one client requests repeatedly. The
// first row is a time without a root, for comparison. `--lookup` removes the snapshots of earlier roots, so that each
// root looks up every chain in the log, as after a move to another cluster. All processes use the same cores.
// PostgreSQL writes a checkpoint before each root, so that the figures include all full-page writes. Needs 3 GB of free
// disk space.
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ask } from './support/answers.mjs';
import { postmasterOf, rowsOf, withClient } from './support/database.mjs';
import { fillAccounts, keyOf, settleTables } from './support/fill.mjs';
import { cpuSecondsOfTree, startProgram, useAllCores } from './support/programs.mjs';
import { table, whole } from './support/report.mjs';
import { withServer } from './support/session.mjs';
import { PROJECT } from './support/settings.mjs';

const { values } = parseArgs({
  options: { accounts: { type: 'string', default: '1000000' }, lookup: { type: 'boolean', default: false } },
});
const ACCOUNTS = Number(values.accounts);
const GROWN_AT_A_TIME = 10_000;
const MIN_PARTS = 100;
const SECRETS_KEY = '5e'.repeat(32);
const IDLE_MS = 10_000;
const PAUSE_MS = 5;
const HEADERS = { authorization: `Bearer ${keyOf(1)}` };

/** A chain with a link for the credit of each account that `fillAccounts` adds. */
const CHAINS = `
  with filled as (
    select entry, account_id, entry.id, sha256(account_id::bytea) as pseudonym from ledger_entry entry
  ), chained as (
    select *, chain_hash(1, chain_start(account_id, pseudonym), entry) as hash from filled
  ), links as (
    insert into chain_link select account_id, 1, id, hash from chained
  )
  insert into account_chain (account_id, pseudonym, length, head) select account_id, pseudonym, 1, hash from chained`;

/** Adds an entry to the accounts of which the hash has remainder $2 when divided by $1. Its trigger adds the link. */
const GROW = `
  insert into ledger_entry (id, account_id, kind, units, at)
  select gen_random_uuid(), id, 'CREDIT', 3600, date_trunc('second', now()) from account
  where mod(abs(hashtext(id)::bigint), $1) = $2`;

useAllCores();
await withServer(async (server) => {
  await server.create('roots');
  const url = server.urlOf('roots');
  const gateway = startProgram(process.execPath, [join(PROJECT, 'bench/roots/gateway.mjs')], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const answer = async (message) => {
    gateway.send(message);
    return (await once(gateway, 'message'))[0];
  };
  const limits = { RATE_LIMIT_PER_MINUTE: '0', SSH_PORT: '' };
  const { port } = await answer({ PORT: '0', DATABASE_URL: url, SECRETS_KEY, SEED: 'none', ...limits });
  await fill(url);
  const postmaster = await postmasterOf(url);
  const rows = [['', 'leaves', 'seconds', 'CPU s', 'event loop', 'balance', 'load']];
  const measure = async (what, message = {}) => {
    if (values.lookup) await rowsOf(url, 'update log_root set snapshot = null');
    await rowsOf(url, 'checkpoint');
    const before = await leavesOf(url);
    const cpuBefore = cpuSecondsOfTree(postmaster);
    const [figures, slowestMs] = await whileRequesting(port, () => answer(message));
    const cpu = (cpuSecondsOfTree(postmaster) - cpuBefore).toFixed(1);
    const leaves = whole((await leavesOf(url)) - before);
    const ms = [figures.delayMs, slowestMs].map((each) => `${each.toFixed(0)} ms`);
    rows.push([what, leaves, figures.seconds.toFixed(1), cpu, ...ms, loadavg()[0].toFixed(1)]);
    console.error(rows.at(-1).join('  '));
  };
  await measure('without a root', { idleMs: IDLE_MS });
  await measure('first root');
  await grow(url, ACCOUNTS);
  await measure('after all chains have grown');
  await grow(url, ACCOUNTS / 100);
  await measure('after 1% have grown');
  await measure('after none has grown');
  console.log(`\n${whole(ACCOUNTS)} accounts\n\n${table(rows, [1, 2, 3, 4, 5, 6])}`);
});

async function fill(url) {
  console.error('creating accounts');
  await fillAccounts(url, { from: 1, to: ACCOUNTS, past: 0, stopped: 0 });
  await withClient(url, async (client) => {
    await client.query('begin; set local session_replication_role = replica');
    await client.query(CHAINS);
    await client.query('commit');
  });
  await settleTables(url);
}

/** Lets the chains of about `count` accounts grow, in transactions that touch all parts of the tables. */
async function grow(url, count) {
  console.error(`growing ${whole(count)} chains`);
  const parts = Math.max(MIN_PARTS, Math.ceil(ACCOUNTS / GROWN_AT_A_TIME));
  const steps = Math.max(1, Math.round((parts * count) / ACCOUNTS));
  await withClient(url, async (client) => {
    for (let step = 0; step < steps; step += 1) await client.query(GROW, [parts, step]);
  });
}

async function leavesOf(url) {
  return Number((await rowsOf(url, 'select coalesce(max(size), 0) as leaves from log_root'))[0].leaves);
}

/** Returns the result of `work` and the longest response time in the meantime. */
async function whileRequesting(port, work) {
  let isOver = false;
  let slowestMs = 0;
  const requesting = (async () => {
    while (!isOver) {
      const startedAt = performance.now();
      const { status } = await ask(port, { path: '/v1/balance', headers: HEADERS });
      if (status !== 200) throw new Error(`a request for the balance was answered with ${status}`);
      slowestMs = Math.max(slowestMs, performance.now() - startedAt);
      await sleep(PAUSE_MS);
    }
  })();
  const result = await work();
  isOver = true;
  await requesting;
  return [result, slowestMs];
}
