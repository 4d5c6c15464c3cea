// node scripts/upgrade-fixture.mjs CHECKOUT FOLDER    writes a release's data for test/programs/upgrades
// CHECKOUT is a built checkout of that release. Its own gateway runs through three weeks of rentals on this script's
// clock. Afterwards, every row in its database is written to FOLDER/rows.gz, and its responses to FOLDER/expected.json.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';

const [checkout, folder] = process.argv.slice(2).map((path) => resolve(path));
if (folder === undefined) {
  console.error('node scripts/upgrade-fixture.mjs CHECKOUT FOLDER');
  process.exit(2);
}

const BEGIN = '2026-10-28T08:00:00Z';
/** The time at which the tests' clock stands. */
const END = '2026-11-20T12:00:00Z';
const [MINUTE, HOUR, DAY] = [60, 3_600, 86_400];
/** More rentals than are needed for a statement to create checkpoints. */
const SHORT_RENTALS = 420;

const BALANCES = `select id, (credit_units - spend_units - burn_rate * extract(epoch from $1::timestamptz - settled_at)::bigint)::text as units
  from account order by id`;

class ScriptClock {
  ms = Date.parse(BEGIN);
  now() {
    return BigInt(Math.floor(this.ms / 1_000));
  }
  nowMs() {
    return this.ms;
  }
  advance(seconds) {
    this.ms += seconds * 1_000;
  }
  /** Moves the clock forward to an instant. */
  reach(instant) {
    assert.ok(Date.parse(instant) >= this.ms, `${instant} is over`);
    this.ms = Date.parse(instant);
  }
}

/** Returns a module of the release. `places` are the paths that the module has had in different releases. */
async function load(...places) {
  const file = places.map((place) => join(checkout, 'dist/src', place)).find(existsSync);
  return file === undefined ? null : import(file);
}

const requireThere = createRequire(join(checkout, 'package.json'));
const { pino } = requireThere('pino');
const clock = new ScriptClock();
const { openGateway } = await load('compose/gateway.js', 'compose.js');
const { readConfig } = await load('compose/config.js', 'config.js');
const accounts = await load('domain/accounts/accounts.js', 'domain/accounts.js');
const { createApiKey } = await load('domain/accounts/api-keys.js', 'domain/api-keys.js');
const { statement } = await load('domain/billing/statement.js', 'domain/statement.js');
const topUps = await load('domain/top-ups/create-top-up.js', 'domain/topups/create-top-up.js');
const { bookPayments } = (await load('domain/top-ups/book-payments.js', 'domain/topups/book-payments.js')) ?? {};

const dataDir = mkdtempSync(join(tmpdir(), 'upgrade-fixture-'));
const config = { ...readConfig({}), port: 0, sshPort: null, dataDir, seed: 'demo', rateLimitPerMinute: 0 };
const gateway = await openGateway(config, clock, pino({ level: 'silent' }));
try {
  const expected = await live(gateway);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'rows.gz'), gzipSync(await rowsOf(gateway.deps.db.pool), { level: 9 }));
  writeFileSync(join(folder, 'expected.json'), `${JSON.stringify(expected, null, 2)}\n`);
} finally {
  await gateway.close();
  rmSync(dataDir, { recursive: true, force: true });
}

