import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { accountState, adjustAccount, creditAccount, rebuildAccount } from '../../../src/domain/accounts/accounts.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { readBalance } from '../../../src/domain/billing/balance.js';
import { settleDue } from '../../../src/domain/billing/settlement.js';
import { statement } from '../../../src/domain/billing/statement.js';
import { instanceHistory } from '../../../src/domain/instances/instance-history.js';
import {
  act,
  activeInstances,
  deploy,
  earlyExitCostOf,
  findInstance,
  listInstances,
  reservedUntilOf,
  usageOf,
} from '../../../src/domain/instances/instances.js';
import type { PricingMode } from '../../../src/domain/kernel/price-rule.js';
import { dateOf, formatInstant, instantOf } from '../../../src/domain/kernel/time.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

const DAY = 86_400n;
/**
 * Rate of the rtx-4090 in the first snapshot, in micro-USD per hour: 0.64 × 0.70 = 0.448 USD, rounded down to the cent.
 */
const RATE_4090 = 440_000n;
/** Cost of 1 GB of disk at the default rate. */
const RATE_DISK = 140n;

let domain: TestDomain;
beforeAll(async () => {
  domain = await openTestDomain();
});
afterAll(() => domain.close());
beforeEach(() => domain.clock.set('2027-03-10T12:00:00Z'));

async function rent(accountId: string, options: { gpu?: string; mode?: PricingMode; numGpus?: number } = {}) {
  const machineId = await domain.machine(options.gpu, { numGpus: options.numGpus ?? 1 });
  const input = { machineId, diskGb: 1, mode: options.mode ?? ('ON_DEMAND' as const) };
  const { instance } = await deploy(domain, accountId, input);
  return instance.id;
}

async function look(accountId: string, id: string) {
  return (await findInstance(domain, accountId, id))!;
}

const stop = (accountId: string, id: string) => act(domain, accountId, { id, action: 'STOP' });
const start = (accountId: string, id: string) => act(domain, accountId, { id, action: 'START' });
const destroy = (accountId: string, id: string) => act(domain, accountId, { id, action: 'DESTROY' });

describe('billing by the second', () => {
  test('reports no exhaustion for credit that would last beyond the year 9999', async () => {
    const account = await domain.account('50000');
    const id = await rent(account);
    domain.clock.advance(60);
    expect((await stop(account, id)).instance.status).toBe('STOPPED');
    expect((await accountState(domain, account)).exhaustsAt).toBeNull();
    expect((await audit(domain)).findings).toEqual([]);
    expect((await rebuildAccount(domain, account)).exhaustsAt).toBeNull();
  });

  test('charges nothing for an instance created and destroyed in the same second', async () => {
    const account = await domain.account();
    const id = await rent(account);
    await destroy(account, id);
    expect(await readBalance(domain, account)).toMatchObject({ balance: 100_000_000n, monthSpend: 0n });
    const entries = await domain.db.prisma.ledgerEntry.findMany({ where: { instanceId: id }, orderBy: { id: 'asc' } });
    expect(entries.map((entry) => [entry.id, entry.units])).toEqual([
      [`${id}/disk/1`, 0n],
      [`${id}/gpu/1`, 0n],
    ]);
  });

  test('charges for one second of the cheapest GPU and rounds the displayed amount down', async () => {
    const account = await domain.account('1');
    const id = await rent(account, { gpu: 'p4', mode: 'INTERRUPTIBLE' });
    domain.clock.advance(1);
    await stop(account, id);
    const entry = await domain.db.prisma.ledgerEntry.findUniqueOrThrow({ where: { id: `${id}/gpu/1` } });
    // One second at 0.005 USD/h costs 5,000 micro-USD/h × 1 s = 5,000 units of 1/3600 micro-USD = 1.388… micro-USD.
    expect(entry.units).toBe(-5_000n);
    expect((await readBalance(domain, account)).balance).toBe(1_000_000n - 1n);
  });

  test('charges five years of the most expensive machine exactly to the micro-USD', async () => {
    const account = await domain.account('1000000');
    await creditAccount(domain, account, { amountMicro: 1_000_000_000_000n });
    await creditAccount(domain, account, { amountMicro: 1_000_000_000_000n });
    const id = await rent(account, { gpu: 'gb200', numGpus: 8 });
    const from = domain.clock.now();
    domain.clock.set('2032-03-10T12:00:00Z');
    const seconds = domain.clock.now() - from;
    // Five years that include the leap days of 2028 and 2032.
    expect(seconds).toBe((5n * 365n + 2n) * DAY);
    const usage = usageOf(await look(account, id), domain.clock.now());
    expect(usage.gpuCost).toBe((8n * 5_950_000n * seconds) / 3_600n);
    expect(usage.total).toBe(((8n * 5_950_000n + RATE_DISK) * seconds) / 3_600n);
    expect((await readBalance(domain, account)).balance).toBe(3_000_000_000_000n - usage.total);
    await destroy(account, id);
  });

  test('never lowers the amount charged when the clock steps back', async () => {
    const account = await domain.account();
    const id = await rent(account);
    domain.clock.advance(3_600);
    await stop(account, id);
    const { balance, monthSpend } = await readBalance(domain, account);
    domain.clock.advance(-1_800);
    expect(await readBalance(domain, account)).toMatchObject({ balance, monthSpend });
    await start(account, id);
    domain.clock.advance(-600);
    await destroy(account, id);
    expect(await readBalance(domain, account)).toMatchObject({ balance, monthSpend });
    const intervals = await domain.db.prisma.usageInterval.findMany({ where: { instanceId: id, resource: 'GPU' } });
    expect(intervals.every(({ startedAt, endedAt }) => endedAt! >= startedAt)).toBe(true);
  });
});

