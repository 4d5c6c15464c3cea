import { describe, expect, it } from 'vitest';
import { monthRows, totalOf } from '../../../web/figures/month.js';
import { monthEnd } from '../../../web/figures/time.js';
import type { Instance, Settled } from '../../../web/state/account.js';
import { attentionOf, type HomeRead } from '../../../web/state/attention.js';

const NOW = Date.parse('2026-11-23T12:00:00Z') / 1_000;
const HOUR = 3_600;
const DAY = 24 * HOUR;
const at = (seconds: number) => new Date((NOW + seconds) * 1_000).toISOString();

const account = (changes: Partial<Settled> = {}): Settled => ({
  asOf: NOW,
  balance: 10_000_000n,
  burn: 0n,
  monthSpend: 0n,
  exhaustsAt: null,
  diskDeleteAt: null,
  instances: [],
  ...changes,
});

const instance = (changes: object = {}) =>
  ({
    id: 'i-1',
    name: 'i-1',
    status: 'RUNNING',
    createdAt: at(-DAY),
    stoppedAt: null,
    stopReason: null,
    runtime: null,
    ...changes,
  }) as Instance;

const details = (changes: object = {}, limitReachedAt: string | null = null) =>
  ({
    account: { lifetimeSpend: 0, limitReachedAt },
    instances: [{ id: 'i-1', stopAt: null, destroyAt: null, limitReachedAt: null, volumes: [], ...changes }],
  }) as unknown as HomeRead;

const volume = (changes: object = {}) => ({
  holdsLease: true,
  lostSince: null,
  lastSnapshotAt: at(-HOUR / 6),
  message: null,
  volume: { name: 'data', deletedAt: null },
  ...changes,
});

const kinds = (known: Settled, read: HomeRead | null = null) =>
  attentionOf(known, read, NOW).map(({ kind, isBad }) => `${kind}${isBad ? '!' : ''}`);
const ofOne = (changes: object, read: object = {}) => kinds(account({ instances: [instance(changes)] }), details(read));
const runtime = (changes: object) => ({ runtime: { phase: 'RUNNING', reachable: true, exitCode: null, ...changes } });

