import { setImmediate } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openDatabase } from '../../../src/database/database.js';
import { DUE_WORK, type Notice } from '../../../src/database/notices.js';
import { createApiKey } from '../../../src/domain/accounts/api-keys.js';
import { whenDue } from '../../../src/domain/kernel/background.js';
import { type SealingKeys, sealingKey } from '../../../src/domain/kernel/sealing.js';
import type { Instant } from '../../../src/domain/kernel/time.js';
import { recordKeyNetworks } from '../../../src/domain/webhooks/key-networks.js';
import { emitTimedEvents } from '../../../src/domain/webhooks/notices.js';
import { createWebhook, redeliver, testWebhook } from '../../../src/domain/webhooks/webhooks.js';
import { TestClock } from '../../support/clock.js';
import { createTestDatabase } from '../../support/database.js';
import { type DatabaseWire, openWire } from '../../support/database-wire.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

const INTERVAL_MS = 500;
const PATIENCE = { timeout: 30_000, interval: 10 };

let url: string;
let wire: DatabaseWire;
let domain: TestDomain;
/** Stands in for another program, whose connection bypasses the wire. */
let another: pg.Client;

beforeAll(async () => {
  // The test controls when intervals elapse and the clock against which connection probes are timed.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  url = await createTestDatabase();
  wire = await openWire(new URL(url));
  const opened = await openTestDomain({}, undefined, { url: wire.url, clock: new TestClock() });
  domain = { ...opened, sealingKeys: async (): Promise<SealingKeys> => [sealingKey('ab'.repeat(32))] };
  another = new pg.Client({ connectionString: url });
  await another.connect();
});
beforeEach(() => domain.db.notices.caughtUp());
afterAll(async () => {
  await another?.end();
  await domain?.close();
  await wire?.close();
  vi.useRealTimers();
});

describe('due work', () => {
  let checks = 0;
  let answer: Instant | null | Error = null;
  let stop = async () => {};

  beforeEach(async () => {
    [checks, answer] = [0, null];
    // A previous test may have blocked the connection's probes.
    await pass();
    const check = async () => {
      checks += 1;
      if (answer instanceof Error) throw answer;
      return answer;
    };
    ({ stop } = whenDue(domain, INTERVAL_MS, check, () => {}));
    await pass();
    expect(checks).toBe(1);
  });
  afterEach(() => stop());

  /** Lets intervals elapse. Each connection probe is answered before the next one. */
  async function pass(intervals = 1): Promise<void> {
    for (let passed = 0; passed < intervals; passed += 1) {
      await vi.advanceTimersByTimeAsync(INTERVAL_MS);
      if (domain.db.notices.isListening) await domain.db.notices.caughtUp().catch(() => {});
    }
  }

  it('is not checked again before it is due, even if the clock is set', async () => {
    answer = domain.clock.now() + 600n;
    domain.db.notices.publish([DUE_WORK]);
    await pass(10);
    expect(checks).toBe(2);
    domain.clock.advance(599);
    await pass(2);
    expect(checks).toBe(2);
    domain.clock.advance(-3_600);
    await pass(2);
    domain.clock.advance(3_601);
    await pass();
    expect(checks).toBe(3);
    // The work is not done yet.
    await pass(2);
    expect(checks).toBe(5);
  });

  it("is checked at the next interval after a failure or this gateway's own notice", async () => {
    await pass(3);
    expect(checks).toBe(1);
    domain.db.notices.publish([DUE_WORK]);
    answer = new Error('away');
    await pass();
    expect(checks).toBe(2);
    answer = null;
    await pass(3);
    expect(checks).toBe(3);
  });

  it("is checked right after another program's notice, but only once per interval", async () => {
    await pass();
    await another.query(`select pg_notify('gateway', '{"table":"due_work"}')`);
    // Polling would let intervals elapse.
    await domain.db.notices.caughtUp();
    expect(checks).toBe(2);
    // The next check waits for its interval.
    await another.query(`select pg_notify('gateway', '{"table":"due_work"}')`);
    await domain.db.notices.caughtUp();
    expect(checks).toBe(2);
    await pass(3);
    expect(checks).toBe(3);
  });

  it('is checked when another gateway disconnects, since its last notices may be lost', async () => {
    const peer = openDatabase(url, 'after');
    await peer.notices.ready();
    await pass(2);
    const before = checks;
    await peer.close();
    const connections = `select count(*)::int as count from pg_stat_activity
      where application_name = 'gpu-rental-gateway notices' and datname = current_database()`;
    for (let left = 2; left > 1; left = (await another.query(connections)).rows[0].count) await setImmediate();
    await pass(3);
    expect(checks).toBeGreaterThan(before);
  });

  it('is checked at each interval while notices are down, and once when they resume', async () => {
    await pass();
    wire.cutNotices();
    await expect.poll(() => domain.db.notices.isListening, PATIENCE).toBe(false);
    const before = checks;
    await pass(3);
    expect(checks).toBeGreaterThanOrEqual(before + 3);
    wire.mendNotices();
    await expect.poll(() => domain.db.notices.isListening, PATIENCE).toBe(true);
    const resumedAt = checks;
    await pass(5);
    expect(checks).toBe(resumedAt + 1);
  });

  it('is checked when the notification connection has been silent for a second', async () => {
    await pass(2);
    wire.holdNotices();
    try {
      const before = checks;
      await vi.advanceTimersByTimeAsync(2 * INTERVAL_MS);
      await vi.advanceTimersByTimeAsync(INTERVAL_MS);
      expect(domain.db.notices.isListening).toBe(true);
      expect(checks).toBeGreaterThan(before);
    } finally {
      wire.releaseNotices();
    }
    await domain.db.notices.caughtUp();
  });

  it('is checked occasionally even without any notice', async () => {
    await pass(2 * 20 + 1);
    expect(checks).toBe(3);
  });
});

