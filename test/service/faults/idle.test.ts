import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type Service, startService } from '../../support/service.js';

const STEP_MS = 250;
const MEASURED_MS = 60_000;
/** A timer queries at most every 5 s, and most timers have nothing to query for. */
const MAX_PER_STATEMENT = MEASURED_MS / 5_000;
const MAX_TOTAL = 80;

let service: Service;

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  service = await startService();
});
afterAll(async () => {
  await service?.close();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

async function pass(ms: number): Promise<void> {
  const { pool, notices } = service.deps.db;
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    service.clock.advance(STEP_MS / 1_000);
    await vi.advanceTimersByTimeAsync(STEP_MS);
    await notices.caughtUp();
    while (pool.idleCount < pool.totalCount) await new Promise(setImmediate);
  }
}

it('an idle gateway sends few statements', async () => {
  await pass(10_000);
  const sent = new Map<string, number>();
  const real = pg.Client.prototype.query as (...given: unknown[]) => unknown;
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...given: never[]) {
    const [query] = given as unknown as [string | { name?: string; text?: string }];
    const { name, text } = typeof query === 'string' ? { name: undefined, text: query } : query;
    const label = name ?? text;
    // Queries without text don't begin a transaction. The other exception is sent by the test.
    if (label !== undefined && label !== 'select 1') sent.set(label, (sent.get(label) ?? 0) + 1);
    return real.apply(this, given);
  } as never);
  await pass(MEASURED_MS);
  expect([...sent].filter(([, count]) => count > MAX_PER_STATEMENT)).toEqual([]);
  const total = [...sent.values()].reduce((sum, count) => sum + count, 0);
  // Proves that the test observes statements.
  expect(total).toBeGreaterThan(20);
  expect(total).toBeLessThanOrEqual(MAX_TOTAL);
});