describe('monthly spend', () => {
  test.each([
    ['a month', '2027-04-30T23:59:50Z'],
    ['a leap day', '2028-02-29T23:59:50Z'],
    ['a year', '2027-12-31T23:59:50Z'],
  ])('includes only usage after midnight at the end of %s', async (_name, before) => {
    domain.clock.set(before);
    const account = await domain.account();
    const id = await rent(account);
    domain.clock.advance(10);
    const rate = RATE_4090 + RATE_DISK;
    // In the first second of the new month, all usage so far belongs to the old month.
    expect((await readBalance(domain, account)).monthSpend).toBe(0n);
    domain.clock.advance(3_600);
    expect((await readBalance(domain, account)).monthSpend).toBe((rate * 3_610n) / 3_600n - (rate * 10n) / 3_600n);
    await stop(account, id);
    expect((await readBalance(domain, account)).monthSpend).toBe((rate * 3_610n) / 3_600n - (rate * 10n) / 3_600n);
  });

  test('includes entries booked in the first second of the month', async () => {
    domain.clock.set('2027-04-30T22:00:00Z');
    const account = await domain.account();
    const id = await rent(account, { mode: 'RESERVED' });
    domain.clock.set('2027-05-01T00:00:00Z');
    const { instance } = await destroy(account, id);
    const usage = ((RATE_4090 * 65n) / 100n + RATE_DISK) * 7_200n;
    const monthSpend = (usage + instance.earlyExitUnits) / 3_600n - usage / 3_600n;
    expect(monthSpend).toBeGreaterThan(0n);
    expect((await readBalance(domain, account)).monthSpend).toBe(monthSpend);
    const other = await rent(account, { gpu: 'p4' });
    domain.clock.advance(3_600);
    const later = (usage + instance.earlyExitUnits + (10_000n + RATE_DISK) * 3_600n) / 3_600n - usage / 3_600n;
    expect((await readBalance(domain, account)).monthSpend).toBe(later);
    await stop(account, other);
    expect((await audit(domain)).findings).toEqual([]);
  });

  test('excludes earlier months even if nothing was read in them', async () => {
    domain.clock.set('2027-01-15T00:00:00Z');
    const account = await domain.account();
    await rent(account, { gpu: 'p4' });
    domain.clock.set('2027-03-01T01:00:00Z');
    const start = instantOf(new Date('2027-01-15T00:00:00Z'));
    const rate = 10_000n + RATE_DISK;
    const atMonth = instantOf(new Date('2027-03-01T00:00:00Z')) - start;
    const { monthSpend } = await readBalance(domain, account);
    expect(monthSpend).toBe((rate * (atMonth + 3_600n)) / 3_600n - (rate * atMonth) / 3_600n);
  });
});

