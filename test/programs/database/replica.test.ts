import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { createDeps, type Deps } from '../../../src/compose/deps.js';
import { type Database, openDatabase } from '../../../src/database/database.js';
import { inSnapshot } from '../../../src/database/snapshot.js';
import { watchStatements } from '../../../src/database/watch-pool.js';
import { createAccount, creditAccount } from '../../../src/domain/accounts/accounts.js';
import { exportAccount } from '../../../src/domain/accounts/export-account.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { spendByDay } from '../../../src/domain/billing/spend-by-day.js';
import { statement } from '../../../src/domain/billing/statement.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { parseUsd } from '../../../src/domain/kernel/money.js';
import { TestClock, testSettings } from '../../support/clock.js';
import { openWire } from '../../support/database-wire.js';
import { startGateway } from '../../support/gateway.js';
import { scrape } from '../../support/metrics.js';
import { cleanUp } from '../../support/process.js';
import { openReplicated, openStandby, type Replicated } from '../../support/replicated.js';

/** A read that waits for a replica takes longer. */
const AT_ONCE_MS = 1_000;
/** Limits for reads from a frozen replica: one that waits until it has caught up, and one that has begun. */
const WAITS_MS = 4_000;
const FROZEN_MS = 12_000;
/** Allows for the time in which the primary serves all reads after a failure. */
const REPLICA_RETURNS = { timeout: 30_000, interval: 100 };
const FROM = 1_790_000_000n;

let servers: Replicated;
let accountId: string;
const clock = new TestClock();
const opened: Database[] = [];

beforeAll(async () => {
  servers = await openReplicated();
  const { deps } = open(null);
  accountId = (await createAccount(deps, { name: 'Renter', creditMicro: parseUsd('100')! })).id;
}, 120_000);
afterAll(async () => {
  await servers?.close();
  await cleanUp();
}, 60_000);
afterEach(async () => {
  for (const db of opened.splice(0)) await db.close();
});

interface Opened {
  deps: Deps;
  /** Number of reads by server. */
  served: object;
  /** Why the replica could not serve reads. */
  reasons: string[];
}

/** Opens the domain as a gateway that has just started, which doesn't remember earlier failures of the replica. */
function open(replicaUrl: string | null = servers.standbyUrl, primaryUrl = servers.primaryUrl): Opened {
  const db = openDatabase(primaryUrl, 'within', undefined, replicaUrl);
  opened.push(db);
  const reasons: string[] = [];
  if (db.replica !== null) db.replica.onFallback = (reason) => void reasons.push(reason);
  return { deps: createDeps(db, clock, testSettings()), served: db.replica?.served ?? {}, reasons };
}

/** Books a credit in the current second, then reads the statement of a period that ends with that second. */
async function creditAndState(deps: Deps) {
  clock.advance(10);
  const reference = `at ${clock.now()}`;
  await creditAccount(deps, accountId, { amountMicro: 1_000_000n, reference });
  clock.advance(1);
  const { movements } = await statement(deps, accountId, { from: FROM, to: clock.now() });
  return { reference, last: movements.at(-1)?.reference };
}

async function timed<T>(work: Promise<T>): Promise<{ result: T; ms: number }> {
  const startedAt = performance.now();
  return { result: await work, ms: performance.now() - startedAt };
}

