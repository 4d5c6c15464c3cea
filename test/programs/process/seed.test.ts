import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { applyMigrations } from '../../../src/database/migrate.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
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

/** Returns the balance that each gateway reports for the key. */
async function balances(gateways: GatewayProcess[], key: string): Promise<number[]> {
  const answers = gateways.map(({ address }) => client(address, key).rest('GET', '/balance'));
  return (await Promise.all(answers)).map(({ body }) => body.balance);
}

/** Rows of the statements that are waiting for a lock. */
const WAITING = `pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;

const DEMO = {
  gpu_model: 83,
  region: 32,
  market_snapshot: 1,
  machine: expect.any(Number),
  account: 1,
  api_key: 1,
  ledger_entry: 1,
};

describe('a database given by DATABASE_URL', () => {
  it('is fully loaded by the next start if the first one was killed while loading', async () => {
    const url = await createEmptyDatabase();
    const env = { DATABASE_URL: url, SEED: 'demo' };
    await applyMigrations(url, join(PACKAGE_ROOT, 'prisma/migrations'));
    // The last thing written by a first start is a mark that it is done.
    const holder = await connect(url);
    await holder.query('begin; lock table installation in exclusive mode');
    const killed = run([MAIN], env);
    await expect.poll(() => count(url, WAITING), { timeout: 60_000, interval: 200 }).toBe(1);
    killed.signal('SIGKILL');
    await killed.ended;
    // The server must not execute the killed gateway's last statement afterwards.
    await query(url, `select pg_terminate_backend(pid) from ${WAITING}`);
    await expect.poll(() => count(url, WAITING)).toBe(0);
    await holder.end();
    expect(await seedOf(url)).toEqual([]);
    const next = await startProcess(env);
    expect(await rows(url)).toEqual({ ...DEMO, api_key: expect.any(Number) });
    expect(await count(url, 'machine where demo')).toBeGreaterThan(1_400);
    expect(await seedOf(url)).toEqual(['demo']);
    expect(await balances([next], next.demoKey!)).toEqual([100]);
    expect(next.stderr()).not.toContain('gpu_live_');
    await next.end();
  });
});

describe('a data folder', () => {
  it('is seeded once by two concurrent gateways, the last of which stops the server', async () => {
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
