import { describe, expect, it } from 'vitest';
import { inCents, inCentsBetween, inCentsOfSum } from '../../../web/figures/apportion.js';
import { fromFirstSpend } from '../../../web/figures/spent-days.js';
import { inOrder, statementRows, totalOf } from '../../../web/figures/statement.js';

type Stated = Parameters<typeof statementRows>[0];
type Line = Stated['lines'][number];

const FROM = '2026-11-01T00:00:00Z';
const TO = '2026-11-28T00:00:00Z';

const line = (id: string, kind: Line['kind'], amount: number, more: Partial<Line> = {}): Line => ({
  instanceId: id.startsWith('i-') ? id : null,
  volumeId: id.startsWith('i-') ? null : id,
  kind,
  ratePerHour: 1,
  seconds: 3_600,
  from: FROM,
  to: TO,
  amount,
  units: '0',
  ...more,
});

const stated = (lines: Line[], openingBalance = 0, credit = 100): Stated => ({
  from: FROM,
  to: TO,
  openingBalance,
  closingBalance:
    Math.round((openingBalance + credit - lines.reduce((sum, { amount }) => sum + amount, 0)) * 1e6) / 1e6,
  lines,
  movements: [{ at: FROM, kind: 'CREDIT', amount: credit, note: null, reference: null, instanceId: null }],
});

describe('amounts in whole cents', () => {
  it.each([
    [[], []],
    [
      [3_333n, 3_333n, 3_334n],
      [0n, 0n, 10_000n],
    ],
    [
      [12_500n, 7_600n],
      [10_000n, 10_000n],
    ],
    [[19_999n], [10_000n]],
    [
      [5_000n, 5_000n],
      [10_000n, 0n],
    ],
  ])('%s add up as %s', (amounts, rounded) => {
    expect(inCentsOfSum(amounts)).toEqual(rounded);
  });

  it('lead from one displayed balance to the next, even below zero', () => {
    const cases: [before: bigint, changes: bigint[]][] = [
      [5_000n, [10_000_000n]],
      [0n, [-1n]],
      [3_000n, [-1_000n, -9_000n, -2n]],
      [-5_000n, [-5_000n, 123_456n, -1n]],
    ];
    for (const [before, changes] of cases) {
      const after = changes.reduce<bigint>((sum, change) => sum + change, before);
      const shown = inCentsBetween(before, after, changes);
      const floor = (amount: bigint) => amount - (((amount % 10_000n) + 10_000n) % 10_000n);
      expect(shown.reduce((sum, change) => sum + change, floor(before))).toBe(floor(after));
      shown.forEach((amount, index) => {
        const error = amount - changes[index]!;
        expect(error > -10_000n && error < 10_000n).toBe(true);
      });
    }
  });

  it('never add a cent to a whole amount while another has a remainder', () => {
    expect(inCents([10_000n, 12_000n], 30_000n)).toEqual([10_000n, 20_000n]);
  });
});

describe("a statement's rows", () => {
  it('have one row for each instance and volume, whose parts add up', () => {
    const rows = statementRows(
      stated([
        line('i-1', 'GPU', 1.234567, { seconds: 100 }),
        line('i-1', 'DISK', 0.007, { to: '2026-11-29T00:00:00Z' }),
        line('i-1', 'EARLY_EXIT', 0.3),
        line('i-2', 'DISK', 0.004),
        line('v-1', 'VOLUME', 0.001, { seconds: 10 }),
        line('v-1', 'VOLUME', 0.002, { seconds: 20 }),
      ]),
    );
    expect(rows.map((row) => ('charge' in row ? row.charge.id : row.movement.kind))).toEqual([
      'CREDIT',
      'i-1',
      'i-2',
      'v-1',
    ]);
    const charges = rows.flatMap((row) => ('charge' in row ? row.charge : []));
    expect(charges.map(({ seconds, to, isVolume }) => [seconds, to, isVolume])).toEqual([
      [100, '2026-11-29T00:00:00Z', false],
      [0, TO, false],
      [0, TO, true],
    ]);
    expect(charges[0]).toMatchObject({ gpus: { exact: 1_534_567n }, storage: { exact: 7_000n } });
    for (const { amount, gpus, storage } of charges) {
      expect(gpus.exact + storage.exact).toBe(-amount.exact);
      expect(gpus.shown + storage.shown).toBe(-amount.shown);
    }
  });

  it('are sorted by the start of their time, or from the highest cost to the highest credit', () => {
    const at = (day: number) => ({ from: `2026-11-0${day}T00:00:00Z` });
    const rows = statementRows(
      stated([line('i-1', 'GPU', 2, at(2)), line('i-2', 'GPU', 3, at(4)), line('v-1', 'VOLUME', 1, at(3))]),
    );
    const sorted = (order: Parameters<typeof inOrder>[1]) =>
      inOrder(rows, order).map((row) => ('charge' in row ? row.charge.id : row.movement.kind));
    expect(sorted('newest')).toEqual(['i-2', 'v-1', 'i-1', 'CREDIT']);
    expect(sorted('oldest')).toEqual(['CREDIT', 'i-1', 'v-1', 'i-2']);
    expect(sorted('cost')).toEqual(['i-2', 'i-1', 'v-1', 'CREDIT']);
  });

  it('lead from the opening to the closing balance as displayed, with those that are not shown', () => {
    const lines = Array.from({ length: 40 }, (_, index) => line(`i-${index}`, 'GPU', 0.003 + index * 0.000_001));
    const all = stated(lines, 0.009);
    const rows = statementRows(all);
    const { shown, exact } = totalOf(rows.slice(0, 10));
    const rest = totalOf(rows.slice(10));
    expect(exact + rest.exact).toBe(BigInt(Math.round((all.closingBalance - all.openingBalance) * 1e6)));
    expect(shown + rest.shown).toBe((BigInt(Math.round(all.closingBalance * 1e6)) / 10_000n) * 10_000n);
  });
});

it.each([
  [[0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 7],
  [[0, 1, 0, 0, 0, 0, 0, 0, 0, 1], 9],
  [[1, 0, 0, 0, 0, 0, 0, 0, 0, 0], 10],
  [[0, 0, 0], 3],
  [[], 0],
])('the days %j are charted from the first spend, but at least a week: %i', (totals, days) => {
  expect(fromFirstSpend(totals.map((total) => ({ total })))).toHaveLength(days);
});