describe('a replica that has caught up', () => {
  it('serves statements of past periods, including the last write', async () => {
    const { deps, served, reasons } = open();
    for (let time = 0; time < 20; time += 1) {
      const { reference, last } = await creditAndState(deps);
      expect(last).toBe(reference);
    }
    expect([served, reasons]).toEqual([{ replica: 20, primary: 0 }, []]);
  });

  it('serves past days of spend, exports and the audit, which finds a mismatch there', async () => {
    const { deps, served } = open();
    await spendByDay(deps, accountId, { from: '2026-11-01', to: '2026-11-19' });
    let text = '';
    await exportAccount(deps, accountId, async (part) => {
      text += part;
    });
    expect(JSON.parse(text).account).toMatchObject([{ id: accountId }]);
    await servers.onPrimary(`update account set credit_units = credit_units + 1 where id = '${accountId}'`);
    const { findings } = await audit(deps);
    await servers.onPrimary(`update account set credit_units = credit_units - 1 where id = '${accountId}'`);
    expect(findings).toMatchObject([{ accountId, check: 'running totals equal ledger and usage' }]);
    expect((await audit(deps)).findings).toEqual([]);
    expect(served).toEqual({ replica: 4, primary: 0 });
  });

  it('serves neither writes nor reads of the current period', async () => {
    const { deps, served } = open();
    const sent: string[] = [];
    watchStatements(deps.db.replica!.pool, {
      isFollowing: () => true,
      began: (text) => {
        sent.push(text);
        return () => {};
      },
    });
    const { id: machineId } = await deps.db.prisma.machine.findFirstOrThrow({ where: { gpu: 'rtx-4090' } });
    const { instance } = await deploy(deps, accountId, { machineId, mode: 'ON_DEMAND', diskGb: 1 });
    clock.advance(60);
    await act(deps, accountId, { id: instance.id, action: 'DESTROY' });
    await statement(deps, accountId, { from: FROM, to: null });
    await statement(deps, accountId, { from: FROM, to: clock.now() + 10n });
    await spendByDay(deps, accountId, { from: '2026-11-01' });
    expect([sent, served]).toEqual([[], { replica: 0, primary: 0 }]);
  });

  it('counts its reads in the metrics', async () => {
    const gateway = await startGateway({
      databaseUrl: servers.primaryUrl,
      databaseReplicaUrl: servers.standbyUrl,
      metricsPort: 0,
    });
    const renter = await gateway.renter();
    const query = 'query ($to: DateTime!) { statement(from: "2026-11-01T00:00:00Z", to: $to) { closingBalance } }';
    const { body } = await renter.graphql(query, { to: '2026-11-02T00:00:00Z' });
    const { find } = await scrape(gateway.metricsAddress!);
    await gateway.close();
    expect(body.errors).toBeUndefined();
    // The scrape reads the database's figures from the replica too.
    expect(find('gpu_rental_replica_reads_total', { server: 'replica' })).toBe(2);
    expect(find('gpu_rental_replica_reads_total', { server: 'primary' })).toBe(0);
  });
});

