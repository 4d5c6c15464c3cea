import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { creditAccount, rebuildAccount } from '../../../src/domain/accounts/accounts.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { readBalance } from '../../../src/domain/billing/balance.js';
import { spendByDay } from '../../../src/domain/billing/spend-by-day.js';
import { statement } from '../../../src/domain/billing/statement.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { shownSpend } from '../../../src/domain/kernel/money.js';
import { dateOf, dateOfDay, formatDay, instantOf } from '../../../src/domain/kernel/time.js';
import { withoutTimers } from '../../support/background.js';
import type { Renter } from '../../support/gateway.js';
import { addHistory } from '../../support/long-history.js';
import { rowsTouched } from '../../support/rows-touched.js';
import { type Service, startService } from '../../support/service.js';

const COUNT = 3_000;
const RESTARTS = 2_000;
const DAY = 86_400n;

withoutTimers();
let service: Service;
let renter: Renter;
/** A stopped instance that was started many times. */
let restarted: string;

beforeAll(async () => {
  service = await startService();
  renter = await service.renter('1000000');
  // These tests don't cover due_at, since nothing ever becomes due.
  const machines = [await service.machine({ gpu: 'l4' }), await service.machine({ gpu: 'l4' })] as const;
  await addHistory(service, renter.accountId, machines, {
    count: COUNT,
    restarts: RESTARTS,
  });
  const [row] = await service.sql(`select id from instance where account_id = $1 and status = 'STOPPED'`, [
    renter.accountId,
  ]);
  restarted = String(row!.id);
});
afterAll(() => service?.close());

const touchedBy = (work: () => Promise<unknown>) => rowsTouched(service.deps.db.pool, work);

// biome-ignore lint/suspicious/noExplicitAny: responses of any shape
async function queryData(query: string): Promise<any> {
  const { body } = await renter.graphql(query);
  expect(body.errors).toBeUndefined();
  return body.data;
}

/** Returns the audit's findings, except those about due_at. */
async function auditFindings(): Promise<string[]> {
  const { findings } = await audit(service.deps);
  return findings.filter(({ detail }) => !detail.startsWith('due_at')).map(({ check }) => check);
}

it('the test history could have been written by the gateway', async () => {
  expect(await auditFindings()).toEqual([]);
});

describe('a page of the instance history', () => {
  const cursorOf = (sequence: number) =>
    Buffer.from(`GPC:T:["S:${renter.accountId}","N:${sequence}"]`).toString('base64');
  const page = (args: string) =>
    queryData(`{ instanceHistory(${args}) { edges { cursor } pageInfo { hasNextPage hasPreviousPage } } }`);
  const span = (from: number, to: number) => {
    const step = from < to ? 1 : -1;
    return Array.from({ length: Math.abs(to - from) + 1 }, (_, index) => cursorOf(from + index * step));
  };

  it.each<[string, () => string, () => string[], [next: boolean, previous: boolean]]>([
    ['the first', () => 'first: 5', () => span(COUNT + 1, COUNT - 3), [true, false]],
    ['the second', () => `first: 5, after: "${cursorOf(COUNT - 3)}"`, () => span(COUNT - 4, COUNT - 8), [true, true]],
    ['one in the middle', () => `first: 100, after: "${cursorOf(1_500)}"`, () => span(1_499, 1_400), [true, true]],
    ['the last', () => `first: 5, after: "${cursorOf(4)}"`, () => span(3, 1), [false, true]],
    ['after the last', () => `first: 5, after: "${cursorOf(1)}"`, () => [], [false, true]],
    ['the last, from the end', () => 'last: 5', () => span(5, 1), [false, true]],
    ['the previous one, backwards', () => `last: 5, before: "${cursorOf(5)}"`, () => span(10, 6), [true, true]],
    [
      'the first, backwards',
      () => `last: 5, before: "${cursorOf(COUNT)}"`,
      () => span(COUNT + 1, COUNT + 1),
      [true, false],
    ],
    ['without a size', () => `after: "${cursorOf(1_500)}"`, () => span(1_499, 1_475), [true, true]],
  ])('requires reading few rows beyond its own: %s', async (_name, args, cursors, [hasNextPage, hasPreviousPage]) => {
    const { instanceHistory } = await page(args());
    expect(instanceHistory.edges.map(({ cursor }: { cursor: string }) => cursor)).toEqual(cursors());
    expect(instanceHistory.pageInfo).toEqual({ hasNextPage, hasPreviousPage });
    expect(await touchedBy(() => page(args()))).toBeLessThanOrEqual(cursors().length + 10);
  });
});

