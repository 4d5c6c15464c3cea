import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTestDatabase } from '../../support/database.js';
import { type DatabaseWire, openWire } from '../../support/database-wire.js';
import { subscribe } from '../../support/events.js';
import { allCaughtUp, type Service, startService } from '../../support/service.js';

const GPU = 'mi325x';
const PATIENCE = { timeout: 30_000, interval: 20 };
/** Maximum time for which a request may wait for a server that is frozen. */
const GIVES_UP_WITHIN_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** Longer than a statement may wait for a server that doesn't answer. */
const LONG_SECONDS = 7;

/** Two gateways on one database. The first gateway's connections can be broken like those to a failing primary. */
let wire: DatabaseWire;
let first: Service;
let second: Service;

beforeAll(async () => {
  const database = await createTestDatabase();
  wire = await openWire(new URL(database));
  [first, second] = await Promise.all([
    startService({ databaseUrl: wire.url, rateLimitPerMinute: 1_000 }),
    startService({ databaseUrl: database, rateLimitPerMinute: 1_000 }),
  ]);
});
afterAll(async () => {
  await second?.close();
  await first?.close();
  await wire?.close();
});
beforeEach(async () => {
  await vi.waitFor(() => allCaughtUp([first, second]), PATIENCE);
});

async function isOffered(service: Service, id: string): Promise<boolean> {
  const { body } = await service.anyone.rest('GET', `/offers?gpu=${GPU}&limit=100`);
  return body.data.some(({ machine_id }: { machine_id: string }) => machine_id === id);
}

const readiness = async () => {
  const answer = await fetch(`${first.address}/readyz`);
  return { status: answer.status, body: await answer.json() };
};

describe('a commit whose confirmation is lost', () => {
  it('reaches all gateways, and the idempotency key returns its result', async () => {
    const renter = await first.renter('100');
    const machine_id = await first.machine({ gpu: GPU });
    // Both gateways have the machine in their caches.
    for (const service of [first, second]) expect(await isOffered(service, machine_id)).toBe(true);
    const deploy = () =>
      renter.rest('POST', '/instances', { machine_id, disk_gb: 1 }, { 'idempotency-key': 'in-doubt' });
    wire.loseNextCommit();
    const lost = await deploy();
    expect([lost.status, lost.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await isOffered(first, machine_id)).toBe(false);
    await vi.waitFor(async () => expect(await isOffered(second, machine_id)).toBe(false), PATIENCE);
    const replayed = await deploy();
    expect([replayed.status, replayed.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    const { body } = await renter.rest('GET', '/instances');
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual([replayed.body.id]);
  });

  it('reaches all gateways even if the server completes it later', async () => {
    const renter = await first.renter('100');
    const machine_id = await first.machine({ gpu: GPU });
    for (const service of [first, second]) expect(await isOffered(service, machine_id)).toBe(true);
    wire.holdNextCommit();
    expect((await renter.rest('POST', '/instances', { machine_id, disk_gb: 1 })).status).toBe(503);
    await allCaughtUp([first, second]);
    for (const service of [first, second]) expect(await isOffered(service, machine_id)).toBe(true);
    wire.deliverCommit();
    for (const service of [first, second])
      await vi.waitFor(async () => expect(await isOffered(service, machine_id)).toBe(false), PATIENCE);
  });
});

describe('a gateway', () => {
  it('is ready only once notices arrive again and everything has been read again', async () => {
    expect((await readiness()).status).toBe(200);
    wire.cutNotices();
    await vi.waitFor(async () => expect((await readiness()).status).toBe(503), PATIENCE);
    expect((await readiness()).body).toEqual({ status: 'not ready', database: 'ok', caches: 'stale' });
    // The rest of the database answers, so statements may still take long.
    await expect(first.deps.db.pool.query(`select pg_sleep(${LONG_SECONDS})`)).resolves.toBeDefined();
    wire.mendNotices();
    await vi.waitFor(async () => expect((await readiness()).status).toBe(200), PATIENCE);
    expect(first.deps.inventory.isCurrent).toBe(true);
  });

  it('gives up on a frozen database, keeps streams open, and recovers with it', async () => {
    const renter = await first.renter('100');
    const stream = await subscribe(first.address, 'subscription { accountChanged { account { balance } } }', {
      key: renter.key,
    });
    wire.freeze();
    const startedAt = performance.now();
    const answers = await Promise.all([1, 2, 3].map(() => renter.rest('GET', '/balance')));
    const elapsedMs = performance.now() - startedAt;
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(elapsedMs).toBeLessThan(GIVES_UP_WITHIN_MS);
    expect((await readiness()).body).toMatchObject({ database: 'away' });
    // By now, the gateway has also tried in vain to open a new connection for notices.
    await sleep(CONNECT_TIMEOUT_MS);
    wire.thaw();
    await vi.waitFor(async () => expect((await renter.rest('GET', '/balance')).status).toBe(200), PATIENCE);
    await vi.waitFor(async () => expect((await readiness()).status).toBe(200), PATIENCE);
    const machine_id = await first.machine({ gpu: GPU });
    expect((await renter.rest('POST', '/instances', { machine_id, disk_gb: 1 })).status).toBe(201);
    expect((await stream.next()).account).toEqual({ balance: expect.any(Number) });
    stream.abort();
  });
});