describe('the primary serves reads', () => {
  it('if the replica is behind, and stays with the primary for a while', async () => {
    const { deps, served, reasons } = open();
    await servers.onStandby('select pg_wal_replay_pause()');
    try {
      const { reference, last } = await creditAndState(deps);
      expect(last).toBe(reference);
      expect([served, reasons]).toEqual([{ replica: 0, primary: 1 }, ['it was behind the primary for 2 s']]);
      const { result, ms } = await timed(creditAndState(deps));
      expect(result.last).toBe(result.reference);
      expect(ms).toBeLessThan(AT_ONCE_MS);
      expect([served, reasons.length]).toEqual([{ replica: 0, primary: 2 }, 1]);
    } finally {
      await servers.onStandby('select pg_wal_replay_resume()');
    }
  });

  it('if a read conflicts with changes that the replica replays', async () => {
    const { deps, served, reasons } = open();
    await servers.onPrimary('create table scratch as select 1 as n');
    let attempts = 0;
    const rows = await inSnapshot(deps.db, { server: 'replica' }, async (transaction) => {
      attempts += 1;
      const altered =
        attempts === 1 && sleep(300).then(() => servers.onPrimary('alter table scratch add column m int default 2'));
      const read = transaction.query(
        `select scratch.*, pg_sleep(${attempts === 1 ? 5 : 0})::text as slept from scratch`,
      );
      await Promise.allSettled([altered, read]);
      return (await read).rows;
    });
    expect(rows).toEqual([{ n: 1, m: 2, slept: '' }]);
    const reason = 'canceling statement due to conflict with recovery';
    expect([served, reasons]).toEqual([{ replica: 0, primary: 1 }, [reason]]);
    await servers.onPrimary('drop table scratch');
  });

  it('but not the rest of an export that the replica has ended', async () => {
    const { deps, served } = open();
    let parts = 0;
    const exported = exportAccount(deps, accountId, async () => {
      parts += 1;
      if (parts === 1)
        await deps.db.replica!.pool.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where state = 'idle in transaction'`);
    });
    await expect(exported).rejects.toThrow(/connection/);
    expect(served).toEqual({ replica: 0, primary: 0 });
  });

  it.each([
    ['is unreachable', () => 'postgresql://gateway@127.0.0.1:1/gateway', /ECONNREFUSED/],
    ['belongs to another cluster', () => inject('serverUrl'), /not a replica of this database/],
    [
      'is another database',
      () => servers.standbyUrl.replace('/gateway?', '/postgres?'),
      /not a replica of this database/,
    ],
    ['is the primary itself', () => servers.primaryUrl, /not on the primary's timeline/],
  ])('if the replica %s', async (_, url, reason) => {
    const { deps, served, reasons } = open(url());
    const { result, ms } = await timed(creditAndState(deps));
    expect(result.last).toBe(result.reference);
    expect(ms).toBeLessThan(AT_ONCE_MS);
    expect([served, reasons]).toEqual([{ replica: 0, primary: 1 }, [expect.stringMatching(reason)]]);
  });

  it('if the replica freezes before or during a read', async () => {
    const wire = await openWire(new URL(servers.standbyUrl));
    const { deps, served, reasons } = open(wire.url);
    let attempts = 0;
    const count = () =>
      inSnapshot(deps.db, { server: 'replica' }, async (transaction) => {
        attempts += 1;
        if (attempts === 1) wire.freeze();
        return (await transaction.query('select 1 as n')).rows;
      });
    const during = await timed(count());
    wire.thaw();
    const { deps: fresh } = open(wire.url);
    await fresh.db.replica!.pool.query('select 1');
    wire.freeze();
    const before = await timed(creditAndState(fresh));
    wire.thaw();
    wire.cut();
    await wire.close();
    expect([during.result, served, reasons.length]).toEqual([[{ n: 1 }], { replica: 0, primary: 1 }, 1]);
    expect(during.ms).toBeLessThan(FROZEN_MS);
    expect(before.result.last).toBe(before.result.reference);
    expect(before.ms).toBeLessThan(WAITS_MS);
  });

  it('if the replica is killed', async () => {
    const { deps } = open();
    const { served, pool } = deps.db.replica!;
    await vi.waitFor(async () => {
      await creditAndState(deps);
      expect(served.replica).toBeGreaterThan(0);
    }, REPLICA_RETURNS);
    await servers.signalStandby('SIGKILL');
    // The server's sessions outlive it for a moment, in which they still serve reads if they have caught up.
    const during = await timed(creditAndState(deps));
    expect(during.result.last).toBe(during.result.reference);
    expect(during.ms).toBeLessThan(WAITS_MS);
    await vi.waitFor(() => expect(pool.totalCount).toBe(0), REPLICA_RETURNS);
    const before = { ...served };
    const { result, ms } = await timed(creditAndState(deps));
    expect(result.last).toBe(result.reference);
    expect(ms).toBeLessThan(AT_ONCE_MS);
    expect(served).toEqual({ ...before, primary: before.primary + 1 });
    await vi.waitFor(() => servers.onStandby('select 1'), REPLICA_RETURNS);
  });

  it('if the replica follows a former primary, even if it has come further', async () => {
    const second = await openStandby(servers.primaryUrl);
    onTestFinished(() => second.release());
    await servers.onStandby('select pg_promote()');
    await servers.onPrimary('create table scratch as select generate_series(1, 100000) as n');
    const { deps, served, reasons } = open(second.url, servers.standbyUrl);
    await audit(deps);
    expect([served, reasons]).toEqual([{ replica: 0, primary: 1 }, ["it is not on the primary's timeline, 2"]]);
  });
});