describe('exhaustion', () => {
  /** Creates an account with enough credit for 10,000 s of a rented machine and its disk, less 1 unit. */
  async function almostExhausted() {
    const account = await domain.account('1.222');
    const id = await rent(account);
    const from = domain.clock.now();
    const rate = RATE_4090 + RATE_DISK;
    const seconds = (1_222_000n * 3_600n + rate - 1n) / rate;
    return { account, id, from, exhaustsAt: from + seconds };
  }

  test('stops instances in the first whole second without credit, even if noticed late', async () => {
    const { account, id, exhaustsAt } = await almostExhausted();
    expect((await accountState(domain, account)).exhaustsAt).toBe(exhaustsAt);
    domain.clock.set(exhaustsAt - 1n);
    expect((await readBalance(domain, account)).balance).toBeGreaterThan(0n);
    domain.clock.set(exhaustsAt + 3n * DAY);
    const instance = await look(account, id);
    expect(instance).toMatchObject({ status: 'STOPPED', stopReason: 'BALANCE_EXHAUSTED' });
    expect(instantOf(instance.stoppedAt!)).toBe(exhaustsAt);
    expect(await accountState(domain, account)).toMatchObject({ exhaustsAt, diskDeleteAt: exhaustsAt + 7n * DAY });
    // In that second, the debt is less than one second's cost. After that, only the disk is charged for three days.
    const debtAt = 1_222_000n * 3_600n - (RATE_4090 + RATE_DISK) * (exhaustsAt - instantOf(instance.createdAt));
    expect(-debtAt).toBeLessThan(RATE_4090 + RATE_DISK);
    const { balance } = await readBalance(domain, account);
    expect(balance).toBe(1_222_000n - (1_222_000n * 3_600n - debtAt + RATE_DISK * 3n * DAY) / 3_600n);
  });

  test('is averted by a credit in the same second, whether or not anything was read', async () => {
    for (const reads of [0, 3]) {
      const { account, id, exhaustsAt } = await almostExhausted();
      domain.clock.set(exhaustsAt);
      for (let read = 0; read < reads; read += 1) await look(account, id);
      await settleDue(domain);
      await creditAccount(domain, account, { amountMicro: 1_000_000n });
      domain.clock.advance(60);
      expect(await look(account, id)).toMatchObject({ status: 'RUNNING' });
    }
  });

  test('is not undone by a credit one second later, even if nothing was read', async () => {
    const { account, id, exhaustsAt } = await almostExhausted();
    domain.clock.set(exhaustsAt + 1n);
    await creditAccount(domain, account, { amountMicro: 1_000_000n });
    expect(await look(account, id)).toMatchObject({ status: 'STOPPED', stopReason: 'BALANCE_EXHAUSTED' });
    // The credit ends the grace period and starts nothing.
    expect(await accountState(domain, account)).toMatchObject({ liveInstances: 1 });
    domain.clock.advance(8n * DAY);
    expect(await look(account, id)).toMatchObject({ status: 'STOPPED' });
  });

  test('destroys instances after the grace period unless the balance is above zero', async () => {
    const { account, id, exhaustsAt } = await almostExhausted();
    domain.clock.set(exhaustsAt + 6n * DAY);
    const { balance } = await readBalance(domain, account);
    // A balance of exactly zero is not above zero.
    const row = await domain.db.prisma.account.findUniqueOrThrow({ where: { id: account } });
    expect(balance).toBeLessThan(0n);
    await creditAccount(domain, account, { amountMicro: 1n });
    domain.clock.set(exhaustsAt + 7n * DAY);
    expect(await look(account, id)).toMatchObject({ status: 'STOPPED' });
    domain.clock.advance(1);
    const gone = await look(account, id);
    expect(gone).toMatchObject({ status: 'DESTROYED' });
    expect(instantOf(gone.destroyedAt!)).toBe(exhaustsAt + 7n * DAY);
    expect(instantOf(row.exhaustedAt!)).toBe(exhaustsAt);
    // The debt remains but no longer grows.
    const debt = await readBalance(domain, account);
    domain.clock.advance(40n * DAY);
    expect((await readBalance(domain, account)).balance).toBe(debt.balance);
  });

  test("isn't ended by a credit that brings the balance to exactly zero", async () => {
    // The instance runs for 3,600 s at a whole number of micro-USD per second, so that the balance can be exactly zero.
    const account = await domain.account('10');
    const id = await rent(account);
    await stop(account, id);
    await adjustAccount(domain, account, { amountMicro: -10_000_000n, note: 'to nothing' });
    const at = domain.clock.now();
    domain.clock.advance(3_600);
    expect(await accountState(domain, account)).toMatchObject({ exhaustsAt: at, balance: -RATE_DISK });
    await creditAccount(domain, account, { amountMicro: RATE_DISK });
    expect(await accountState(domain, account)).toMatchObject({
      balance: 0n,
      exhaustsAt: at,
      diskDeleteAt: at + 7n * DAY,
    });
    await creditAccount(domain, account, { amountMicro: 1_000_000n });
    const saved = await accountState(domain, account);
    expect(saved.exhaustsAt).toBeGreaterThan(domain.clock.now());
  });

  test.each<[string, (accountId: string, id: string) => Promise<unknown>]>([
    ['the instance', look],
    ['the active instances', async (account) => (await activeInstances(domain, account))[0]],
    [
      'the history',
      async (account) => (await instanceHistory(domain, account, { position: null, take: 1 })).instances[0],
    ],
    ['the operator’s list of the account’s instances', async (account) => (await listInstances(domain, account))[0]],
    [
      'the operator’s list of all instances',
      async (_, id) => (await listInstances(domain, null)).find((row) => row.id === id),
    ],
  ])('is settled by the first read of %s', async (_name, read) => {
    const { account, id, exhaustsAt } = await almostExhausted();
    domain.clock.set(exhaustsAt + 100n);
    const row = { status: 'STOPPED', stopReason: 'BALANCE_EXHAUSTED', stoppedAt: dateOf(exhaustsAt) };
    expect(await read(account, id)).toMatchObject(row);
  });

  test('is reflected in a statement even if nothing has been read since', async () => {
    const { account, from, exhaustsAt } = await almostExhausted();
    domain.clock.set(exhaustsAt + 3_600n);
    const { lines } = await statement(domain, account, { from, to: null });
    expect(lines.map(({ kind, seconds }) => [kind, seconds])).toEqual([
      ['GPU', exhaustsAt - from],
      ['DISK', exhaustsAt + 3_600n - from],
    ]);
  });

  test('stops all running instances on any number of machines and restarts none', async () => {
    const account = await domain.account('2');
    const running = [await rent(account), await rent(account), await rent(account, { gpu: 'p4' })];
    const stopped = await rent(account, { gpu: 'p4' });
    await stop(account, stopped);
    const exhaustsAt = (await accountState(domain, account)).exhaustsAt!;
    domain.clock.set(exhaustsAt + 10n);
    await settleDue(domain);
    for (const id of running) {
      expect(await look(account, id)).toMatchObject({ status: 'STOPPED', stopReason: 'BALANCE_EXHAUSTED' });
    }
    expect(await look(account, stopped)).toMatchObject({ stopReason: 'USER' });
    await expect(start(account, running[0]!)).rejects.toMatchObject({ code: 'action_failed' });
  });
});