describe('the list of notices that need attention', () => {
  it('is empty when all is well', () => {
    expect(kinds(account())).toEqual([]);
    expect(ofOne(runtime({}), { stopAt: at(2 * DAY), volumes: [volume()] })).toEqual([]);
    expect(kinds(account({ exhaustsAt: NOW + DAY + 1 }))).toEqual([]);
  });

  it('includes credit that ends within a day, severe within six hours or once ended', () => {
    expect(kinds(account({ exhaustsAt: NOW + DAY - 1 }))).toEqual(['credit-ends']);
    expect(kinds(account({ exhaustsAt: NOW + 6 * HOUR - 1 }))).toEqual(['credit-ends!']);
    expect(kinds(account({ exhaustsAt: NOW, diskDeleteAt: NOW + DAY }))).toEqual(['credit-over!']);
    expect(kinds(account({ balance: -1n, diskDeleteAt: NOW + DAY }))).toEqual(['credit-over!']);
    expect(kinds(account(), details({}, at(HOUR)))).toEqual(['month-limit']);
    expect(kinds(account(), details({}, at(-HOUR)))).toEqual(['month-limit!']);
  });

  it('includes unreachable machines, failed containers and stop reasons', () => {
    expect(ofOne(runtime({ reachable: false }))).toEqual(['silent!']);
    expect(ofOne(runtime({ phase: 'UNREACHABLE' }))).toEqual(['silent!']);
    expect(ofOne(runtime({ phase: 'FAILED' }))).toEqual(['failed!']);
    const stopped = { status: 'STOPPED', stoppedAt: at(-HOUR) };
    expect(ofOne({ ...stopped, stopReason: 'USER' })).toEqual([]);
    expect(ofOne({ ...stopped, stopReason: 'START_FAILED' })).toEqual(['not-started!']);
    expect(ofOne({ ...stopped, stopReason: 'PREEMPTED' })).toEqual(['preempted']);
    expect(ofOne({ ...stopped, stopReason: 'COMMAND_ENDED', ...runtime({ exitCode: 0 }) })).toEqual([]);
    expect(ofOne({ ...stopped, stopReason: 'COMMAND_ENDED', ...runtime({ exitCode: 2 }) })).toEqual(['ended-badly']);
    expect(ofOne({ ...stopped, stopReason: 'USER', stoppedAt: at(-3 * DAY - 1) })).toEqual(['costs-stopped']);
  });

  it('includes deadlines and limits that affect running instances within a day', () => {
    expect(ofOne({}, { stopAt: at(HOUR), destroyAt: at(2 * HOUR), limitReachedAt: at(3 * HOUR) })).toEqual([
      'destroyed!',
      'stops',
      'limit',
    ]);
    const stopped = { status: 'STOPPED', stoppedAt: at(-HOUR), stopReason: 'USER' };
    expect(ofOne(stopped, { stopAt: at(HOUR), destroyAt: at(2 * HOUR) })).toEqual(['destroyed!']);
    expect(ofOne({}, { stopAt: at(-1) })).toEqual([]);
  });

  it('includes volumes that are lost, refused, or unsaved for half an hour', () => {
    const of = (changes: object) => ofOne({}, { volumes: [volume(changes)] });
    expect(of({ lostSince: at(-HOUR) })).toEqual(['volume-lost!']);
    expect(of({ message: 'no space' })).toEqual(['volume-refused!']);
    expect(of({ lastSnapshotAt: at(-1_801) })).toEqual(['volume-unsaved!']);
    expect(of({ lastSnapshotAt: null })).toEqual(['volume-unsaved!']);
    expect(of({ lastSnapshotAt: at(-1_801), holdsLease: false })).toEqual([]);
    expect(of({ lostSince: at(-HOUR), volume: { name: 'data', deletedAt: at(0) } })).toEqual([]);
  });

  it('starts with severe notices and shows the soonest ones first', () => {
    const known = account({
      exhaustsAt: NOW + 5 * HOUR,
      instances: [instance(runtime({ reachable: false })), instance({ id: 'i-2', name: 'i-2' })],
    });
    expect(kinds(known, details({ stopAt: at(HOUR) }))).toEqual(['silent!', 'credit-ends!', 'stops']);
  });
});

it('a month ends at midnight UTC on the first of the next month', () => {
  expect(monthEnd(Date.parse('2026-11-30T23:59:59Z') / 1_000)).toBe(Date.parse('2026-12-01T00:00:00Z') / 1_000);
  expect(monthEnd(Date.parse('2026-12-01T00:00:00Z') / 1_000)).toBe(Date.parse('2027-01-01T00:00:00Z') / 1_000);
});

describe("a month's totals", () => {
  const now = Date.parse('2026-11-30T22:00:00Z') / 1_000;
  const rows = (spent: [string, bigint][], rates: [string, bigint][]) =>
    monthRows(
      spent.map(([key, amount]) => ({ key, amount })),
      rates.map(([key, amount]) => ({ key, amount })),
      now,
    );

  it('add up exactly, although each row is rounded', () => {
    const all = monthRows(
      [
        { key: 'l4', amount: 5n },
        { key: 'new', amount: 2n },
      ],
      [
        { key: 'l4', amount: 3_599n },
        { key: 'new', amount: 3_599n },
      ],
      monthEnd(now) - 1,
    );
    // Each of the two forecasts is rounded down to 0, whereas their combined rate costs 1 in a second.
    expect(totalOf(all)).toEqual({ spent: 7n, rate: 7_198n, forecast: 7n });
    expect(totalOf([])).toEqual({ spent: 0n, rate: 0n, forecast: 0n });
  });

  it("project current costs to the month's end and are sorted largest first", () => {
    expect(
      rows(
        [
          ['l4', 500n],
          ['gone', 900n],
        ],
        [
          ['l4', 100n],
          ['l4', 200n],
          ['new', 1_000n],
        ],
      ),
    ).toEqual([
      { key: 'new', spent: 0n, rate: 1_000n, forecast: 2_000n },
      { key: 'l4', spent: 500n, rate: 300n, forecast: 1_100n },
      { key: 'gone', spent: 900n, rate: 0n, forecast: 900n },
    ]);
  });

  it('omit anything that costs nothing', () => {
    expect(rows([['l4', 0n]], [])).toEqual([]);
  });
});