async function live({ deps, address }) {
  const offers = await freeMachines(address);
  const machines = offers.map(({ machine_id: id }) => id);
  /** Returns the credit that pays for a machine and its disk for a number of hours. */
  const creditFor = (place, hours) => hours * (offers[place].price_per_hour.on_demand + 0.007);
  const renter = async (name, usd) => {
    const { id } = await accounts.createAccount(deps, { name, creditMicro: BigInt(Math.ceil(usd * 1_000_000)) });
    const { secret } = await createApiKey(deps, id);
    return { name, id, key: secret, ...caller(address, secret) };
  };
  const keptAnswers = [];
  /** Sends a write with an idempotency key, which the next version must replay. */
  const once = async (who, idempotencyKey, method, path, body) => {
    const headers = { 'Idempotency-Key': idempotencyKey };
    const answer = await who.send(method, path, body, headers);
    keptAnswers.push({ account: who.id, method, path, body: body ?? null, idempotencyKey, answer });
    return answer;
  };

  // A long-term tenant whose rentals cross the end of a month. There are two rentals, one of which is stopped and
  // started, along with credits and a correction.
  const tenant = await renter('Tenant', 5_000);
  const steady = await tenant.deploy(machines[0]);
  const moody = await tenant.deploy(machines[1], { disk_gb: 120 });
  clock.advance(3 * HOUR + 17);
  await tenant.act(moody.id, 'stop');
  clock.reach('2026-10-31T23:59:58Z');
  await tenant.act(moody.id, 'start');
  clock.reach('2026-11-01T00:00:03Z');
  await accounts.creditAccount(deps, tenant.id, { amountMicro: 25_000_001n, reference: 'invoice-7', note: 'transfer' });
  await accounts.adjustAccount(deps, tenant.id, { amountMicro: -1_000_003n, note: 'a correction' });
  clock.advance(2 * DAY + 5);
  await tenant.act(moody.id, 'stop');

  // An account that runs out of credit and then exceeds its grace period.
  const broke = await renter('Broke', creditFor(2, 5));
  await broke.deploy(machines[2]);
  clock.reach('2026-11-04T10:00:00Z');
  await broke.get('/balance');
  clock.advance(8 * DAY);
  assert.equal((await broke.get('/instances')).data.length, 0, 'the grace is over');

  // A reserved term that is left early, one that continues, and one that is stopped.
  const loyal = await renter('Loyal', 9_000);
  const [left, , paused] = [
    await loyal.deploy(machines[3], { type: 'res' }),
    await loyal.deploy(machines[4], { type: 'res' }),
    await loyal.deploy(machines[5], { type: 'res' }),
  ];
  clock.advance(DAY + 1);
  await loyal.send('DELETE', `/instances/${left.id}`);
  await loyal.act(paused.id, 'stop');

  // Two interruptible instances. The tenant preempts one of them, and the other keeps running.
  const guest = await renter('Guest', 2_000);
  const sentAway = await guest.deploy(machines[6], { type: 'interruptible' });
  await guest.deploy(machines[7], { type: 'interruptible' });
  clock.advance(HOUR + 1);
  await tenant.deploy(machines[6]);
  assert.equal((await guest.get(`/instances/${sentAway.id}`)).status, 'stopped');

  // An account with an instance that the operator suspends.
  const suspended = await renter('Suspended', 50);
  await suspended.deploy(machines[8]);
  clock.advance(12 * MINUTE);
  await accounts.suspendAccount(deps, suspended.id);

  // Many short rentals.
  const busy = await renter('Busy', 500);
  for (let count = 0; count < SHORT_RENTALS; count += 1) {
    const { id } = await busy.deploy(machines[9], { disk_gb: 10 });
    clock.advance(30 + (count % 7));
    await busy.send('DELETE', `/instances/${id}`);
    clock.advance(2);
  }

  const payer = topUps === null ? null : await renter('Payer', 10);
  if (payer !== null) await payInCoins(deps, payer);

  // An account that is still within its grace period at the end.
  const owing = await renter('Owing', creditFor(10, 5));
  await owing.deploy(machines[10]);
  clock.reach('2026-11-19T20:00:00Z');
  await owing.get('/balance');

  // Writes within the last day, for which idempotency keys are still kept.
  const fresh = await once(tenant, 'deploy-1', 'POST', '/instances', { machine_id: machines[11], disk_gb: 77 });
  clock.advance(90);
  await once(tenant, 'stop-1', 'POST', `/instances/${fresh.id}/actions`, { action: 'stop' });
  clock.advance(90);
  await once(tenant, 'start-1', 'POST', `/instances/${fresh.id}/actions`, { action: 'start' });
  const gone = await tenant.deploy(machines[12]);
  clock.advance(30);
  await once(tenant, 'destroy-1', 'DELETE', `/instances/${gone.id}`);
  await statement(deps, busy.id, { from: BigInt(Date.parse(BEGIN) / 1_000), to: clock.now() });
  clock.reach(END);

  const { rows } = await deps.db.pool.query(BALANCES, [END]);
  const everybody = [tenant, broke, loyal, guest, suspended, busy, owing, payer].filter((each) => each !== null);
  return {
    commit: execFileSync('git', ['rev-parse', 'HEAD'], { cwd: checkout, encoding: 'utf8' }).trim(),
    at: END,
    running: { account: tenant.id, instance: steady.id },
    keptAnswers,
    units: Object.fromEntries(rows.map(({ id, units }) => [id, units])),
    accounts: await Promise.all(everybody.map(answersOf)),
  };
}