describe('a reserved term', () => {
  const TERM = instantOf(new Date('2028-02-29T12:00:00Z')) - instantOf(new Date('2027-11-30T12:00:00Z'));
  const DISCOUNT = RATE_4090 - (RATE_4090 * 65n) / 100n;

  test('ends no later than the last day of February and is extended by stopped seconds', async () => {
    domain.clock.set('2027-11-30T12:00:00Z');
    const account = await domain.account('5000');
    const id = await rent(account, { mode: 'RESERVED' });
    const until = async () => formatInstant(reservedUntilOf(await look(account, id), domain.clock.now())!);
    expect(await until()).toBe('2028-02-29T12:00:00Z');
    domain.clock.advance(DAY);
    await stop(account, id);
    domain.clock.advance(2n * DAY);
    expect(await until()).toBe('2028-03-02T12:00:00Z');
    await start(account, id);
    domain.clock.advance(10n);
    expect(await until()).toBe('2028-03-02T12:00:00Z');
  });

  test.each([
    ['costs the full discount if ended one second early', TERM - 1n, DISCOUNT * (TERM - 1n)],
    ['costs nothing extra if ended exactly on time', TERM, 0n],
    ['costs nothing extra if ended late', TERM + 5n, 0n],
  ])('%s', async (_name, after, units) => {
    domain.clock.set('2027-11-30T12:00:00Z');
    const account = await domain.account('5000');
    const id = await rent(account, { mode: 'RESERVED' });
    domain.clock.advance(after);
    const cost = earlyExitCostOf(await look(account, id), domain.clock.now());
    expect(cost).toBe((units + 3_599n) / 3_600n);
    const { instance } = await destroy(account, id);
    expect(instance.earlyExitUnits).toBe(units);
    const entry = await domain.db.prisma.ledgerEntry.findUnique({ where: { id: `${id}/early-exit` } });
    expect(entry?.units ?? 0n).toBe(-units);
    const reserved = (RATE_4090 * 65n) / 100n + RATE_DISK;
    expect((await readBalance(domain, account)).balance).toBe(5_000_000_000n - (reserved * after + units) / 3_600n);
  });

  test("can't be ended early without enough balance, except when credit runs out", async () => {
    const account = await domain.account('0.45');
    const id = await rent(account, { mode: 'RESERVED' });
    // At 0.286 USD/h plus disk, 0.3815 of 0.45 USD is spent after 4,800 s, and the discount of 0.154 USD/h totals
    // 0.2053.
    domain.clock.advance(4_800);
    await expect(destroy(account, id)).rejects.toMatchObject({
      code: 'action_failed',
      message: expect.stringContaining('0.205334'),
    });
    expect(await look(account, id)).toMatchObject({ status: 'RUNNING' });
    domain.clock.advance(30n * DAY);
    const gone = await look(account, id);
    expect(gone.status).toBe('DESTROYED');
    expect(gone.earlyExitUnits).toBe(DISCOUNT * gone.gpuSeconds);
    expect(gone.gpuSeconds).toBe((450_000n * 3_600n + 286_139n) / 286_140n);
  });
});