describe('a write', () => {
  let received: { notice: Notice; isOwn: boolean }[] = [];
  let unsubscribe = () => {};
  let account = '';
  let webhook = '';
  let key = '';

  beforeAll(async () => {
    account = await domain.account('50');
    webhook = (await createWebhook(domain, account, { url: 'https://receiver.test/' })).webhook.id;
    key = (await createApiKey(domain, account)).apiKey.id;
  });
  beforeEach(() => {
    unsubscribe = domain.db.notices.subscribe({ onNotice: (notice, isOwn) => received.push({ notice, isOwn }) });
    received = [];
  });
  afterEach(() => unsubscribe());

  it.each<[string, string]>([
    ['a webhook', `update webhook set events = '{instance.stopped}' where id = $2`],
    ['a paused webhook', 'update webhook set paused_at = now() where id = $2'],
    ['a webhook that is ready again', 'update webhook set wait_until = now() where id = $2'],
    [
      'a delivery',
      `with made as (insert into event (id, account_id, type, subject, at, data, xid) values ('evt-1', $1, 'webhook.test', '', now(), '{}', 1)
         returning sequence) insert into webhook_delivery (webhook_id, sequence, subject, next_at) select $2, sequence, '', now() from made`,
    ],
    ['a retried delivery', 'update webhook_delivery set next_at = now() where webhook_id = $2'],
    ['a low-balance threshold', 'insert into balance_notice (account_id, below_micro) values ($1, 1000000)'],
    [
      'a session',
      `insert into console_session (token_hash, key_id, created_at, expires_at) values ('a', $3, now(), now())`,
    ],
    ["a key's expiry", 'update api_key set expires_at = now() where id = $3'],
    ["the account's deadline", 'update account set deadline_at = now() where id = $1'],
    ['the end of credit', 'update account set due_at = now() where id = $1'],
  ])('by another program sends a notice when it makes %s due earlier', async (_what, text) => {
    // PostgreSQL must know each parameter's type.
    const typed = `with given as (select $1::text, $2::text, $3::text) ${/^with /.test(text) ? `, ${text.slice(5)}` : text}`;
    await another.query(typed, [account, webhook, key]);
    await domain.db.notices.caughtUp();
    const tables = received.map(({ notice }) => notice.table);
    expect(tables.some((table) => table === 'due_work' || table === 'account')).toBe(true);
  });

  it('by this gateway also sends a notice for events unrelated to rentals', async () => {
    const owner = await domain.account('5');
    const { id } = (await createWebhook(domain, owner, { url: 'https://receiver.test/' })).webhook;
    const { apiKey: used } = await createApiKey(domain, owner);
    const isAnnounced = async (work: () => Promise<unknown>) => {
      received = [];
      await work();
      return received.some(({ notice, isOwn }) => isOwn && notice.table === 'due_work');
    };
    expect(await isAnnounced(() => testWebhook(domain, owner, id))).toBe(true);
    const { rows } = await another.query('select id from event where account_id = $1', [owner]);
    expect(await isAnnounced(() => redeliver(domain, owner, id, rows[0].id))).toBe(true);
    const place = { accountId: owner, keyId: used.id, address: '192.0.2.1', at: domain.clock.now() };
    expect(await isAnnounced(() => recordKeyNetworks(domain, [{ ...place, network: '192.0.0.0/16' }]))).toBe(false);
    expect(await isAnnounced(() => recordKeyNetworks(domain, [{ ...place, network: '198.51.0.0/16' }]))).toBe(true);
    await another.query('insert into balance_notice (account_id, below_micro) values ($1, 10000000)', [owner]);
    expect(await isAnnounced(() => emitTimedEvents(domain))).toBe(true);
    // The event is emitted only once.
    expect(await isAnnounced(() => emitTimedEvents(domain))).toBe(false);
  });
});
