import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DomainError } from '../../../src/domain/kernel/errors.js';
import { sealingKey } from '../../../src/domain/kernel/sealing.js';
import { startLog } from '../../../src/domain/proof/hourly.js';
import { LOG_LOCK, rootsAfter } from '../../../src/domain/proof/log.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

let domain: TestDomain;
const faults: unknown[] = [];

beforeEach(async () => {
  domain = { ...(await openTestDomain()), sealingKeys: async () => [sealingKey('5e'.repeat(32))] };
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(async () => {
  vi.useRealTimers();
  await domain.close();
  expect(faults).toEqual([]);
});

/** Runs the check that is due every ten seconds. */
async function check(hours = 0): Promise<void> {
  domain.clock.advance(hours * 3_600);
  vi.advanceTimersByTime(10_000);
  await new Promise((resolve) => setTimeout(resolve, 300));
}

test('a root is made at the start and after each full hour', async () => {
  const log = startLog(
    domain,
    () => {},
    (error) => faults.push(error),
  );
  const counts: number[] = [];
  for (const hours of [0, 0, 1, 0, 5]) {
    await check(hours);
    await expect.poll(async () => (await rootsAfter(domain, 0)).roots.length).toBe([1, 1, 2, 2, 3][counts.length]);
    counts.push(hours);
  }
  await log.stop();
});

test('a root is made after the gateway that was appending has failed', async () => {
  const other = await domain.db.pool.connect();
  await other.query(`begin; select pg_advisory_xact_lock(${LOG_LOCK})`);
  const log = startLog(
    domain,
    () => {},
    (error) => faults.push(error),
  );
  await check();
  expect((await rootsAfter(domain, 0)).roots).toHaveLength(0);
  await other.query('rollback');
  other.release();
  await check();
  await expect.poll(async () => (await rootsAfter(domain, 0)).roots.length).toBe(1);
  await log.stop();
});

test('a service that cannot sign reports it once', async () => {
  const reasons: string[] = [];
  const sealingKeys = () => Promise.reject(new DomainError('action_failed', 'no SECRETS_KEY'));
  const log = startLog(
    { ...domain, sealingKeys },
    (reason) => reasons.push(reason),
    (error) => faults.push(error),
  );
  for (const hours of [0, 1, 1]) await check(hours);
  await log.stop();
  expect(reasons).toEqual(['no SECRETS_KEY']);
});