describe('a page of usage intervals', () => {
  const page = (args: string) =>
    queryData(`{ instance(id: "${restarted}") { usageIntervals(${args}) {
      edges { cursor node { resource startedAt endedAt } } pageInfo { hasNextPage hasPreviousPage } } } }`);
  /** The intervals' cursors, in order. The disk interval follows the first GPU interval. */
  const all: string[] = [];
  const cursorOf = (resource: string, ordinal: number) =>
    Buffer.from(`GPC:T:["S:${restarted}","S:${resource}","N:${ordinal}"]`).toString('base64');

  beforeAll(() => {
    for (let ordinal = 1; ordinal <= RESTARTS; ordinal += 1) {
      all.push(cursorOf('GPU', ordinal));
      if (ordinal === 1) all.push(cursorOf('DISK', 1));
    }
  });

  it.each<[string, () => string, () => string[], [next: boolean, previous: boolean]]>([
    ['the first', () => 'first: 5', () => all.slice(0, 5), [true, false]],
    ['the first, of size one', () => 'first: 1', () => all.slice(0, 1), [true, false]],
    ['after the first', () => `first: 5, after: "${cursorOf('GPU', 1)}"`, () => all.slice(1, 6), [true, true]],
    ["after the disk's", () => `first: 5, after: "${cursorOf('DISK', 1)}"`, () => all.slice(2, 7), [true, true]],
    ['one in the middle', () => `first: 5, after: "${cursorOf('GPU', 900)}"`, () => all.slice(901, 906), [true, true]],
    ['the last', () => `first: 5, after: "${cursorOf('GPU', RESTARTS - 2)}"`, () => all.slice(-2), [false, true]],
    ['the last, from the end', () => 'last: 5', () => all.slice(-5), [false, true]],
    [
      'one in the middle, backwards',
      () => `last: 5, before: "${cursorOf('GPU', 900)}"`,
      () => all.slice(895, 900),
      [true, true],
    ],
    [
      'the beginning, backwards',
      () => `last: 5, before: "${cursorOf('GPU', 3)}"`,
      () => all.slice(0, 3),
      [true, false],
    ],
    ["before the disk's", () => `last: 5, before: "${cursorOf('DISK', 1)}"`, () => all.slice(0, 1), [true, false]],
    ['after a missing one', () => `first: 5, after: "${cursorOf('GPU', RESTARTS + 9)}"`, () => [], [false, true]],
  ])('requires reading few rows beyond its own: %s', async (name, args, cursors, [hasNextPage, hasPreviousPage]) => {
    const { usageIntervals } = (await page(args())).instance;
    expect(usageIntervals.edges.map(({ cursor }: { cursor: string }) => cursor)).toEqual(cursors());
    expect(usageIntervals.pageInfo).toEqual({ hasNextPage, hasPreviousPage });
    const most = name === "before the disk's" ? RESTARTS + 10 : cursors().length + 20;
    expect(await touchedBy(() => page(args()))).toBeLessThanOrEqual(most);
  });

  it('requires reading few rows beyond its own for each of 50 instances', async () => {
    const query =
      '{ instanceHistory(first: 50) { edges { node { id usageIntervals(first: 1) { edges { cursor node { resource } } } } } } }';
    const { instanceHistory } = await queryData(query);
    expect(instanceHistory.edges).toHaveLength(50);
    for (const { node } of instanceHistory.edges) {
      const cursor = Buffer.from(`GPC:T:["S:${node.id}","S:GPU","N:1"]`).toString('base64');
      expect(node.usageIntervals.edges).toEqual([{ cursor, node: { resource: 'GPU' } }]);
    }
    // For each instance, this is the page and the row that shows whether another follows, counted twice if the planner
    // scans a bitmap.
    expect(await touchedBy(() => queryData(query))).toBeLessThanOrEqual(50 * 8);
  });
});

