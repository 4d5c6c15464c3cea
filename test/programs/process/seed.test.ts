import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { applyMigrations } from '../../../src/database/migrate.js';
import { PACKAGE_ROOT } from '../../../src/package-root.js';
import { createEmptyDatabase } from '../../support/database.js';
import { client } from '../../support/gateway.js';
import {
  cleanUp,
  connect,
  count,
  embeddedUrl,
  folder,
  type GatewayProcess,
  MAIN,
  query,
  run,
  serverOf,
  startProcess,
} from '../../support/process.js';

afterAll(cleanUp);

const TABLES = ['gpu_model', 'region', 'market_snapshot', 'machine', 'account', 'api_key', 'ledger_entry'];

async function rows(url: string): Promise<Record<string, number>> {
  const counts = await Promise.all(TABLES.map(async (name) => [name, await count(url, name)] as const));
  return Object.fromEntries(counts);
}

async function seedOf(url: string): Promise<unknown> {
  return (await query(url, 'select seed from installation')).map(({ seed }) => seed);
}

/** Who may call with the key, by the balance that each of the gateways tells. */
async function balances(gateways: GatewayProcess[], key: string): Promise<number[]> {
  const answers = gateways.map(({ address }) => client(address, key).rest('GET', '/balance'));
  return (await Promise.all(answers)).map(({ body }) => body.balance);
}

/** Statements that wait for a lock. */
const WAITING = `pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
/** Of the gateway's statements, and the lock of those that load. */
const LOCK_TIMEOUT_MS = 5_000;
const SEED_LOCK = 4_207_001;

const CATALOGUE = {
  gpu_model: 83,
  region: 32,
  market_snapshot: 1,
  machine: 0,
  account: 0,
  api_key: 0,
  ledger_entry: 0,
};
const DEMO = { ...CATALOGUE, machine: expect.any(Number), account: 1, api_key: 1, ledger_entry: 1 };
const NOTHING = { ...CATALOGUE, gpu_model: 0, region: 0 };

describe('on a database given by DATABASE_URL', () => {
  it('loads the catalogue alone when nothing else is said', async () => {
    const url = await createEmptyDatabase();
    const gateway = await startProcess({ DATABASE_URL: url });
    expect([gateway.demoKey, await seedOf(url)]).toEqual([null, ['catalogue']]);
    expect(await rows(url)).toEqual(CATALOGUE);
    const { body } = await client(gateway.address).rest('GET', '/gpus/pricing');
    expect(body).toMatchObject({ count: 83, market_snapshot: '2026-09-26' });
    expect((await client(gateway.address).rest('GET', '/offers')).body).toMatchObject({ count: 0, data: [] });
    await gateway.end();
  });

  it('loads the demo when it is told to, and shows its key', async () => {
    const url = await createEmptyDatabase();
    const gateway = await startProcess({ DATABASE_URL: url, SEED: 'demo' });
    expect(await rows(url)).toEqual(DEMO);
    expect(await count(url, 'machine where demo')).toBeGreaterThan(1_400);
    expect(await balances([gateway], gateway.demoKey!)).toEqual([100]);
    expect(gateway.stderr()).not.toContain('gpu_live_');
    await gateway.end();
  });

  it('loads nothing when it is told so, serves an empty sheet, and keeps to that', async () => {
    const url = await createEmptyDatabase();
    const gateway = await startProcess({ DATABASE_URL: url, SEED: 'none' });
    expect([gateway.demoKey, await seedOf(url)]).toEqual([null, ['none']]);
    expect(await rows(url)).toEqual(NOTHING);
    expect((await client(gateway.address).rest('GET', '/gpus/pricing')).body).toMatchObject({ count: 0, data: [] });
    expect((await fetch(`${gateway.address}/readyz`)).status).toBe(200);
    await gateway.end();
    const later = await startProcess({ DATABASE_URL: url, SEED: 'demo' });
    expect([later.demoKey, await seedOf(url)]).toEqual([null, ['none']]);
    expect(await rows(url)).toEqual(NOTHING);
    await later.end();
  });

  it('is loaded once by two first starts at once, of which one shows the key', async () => {
    const url = await createEmptyDatabase();
    const env = { DATABASE_URL: url, SEED: 'demo' };
    // As long as a load on a slow database: a second start waits for it longer than for other locks.
    const slow = await connect(url);
    await slow.query('select pg_advisory_lock($1)', [SEED_LOCK]);
    const starting = Promise.all([startProcess(env), startProcess(env)]);
    await expect.poll(() => count(url, WAITING), { timeout: 15_000 }).toBe(2);
    await sleep(LOCK_TIMEOUT_MS + 500);
    await slow.end();
    const both = await starting;
    const keys = both.flatMap(({ demoKey }) => demoKey ?? []);
    expect(keys).toHaveLength(1);
    for (const each of both)
      expect(each.log().map(({ msg }) => msg)).toContain('waiting for another first start on this database');
    expect(await rows(url)).toEqual(DEMO);
    expect(await seedOf(url)).toEqual(['demo']);
    expect(await balances(both, keys[0]!)).toEqual([100, 100]);
    expect((await Promise.all(both.map((gateway) => gateway.end()))).map(({ code }) => code)).toEqual([0, 0]);
  });

  it('is loaded in full by the next start when the first was killed within it', async () => {
    const url = await createEmptyDatabase();
    const env = { DATABASE_URL: url, SEED: 'demo' };
    await applyMigrations(url, join(PACKAGE_ROOT, 'prisma/migrations'));
    // The last thing a first start writes is that it is done.
    const holder = await connect(url);
    await holder.query('begin; lock table installation in exclusive mode');
    const killed = run([MAIN], env);
    await expect.poll(() => count(url, WAITING), { timeout: 15_000 }).toBe(1);
    killed.signal('SIGKILL');
    await killed.ended;
    // Its last statement must not be done by the server after its end.
    await query(url, `select pg_terminate_backend(pid) from ${WAITING}`);
    await expect.poll(() => count(url, WAITING)).toBe(0);
    await holder.end();
    expect(await seedOf(url)).toEqual([]);
    const next = await startProcess(env);
    expect(await rows(url)).toEqual({ ...DEMO, api_key: expect.any(Number) });
    expect(await balances([next], next.demoKey!)).toEqual([100]);
    await next.end();
  });
});

describe('on a data folder', () => {
  it('two first starts at once make one of everything, and the last to leave stops the server', async () => {
    const dataDir = join(folder(), 'data');
    const both = await Promise.all([startProcess({ DATA_DIR: dataDir }), startProcess({ DATA_DIR: dataDir })]);
    const keys = both.flatMap(({ demoKey }) => demoKey ?? []);
    expect(keys).toHaveLength(1);
    expect(await rows(await embeddedUrl(dataDir))).toEqual(DEMO);
    expect(await balances(both, keys[0]!)).toEqual([100, 100]);
    const [first, last] = both as [GatewayProcess, GatewayProcess];
    expect((await first.end()).code).toBe(0);
    expect(await balances([last], keys[0]!)).toEqual([100]);
    expect((await last.end()).code).toBe(0);
    expect(await serverOf(dataDir)).toBeUndefined();
  });
});
