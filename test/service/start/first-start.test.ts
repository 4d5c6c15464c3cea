import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { type Config, readConfig } from '../../../src/compose/config.js';
import { openConfiguredDatabase } from '../../../src/compose/database.js';
import { openGateway } from '../../../src/compose/gateway.js';
import { TestClock } from '../../support/clock.js';
import { createEmptyDatabase, createTestDatabase } from '../../support/database.js';
import { client, startGateway } from '../../support/gateway.js';
import { connect, count, query } from '../../support/process.js';

const SILENT = pino({ level: 'silent' });
/** The lock timeout of the gateway's statements. The lock for loading has a longer one. */
const LOCK_TIMEOUT_MS = 5_000;
const SEED_LOCK = 4_207_001;
const TABLES = ['gpu_model', 'region', 'market_snapshot', 'machine', 'account', 'api_key', 'ledger_entry'];
const NOTHING = {
  gpu_model: 0,
  region: 0,
  market_snapshot: 1,
  machine: 0,
  account: 0,
  api_key: 0,
  ledger_entry: 0,
};
const CATALOGUE = { ...NOTHING, gpu_model: 83, region: 32 };

async function rows(url: string): Promise<Record<string, number>> {
  const counts = await Promise.all(TABLES.map(async (name) => [name, await count(url, name)] as const));
  return Object.fromEntries(counts);
}

const seedsOf = async (url: string) => (await query(url, 'select seed from installation')).map(({ seed }) => seed);

describe('a first start with an empty database in DATABASE_URL', () => {
  it('loads the catalogue once even for two gateways, and only if the ports are free', async () => {
    const databaseUrl = await createEmptyDatabase();
    const { seed } = readConfig({ DATABASE_URL: databaseUrl });
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const refused = (settings: Partial<Config>) =>
      openGateway(
        { ...readConfig({}), port: 0, sshPort: null, databaseUrl, seed, ...settings },
        new TestClock(),
        SILENT,
      );
    await expect(refused({ port })).rejects.toMatchObject({ code: 'EADDRINUSE', port });
    await expect(refused({ sshPort: port })).rejects.toThrow(
      new RegExp(`^SSH_PORT ${port} is in use by another program.*set `),
    );
    await expect(refused({ metricsPort: port })).rejects.toThrow(
      new RegExp(`^METRICS_PORT ${port} is in use by another program.*set `),
    );
    other.close();
    expect(await seedsOf(databaseUrl)).toEqual([]);
    expect(await rows(databaseUrl)).toEqual({ ...NOTHING, market_snapshot: 0 });

    // Simulates loading on a slow database. A second start waits longer for it than for other locks.
    const slow = await connect(databaseUrl);
    await slow.query('select pg_advisory_lock($1)', [SEED_LOCK]);
    const starting = Promise.all([startGateway({ databaseUrl, seed }), startGateway({ databaseUrl, seed })]);
    const waiting = `pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await expect.poll(() => count(databaseUrl, waiting), { timeout: 60_000, interval: 200 }).toBe(2);
    await sleep(LOCK_TIMEOUT_MS + 500);
    await slow.end();
    const both = await starting;
    expect(both.map(({ demoKey }) => demoKey)).toEqual([null, null]);
    expect([await seedsOf(databaseUrl), await rows(databaseUrl)]).toEqual([['catalogue'], CATALOGUE]);
    for (const { address, close } of both) {
      const { body } = await client(address).rest('GET', '/gpus/pricing');
      expect(body).toMatchObject({ count: 83, market_snapshot: '2026-09-26' });
      expect((await client(address).rest('GET', '/offers')).body).toMatchObject({ count: 0, data: [] });
      await close();
    }
  });

  it('loads nothing, now or later, and serves an empty price sheet if SEED is none', async () => {
    const databaseUrl = await createEmptyDatabase();
    const gateway = await startGateway({ databaseUrl, seed: 'none' });
    expect([await seedsOf(databaseUrl), await rows(databaseUrl)]).toEqual([['none'], NOTHING]);
    expect((await client(gateway.address).rest('GET', '/gpus/pricing')).body).toMatchObject({ count: 0, data: [] });
    expect((await fetch(`${gateway.address}/readyz`)).status).toBe(200);
    await gateway.close();
    const later = await startGateway({ databaseUrl, seed: 'demo' });
    expect([later.demoKey, await seedsOf(databaseUrl), await rows(databaseUrl)]).toEqual([null, ['none'], NOTHING]);
    await later.close();
  });
});

describe('a one-line error names an unusable database', () => {
  async function refusal(env: Record<string, string>): Promise<string> {
    const error = await openConfiguredDatabase(readConfig(env), SILENT, 'within').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    const { message } = error as Error;
    expect(message).toMatch(/^[^\n]+$/);
    expect(message).not.toContain('hunter2');
    return message;
  }

  it.each([
    // A name with two addresses, one IPv6 and one IPv4 on most hosts.
    [{ DATABASE_URL: 'postgresql://localhost:1/x' }, /^can't use the database at DATABASE_URL: .*connect ECONNREFUSED/],
    // The driver logs a long warning for this one.
    [
      { DATABASE_URL: 'postgresql://127.0.0.1:1/x?sslmode=require' },
      /^can't use the database at DATABASE_URL: .*connect ECONNREFUSED/,
    ],
    [
      { DATABASE_URL: 'postgresql://nowhere.invalid/x' },
      /^can't use the database at DATABASE_URL: .*nowhere\.invalid$/,
    ],
    [{ DATABASE_URL: 'postgresql://a%zz@127.0.0.1:1/x' }, /^can't use the database at DATABASE_URL: .+/],
    [{ DATA_DIR: '/dev/null/data' }, /^The built-in PostgreSQL is not available: .*\/dev\/null\/data.*DATABASE_URL/],
  ])('configured as %o', async (env, expected) => {
    expect(await refusal(env as Record<string, string>)).toMatch(expected);
  });

  it('configured with a wrong name or password', async () => {
    const wrong = new URL(await createTestDatabase());
    wrong.pathname = '/absent';
    expect(await refusal({ DATABASE_URL: wrong.href })).toMatch(
      /^can't use the database at DATABASE_URL: .*"absent" does not exist$/,
    );
    wrong.password = 'hunter2';
    expect(await refusal({ DATABASE_URL: wrong.href })).toMatch(
      /^can't use the database at DATABASE_URL: .*authentication failed/,
    );
  });

  it('migrated by a newer version', async () => {
    const databaseUrl = await createTestDatabase();
    await query(
      databaseUrl,
      `insert into _prisma_migrations (id, checksum, migration_name, finished_at) values ('x', 'x', '99990101000000_x', now())`,
    );
    expect(await refusal({ DATABASE_URL: databaseUrl })).toMatch(
      /^can't use the database at DATABASE_URL: .*newer than this version.*99990101/,
    );
  });
});