describe('a statement', () => {
  interface Interval {
    id: string;
    sequence: number;
    resource: string;
    rate: bigint;
    started: bigint;
    ended: bigint | null;
  }
  let intervals: Interval[];
  let entries: { kind: string; units: bigint; at: bigint; id: string; sequence: number }[];

  beforeAll(async () => {
    intervals = (await service.sql(
      `select instance.id, sequence, resource::text, rate, started_at as started, ended_at as ended
       from usage_interval join instance on instance.id = instance_id where account_id = $1`,
      [renter.accountId],
    )) as unknown as Interval[];
    entries = (await service.sql(
      `select kind, units, at, coalesce(instance_id, '') as id, coalesce(sequence, 0) as sequence
       from ledger_entry left join instance on instance.id = instance_id where ledger_entry.account_id = $1`,
      [renter.accountId],
    )) as unknown as typeof entries;
  });

  /** Returns how many seconds of an interval lie before an instant. */
  const secondsBefore = ({ started, ended }: Interval, at: bigint) => {
    const until = ended === null || ended > at ? at : ended;
    return until > started ? until - started : 0n;
  };

  /** Returns the expected statement, computed from every row. */
  function naive(from: bigint, to: bigint) {
    const spentBefore = (at: bigint) =>
      intervals.reduce((sum, each) => sum + each.rate * secondsBefore(each, at), 0n) -
      entries.reduce((sum, { kind, units, at: when }) => (kind === 'EARLY_EXIT' && when < at ? sum + units : sum), 0n);
    const creditBefore = (at: bigint) =>
      entries.reduce((sum, { kind, units, at: when }) => (kind === 'CREDIT' && when < at ? sum + units : sum), 0n);
    const lines = new Map<string, bigint>();
    const add = (id: string, kind: string, units: bigint) => {
      if (units > 0n) lines.set(`${id} ${kind}`, (lines.get(`${id} ${kind}`) ?? 0n) + units);
    };
    for (const each of intervals)
      add(each.id, each.resource, each.rate * (secondsBefore(each, to) - secondsBefore(each, from)));
    for (const { kind, units, at, id } of entries)
      if (kind === 'EARLY_EXIT' && at >= from && at < to) add(id, kind, -units);
    return {
      opening: shownSpend(creditBefore(from)) - shownSpend(spentBefore(from)),
      closing: shownSpend(creditBefore(to)) - shownSpend(spentBefore(to)),
      lines,
    };
  }

  const read = (from: bigint, to: bigint) => statement(service.deps, renter.accountId, { from, to });

  it('matches one computed from every row, for any period', async () => {
    const now = service.clock.now();
    const begun = now - BigInt((COUNT + 1) * 720);
    const periods = Array.from({ length: 60 }, (_, index) => {
      const from = begun - 1_000n + ((BigInt(index) * 7_919n * 4_241n) % (now - begun));
      return [from, from + [1n, 720n, 18_000n, 5n * DAY, 60n * DAY][index % 5]!] as const;
    });
    for (const [from, until] of [...periods, [begun + 720n, begun + 1_440n], [now, now]] as const) {
      const to = until > now ? now : until;
      const expected = naive(from, to);
      const { lines, openingBalance, closingBalance } = await read(from, to);
      expect(new Map(lines.map(({ instanceId, kind, units }) => [`${instanceId} ${kind}`, units]))).toEqual(
        expected.lines,
      );
      expect([openingBalance, closingBalance]).toEqual([expected.opening, expected.closing]);
    }
  });

  it.each([
    ['at the end', COUNT - 30],
    ['in the middle', 1_511],
    ['at the beginning', 5],
  ])('over 25 instances reads only rows near its period: %s', async (_name, first) => {
    const begun = service.clock.now() - BigInt((COUNT + 1) * 720);
    const from = begun + BigInt(first) * 720n;
    const period = () => read(from, from + 25n * 720n);
    expect((await period()).lines.length).toBeGreaterThanOrEqual(50);
    // A history of this length has 3,000 instances, 9,000 intervals and as many ledger entries.
    expect(await touchedBy(period)).toBeLessThanOrEqual(1_000);
  });

  it.each([
    ['near the end', 3n],
    ['in the middle', 12n],
    ['at the beginning', 24n],
  ])('broken down by day matches the total and reads only nearby rows: %s', async (_name, daysAgo) => {
    const day = formatDay(dateOf(service.clock.now() - daysAgo * DAY));
    const first = instantOf(dateOfDay(day));
    const to = first + DAY;
    const byDay = () => spendByDay(service.deps, renter.accountId, { from: day, to: day });
    const { lines } = await read(first, to);
    const { total, instances } = await byDay();
    expect(instances.length).toBeGreaterThan(0);
    expect(total).toBe(lines.reduce((sum, { amount }) => sum + amount, 0n));
    // The days of each interval count as rows too.
    expect(await touchedBy(byDay)).toBeLessThanOrEqual(4_000);
  });

  it('begins at checkpoints that the audit recomputes and a rebuild recreates', async () => {
    const { accountId } = renter;
    const now = service.clock.now();
    await read(now - DAY, now);
    const count = async () =>
      (await service.sql('select from account_checkpoint where account_id = $1', [accountId])).length;
    // There is one checkpoint per 25 instances, except at the end.
    expect(await count()).toBeGreaterThanOrEqual(117);
    expect(await auditFindings()).toEqual([]);
    for (const [planted, check] of [
      ['spend_units = spend_units + 1', 'checkpoints equal the sums'],
      ['credit_units = credit_units - 1', 'checkpoints equal the sums'],
      ['sequence = sequence - 1', 'checkpoints list'],
      [`open_instances = open_instances || '{i-00000000}'`, 'checkpoints list'],
    ]) {
      const newest = `at = (select max(at) from account_checkpoint where account_id = $1)`;
      await service.sql(`update account_checkpoint set ${planted} where account_id = $1 and ${newest}`, [accountId]);
      expect(await auditFindings()).toEqual([expect.stringMatching(`^${check}`)]);
      await rebuildAccount(service.deps, accountId);
      expect(await count()).toBe(0);
      await read(now - DAY, now);
      expect(await auditFindings()).toEqual([]);
    }
  });

  it('never begins at a checkpoint in a second that may still receive entries', async () => {
    const busy = await service.renter('1000000');
    const machines = [await service.machine({ gpu: 'l4' }), await service.machine({ gpu: 'l4' })] as const;
    await addHistory(service, busy.accountId, machines, { count: 398, restarts: 100 });
    // The 16th checkpoint would be at the end of the 400th instance.
    const { instance } = await deploy(service.deps, busy.accountId, { machineId: machines[0], diskGb: 10 });
    const booked = service.clock.now();
    const read = (from: bigint, to: bigint | null) => statement(service.deps, busy.accountId, { from, to });
    await read(booked - DAY, null);
    const checkpoints = async () =>
      (await service.sql('select at from account_checkpoint where account_id = $1 order by at', [busy.accountId])).map(
        ({ at }) => at as unknown as bigint,
      );
    expect((await checkpoints()).length).toBe(15);
    expect((await checkpoints()).at(-1)).toBeLessThan(booked - 60n);
    await creditAccount(service.deps, busy.accountId, { amountMicro: 7_000_000n });
    await act(service.deps, busy.accountId, { id: instance.id, action: 'DESTROY' });
    service.clock.advance(3_600);
    const { balance } = await readBalance(service.deps, busy.accountId);
    for (const from of [booked, booked + 1n, booked + 600n]) {
      const later = await read(from, null);
      const changed =
        later.movements.reduce((sum, { amount }) => sum + amount, 0n) -
        later.lines.reduce((sum, { amount }) => sum + amount, 0n);
      expect([later.closingBalance, later.openingBalance + changed]).toEqual([balance, balance]);
    }
    expect(await auditFindings()).toEqual([]);
  });
});