describe('a write', () => {
  /** Locks a row while `work` runs, as another write in progress would. */
  async function whileLocked<T>(table: 'account' | 'machine', id: string, work: () => Promise<T>): Promise<T> {
    const client = await domain.db.pool.connect();
    try {
      await client.query('begin');
      await client.query(`select 1 from ${table} where id = $1 for no key update`, [id]);
      return await work();
    } finally {
      await client.query('rollback');
      client.release();
    }
  }

  async function isLocked(account: string): Promise<boolean> {
    const free = `select 1 from account where id = $1 for no key update skip locked`;
    return (await domain.db.pool.query(free, [account])).rowCount === 0;
  }

  /** Returns how many writes to this database are waiting for a lock. */
  async function waiting(): Promise<number> {
    const { rows } = await domain.db.pool.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows[0]!.n;
  }

  test.each([
    ['a stop', stop],
    ['a destroy', destroy],
  ])('takes effect in the second in which it acquires its locks: %s', async (_, end) => {
    const account = await domain.account();
    const id = await rent(account);
    const from = domain.clock.now();
    domain.clock.advance(10);
    const { ending } = await whileLocked('account', account, async () => {
      const ending = end(account, id);
      await expect.poll(waiting).toBe(1);
      domain.clock.advance(50);
      return { ending };
    });
    const { instance } = await ending;
    expect(instantOf(instance.stoppedAt!)).toBe(from + 60n);
    expect((await readBalance(domain, account)).monthSpend).toBe(((RATE_4090 + RATE_DISK) * 60n) / 3_600n);
  });

  test('locks accounts in ascending id order so that mutual preemptions never deadlock', async () => {
    const [low, high] = [await domain.account(), await domain.account()].sort() as [string, string];
    for (const [requester, holder] of [
      [low, high],
      [high, low],
    ] as const) {
      const machineId = await domain.machine();
      await deploy(domain, holder, { machineId, diskGb: 1, mode: 'INTERRUPTIBLE' });
      const { taking } = await whileLocked('account', low, async () => {
        const taking = deploy(domain, requester, { machineId, diskGb: 1 });
        await expect.poll(waiting).toBe(1);
        expect(await isLocked(high)).toBe(false);
        return { taking };
      });
      expect((await taking).instance.status).toBe('RUNNING');
    }
    expect((await audit(domain)).findings).toEqual([]);
  });

  test('rechecks the machine if another account rented it while the write was waiting', async () => {
    const machineId = await domain.machine();
    const [ann, bob] = [await domain.account(), await domain.account()];
    const { bobs, anns } = await whileLocked('machine', machineId, async () => {
      const bobs = deploy(domain, bob, { machineId, diskGb: 1, mode: 'INTERRUPTIBLE' });
      await expect.poll(waiting).toBe(1);
      // No instance holds the machine when Ann's deploy is checked.
      const anns = deploy(domain, ann, { machineId, diskGb: 1 });
      await expect.poll(waiting).toBe(2);
      return { bobs, anns };
    });
    const lost = (await bobs).instance;
    expect((await anns).instance.status).toBe('RUNNING');
    expect(await look(bob, lost.id)).toMatchObject({ status: 'STOPPED', stopReason: 'PREEMPTED' });
    expect((await audit(domain)).findings).toEqual([]);
  });

  test("treats a machine as free once its holder's credit runs out, even before a read", async () => {
    const machineId = await domain.machine();
    const ann = await domain.account();
    const annRents = async () => (await deploy(domain, ann, { machineId, diskGb: 1 })).instance.id;
    for (const take of ['deploy', 'start'] as const) {
      const stopped = await annRents();
      await stop(ann, stopped);
      domain.clock.advance(1);
      const bob = await domain.account('0.5');
      const bobs = (await deploy(domain, bob, { machineId, diskGb: 1 })).instance.id;
      const { exhaustsAt } = await accountState(domain, bob);
      domain.clock.set(exhaustsAt!);
      // A credit may still arrive in that second.
      await expect(annRents()).rejects.toMatchObject({ code: 'deploy_failed' });
      domain.clock.advance(3_600);
      const taken = take === 'deploy' ? await annRents() : (await start(ann, stopped)).instance.id;
      const row = await domain.db.prisma.instance.findUniqueOrThrow({ where: { id: bobs } });
      expect(row).toMatchObject({ status: 'STOPPED', stopReason: 'BALANCE_EXHAUSTED' });
      expect(instantOf(row.stoppedAt!)).toBe(exhaustsAt);
      await destroy(ann, taken);
      domain.clock.advance(1);
    }
    expect((await audit(domain)).findings).toEqual([]);
  });
});