/** Returns the release's responses to an account's owner, or none if the account is suspended. */
async function answersOf({ id, name, key, ask, get }) {
  const { status } = await ask('GET', '/balance');
  if (status !== 200) return { id, name, key, status };
  const instances = (await get('/instances')).data;
  return { id, name, key, status, balance: await get('/balance'), instances };
}

/**
 * Creates one top-up that is credited, one that waits for confirmations, one paid in another coin, and an unpaid one.
 */
async function payInCoins(deps, { id }) {
  let reports = [];
  const payments = {
    name: 'shkeeper',
    assets: async () => ['LTC'],
    open: async (request) => ({
      invoice: request.id,
      address: `ltc1q${request.id}`,
      amount: '0.5',
      rate: '80',
      holdsUntil: null,
    }),
    read: async () => reports,
  };
  const withPayments = { ...deps, payments };
  for (const report of [
    { status: 'final', confirmations: 6, asset: 'LTC' },
    { status: 'pending', confirmations: 1, asset: 'LTC' },
    { status: 'final', confirmations: 9, asset: 'OTHER' },
    null,
  ]) {
    const input = { asset: 'LTC', usd: 40_000_000n, idempotencyKey: `top-up-${reports.length}${report?.status}` };
    const { topUp } = await topUps.createTopUp(withPayments, id, input);
    reports =
      report === null
        ? []
        : [{ transaction: `tx-${topUp.id}`, address: topUp.address, coins: '0.5', usd: 40_000_000n, ...report }];
    await bookPayments(withPayments, topUp, reports);
    clock.advance(MINUTE);
  }
}

function caller(address, key) {
  const ask = async (method, path, body, headers = {}) => {
    const response = await fetch(`${address}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };
  const send = async (...request) => {
    const { status, body } = await ask(...request);
    assert.ok(status < 300, `${request.join(' ')}: ${status} ${JSON.stringify(body)}`);
    return body;
  };
  return {
    ask,
    send,
    get: (path) => send('GET', path),
    deploy: (machineId, more = {}) => send('POST', '/instances', { machine_id: machineId, disk_gb: 50, ...more }),
    act: (id, action) => send('POST', `/instances/${id}/actions`, { action }),
  };
}

async function freeMachines(address) {
  const response = await fetch(`${address}/v1/offers?limit=40`);
  return (await response.json()).data;
}

/**
 * Returns a line for each table with its name, a tab and its rows. The rows are a JSON array written by PostgreSQL, so
 * that numbers keep every digit.
 */
async function rowsOf(pool) {
  const { rows: tables } = await pool.query(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by relname`,
  );
  const lines = [];
  for (const { name } of tables) {
    const { rows } = await pool.query(`select coalesce(jsonb_agg(to_jsonb(t)), '[]')::text as all from "${name}" t`);
    lines.push(`${name}\t${rows[0].all}\n`);
  }
  return lines.join('');
}
