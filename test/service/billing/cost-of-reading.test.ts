import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withoutTimers } from '../../support/background.js';
import { startGateway, type TestGateway } from '../../support/gateway.js';

withoutTimers();
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

/** Returns the statements that `work` sends through the pool. */
async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
  const { pool } = gateway.deps.db;
  const sent: string[] = [];
  const query = pool.query;
  pool.query = function (this: pg.Pool, ...args: unknown[]) {
    const [config] = args as [string | { text: string }];
    sent.push(typeof config === 'string' ? config : config.text);
    return (query as (...all: unknown[]) => unknown).apply(this, args);
  } as typeof pool.query;
  await work();
  pool.query = query;
  return sent;
}

test("reading a balance takes two statements, no matter how long the account's history", async () => {
  const renter = await gateway.renter();
  // Adds ten thousand past instances, as after a year of short jobs.
  await gateway.deps.db.pool.query(`
    insert into instance (id, account_id, sequence, machine_id, status, gpu, num_gpus, region, template, disk_gb, mode,
      gpu_rate, disk_rate, on_demand_rate, created_at, stopped_at, destroyed_at, gpu_seconds)
    select 'i-' || lpad(to_hex(n), 8, '0'), '${renter.accountId}', n, machine.id, 'DESTROYED', gpu, num_gpus, region, 'pytorch',
      1, 'ON_DEMAND', 1, 1, 1, now(), now(), now(), 0
    from generate_series(1, 10000) n, (select * from machine limit 1) machine`);
  const statements = await statementsOf(async () => {
    expect((await renter.rest('GET', '/balance')).status).toBe(200);
  });
  expect(statements).toHaveLength(2);
  for (const statement of statements) {
    expect(statement).not.toMatch(/(from|join) (instance|ledger_entry|usage_interval)/);
  }
});