describe('the ledger', () => {
  test('is append-only', async () => {
    await domain.account();
    for (const sql of [
      'update ledger_entry set units = 1',
      'delete from ledger_entry',
      'truncate ledger_entry cascade',
    ]) {
      await expect(domain.db.pool.query(sql)).rejects.toThrow('immutable');
    }
  });

  test('books each reference only once, even with concurrent requests', async () => {
    const account = await domain.account('1');
    const payment = { amountMicro: 5_000_000n, reference: 'invoice-7', note: 'bank transfer' };
    await Promise.all(Array.from({ length: 8 }, () => creditAccount(domain, account, payment)));
    expect((await readBalance(domain, account)).balance).toBe(6_000_000n);
    const other = creditAccount(domain, account, { ...payment, amountMicro: 5_000_001n });
    await expect(other).rejects.toMatchObject({ code: 'invalid_request', field: 'reference' });
  });

  test('binds a reference to one payment of one account, even with concurrent requests', async () => {
    const accounts = await Promise.all(Array.from({ length: 8 }, () => domain.account('1')));
    const refused = { code: 'invalid_request', field: 'reference' };
    let holder = '';
    const payment = { amountMicro: 5_000_000n, reference: 'wire-4', note: 'bank transfer' };
    for (const reference of ['wire-0', 'wire-1', 'wire-2', 'wire-3', payment.reference]) {
      const booking = (id: string) => creditAccount(domain, id, { ...payment, reference }).then(() => id);
      const results = await Promise.allSettled(accounts.map(booking));
      const booked = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      expect(booked).toHaveLength(1);
      holder = booked[0]!;
      for (const result of results) {
        if (result.status === 'fulfilled') continue;
        expect(result.reason).toMatchObject({ ...refused, message: 'reference was already used for another account' });
      }
    }
    const balances = await Promise.all(accounts.map(async (id) => (await readBalance(domain, id)).balance));
    expect(balances.reduce((sum, balance) => sum + balance, 0n)).toBe(8_000_000n + 5n * 5_000_000n);
    // The same account can't use the reference for another kind of entry either.
    const adjusted = adjustAccount(domain, holder, payment);
    await expect(adjusted).rejects.toMatchObject({
      ...refused,
      message: 'reference was already used for a movement of another kind',
    });
    const { balance } = await readBalance(domain, holder);
    await creditAccount(domain, holder, payment);
    expect((await readBalance(domain, holder)).balance).toBe(balance);
  });

  test('counts adjustments of either sign as credit, never as spend', async () => {
    const account = await domain.account('1');
    await adjustAccount(domain, account, { amountMicro: -250_000n, note: 'double refund' });
    expect(await readBalance(domain, account)).toMatchObject({ balance: 750_000n, monthSpend: 0n });
    await expect(adjustAccount(domain, account, { amountMicro: 0n })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });
});
