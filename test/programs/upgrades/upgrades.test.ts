import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applyMigrations } from '../../../src/database/migrate.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { parseUsd } from '../../../src/domain/kernel/money.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { client, startGateway, type TestGateway } from '../../support/gateway.js';
import { admin, cleanUp, connect, count, MAIN, query, run, startProcess } from '../../support/process.js';
import { databaseOf, expectedOf, releases } from './fixture.js';

afterAll(cleanUp);

it('there is data from every release in the changelog', () => {
  const changelog = readFileSync(join(PACKAGE_ROOT, 'CHANGELOG.md'), 'utf8');
  const released = [...changelog.matchAll(/^## (\d\S*)/gm)].map(([, version]) => version);
  expect(released.length).toBeGreaterThan(0);
  expect(releases).toEqual(expect.arrayContaining(released));
});

const HOUR = 3_600n;
const UNITS = `select id, (credit_units - spend_units - burn_rate * ($1 - extract(epoch from settled_at)::bigint))::text as units
  from account order by id`;

describe.each(releases)('a database from %s', (release) => {
  const expected = expectedOf(release);
  let url: string;
  let gateway: TestGateway;
  const renterOf = (id: string) =>
    client(gateway.address, expected.accounts.find((account) => account.id === id)!.key, id);
  const unitsAt = async (instant: bigint) =>
    Object.fromEntries((await query(url, UNITS, [String(instant)])).map(({ id, units }) => [id, units]));

  beforeAll(async () => {
    ({ url } = await databaseOf(release));
    gateway = await startGateway({ databaseUrl: url });
    expect(gateway.clock.now()).toBe(BigInt(Date.parse(expected.at) / 1_000));
  });
  afterAll(() => gateway.close());

  it('keeps every balance to the unit and passes the audit', async () => {
    const before = await audit(gateway.deps);
    expect(before.findings).toEqual([]);
    expect(before.accounts).toBe(Object.keys(expected.units).length);
    expect(await unitsAt(gateway.clock.now())).toEqual(expected.units);
  });

  it('is chained in the background', async () => {
    await expect.poll(async () => (await audit(gateway.deps)).unchainedAccounts).toBe(0);
    const { ledgerEntries, findings } = await audit(gateway.deps);
    expect(findings).toEqual([]);
    expect(await count(url, 'chain_link')).toBe(ledgerEntries);
  });

  it('is shown to renters as before', async () => {
    for (const { id, status, balance, instances } of expected.accounts) {
      const renter = renterOf(id);
      const told = await renter.rest('GET', '/balance');
      expect(told.status).toBe(status);
      if (status !== 200) continue;
      expect(told.body).toMatchObject(balance!);
      expect((await renter.rest('GET', '/instances')).body.data).toMatchObject(instances!);
    }
  });

  it('replays its idempotency keys without repeating anything', async () => {
    const instances = 'select id, status, gpu_intervals from instance order by id';
    const before = await query(url, instances);
    expect(expected.keptAnswers.map(({ method }) => method)).toEqual(['POST', 'POST', 'POST', 'DELETE']);
    for (const { account, method, path, body, idempotencyKey, answer } of expected.keptAnswers) {
      const headers = { 'Idempotency-Key': idempotencyKey };
      const again = await renterOf(account).rest(method, path, body ?? undefined, headers);
      expect(again.body).toMatchObject(answer);
      expect(again.headers.get('Idempotent-Replayed')).toBe('true');
    }
    expect(await query(url, instances)).toEqual(before);
  });

  it('continues billing at the locked rates', async () => {
    const { account, instance } = expected.running;
    const told = expected.accounts.find(({ id }) => id === account)!.instances!.find(({ id }) => id === instance)!;
    gateway.clock.advance(HOUR);
    const stopped = await renterOf(account).rest('POST', `/instances/${instance}/actions`, { action: 'stop' });
    const seconds = BigInt(Date.parse(stopped.body.stopped_at) - Date.parse(told.created_at)) / 1_000n;
    expect(seconds).toBeGreaterThan(22n * 24n * HOUR);
    const charged = await query(url, `select units from ledger_entry where instance_id = $1 and kind = 'GPU_USAGE'`, [
      instance,
    ]);
    expect(charged).toEqual([{ units: String(-parseUsd(String(told.price_hr))! * seconds) }]);
    // The clock moves past every grace period and several months.
    gateway.clock.advance(40n * 24n * HOUR);
    for (const { id } of expected.accounts) await renterOf(id).rest('GET', '/balance');
    expect((await audit(gateway.deps)).findings).toEqual([]);
  });
});

describe('an upgrade', () => {
  const WAITS = `select from pg_stat_activity where datname = current_database() and application_name = 'migrations' and wait_event_type = 'Lock'`;

  it('is resumed by two gateways starting concurrently if it is killed midway', async () => {
    const { url, migrations } = await databaseOf('1.0.0');
    const done = async () =>
      (await query(url, 'select migration_name as name from _prisma_migrations where finished_at is not null')).map(
        ({ name }) => name,
      );
    const reader = await connect(url);
    // A long query reads a table that a migration must change.
    await reader.query('begin; select from instance limit 1');
    const killed = run([MAIN], { DATABASE_URL: url });
    await expect.poll(async () => (await query(url, WAITS)).length, { timeout: 60_000 }).toBe(1);
    killed.signal('SIGKILL');
    await killed.ended;
    const half = await done();
    expect(half.length).toBeGreaterThanOrEqual(migrations.length);
    await reader.end();

    const gateways = await Promise.all([1, 2].map(() => startProcess({ DATABASE_URL: url, LOG_LEVEL: 'warn' })));
    const all = await done();
    expect(all.length).toBeGreaterThan(half.length);
    expect(new Set(all).size).toBe(all.length);
    for (const { address } of gateways) expect((await fetch(`${address}/readyz`)).status).toBe(200);
    for (const gateway of gateways) expect((await gateway.end()).code).toBe(0);
  });

  const ACCOUNTS = 6;
  const ENTRIES = 600;
  const idOf = (n: number) => `acc-${n.toString(16).padStart(16, '0')}`;
  const CREDITED = `
    with credited as (
      insert into ledger_entry (id, account_id, kind, units, at, note)
      select account || '/' || n, account, 'CREDIT', n, '2026-01-01'::timestamptz + (n * 7919 % $2) * interval '1 minute', 'Nº ' || n
      from unnest($1::text[]) account, generate_series(1, $2::int) n returning account_id, units
    ), made as (
      insert into account (id, name, created_at, settled_at, credit_units)
      select account, 'Old', '2026-01-01', '2026-11-01', $2::bigint * ($2::bigint + 1) / 2 from unnest($1::text[]) account
    ) select count(*) from credited`;
  const CHAINING = `select from pg_stat_activity where datname = current_database() and query ~ 'chain_history' and wait_event_type = 'Lock'`;
  const UNORDERED = `select from (
      select number, row_number() over (partition by link.account_id order by at, id) as position
      from chain_link link join ledger_entry on id = entry_id where link.account_id = any($1)
    ) numbered where number <> position`;

  // `test/long/upgrades` does this with large ledgers from every release, at random moments and next to renters.
  it('chains each entry once, although five gateways are killed', async () => {
    const { url } = await databaseOf('1.0.0');
    const accounts = Array.from({ length: ACCOUNTS }, (_, n) => idOf(n));
    await query(url, CREDITED, [accounts, Math.ceil(ENTRIES / ACCOUNTS)]);
    // Otherwise, the writers below would block migrations.
    await applyMigrations(url, join(PACKAGE_ROOT, 'prisma/migrations'));
    for (const account of accounts.slice(1)) {
      // The gateway must wait for a writer in the middle of its transaction.
      const writer = await connect(url);
      await writer.query(`begin; select from account where id = '${account}' for update`);
      const gateway = run([MAIN], { DATABASE_URL: url });
      await expect.poll(async () => (await query(url, CHAINING)).length, { timeout: 60_000 }).toBe(1);
      gateway.signal('SIGKILL');
      await gateway.ended;
      await writer.end();
    }
    expect(await count(url, 'account_chain where complete')).toBe(ACCOUNTS - 1);

    const gateways = await Promise.all([1, 2].map(() => startProcess({ DATABASE_URL: url, LOG_LEVEL: 'warn' })));
    const reportOf = async () => JSON.parse((await admin(['audit', '--json'], { DATABASE_URL: url })).stdout);
    await expect.poll(reportOf, { timeout: 60_000 }).toMatchObject({ unchained_accounts: 0, findings: [] });
    expect(await count(url, 'chain_link')).toBe(await count(url, 'ledger_entry'));
    expect(await query(url, UNORDERED, [accounts])).toEqual([]);
    for (const gateway of gateways) expect(await gateway.end()).toMatchObject({ code: 0, stderr: '' });
  });
});
