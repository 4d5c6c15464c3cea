import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Accrual,
  addCharge,
  advance,
  balanceAt,
  balanceUnitsAt,
  changeRate,
  exhaustionOf,
  lifetimeSpendAt,
  monthSpendAt,
} from '../../src/domain/kernel/accrual.js';
import { formatInstant, instantOf, LAST_INSTANT, monthStartOf } from '../../src/domain/kernel/time.js';

const at = (text: string) => instantOf(new Date(text));
const BEGIN = at('2026-11-30T23:00:00Z');

function fresh(changes: Partial<Accrual> = {}): Accrual {
  return { creditUnits: 0n, spendUnits: 0n, monthStartSpendUnits: 0n, burnRate: 0n, settledAt: BEGIN, ...changes };
}

/** Events in the order in which they became known. */
type Event =
  | { kind: 'rate'; difference: bigint; from: bigint }
  | { kind: 'charge'; units: bigint; at: bigint }
  | { kind: 'advance'; at: bigint };

/** Sums the spend over all events. A charge counts either from its own second onwards or only after it. */
function spendOf(events: readonly Event[], second: bigint, isIncluded: boolean): bigint {
  return events.reduce((sum, event) => {
    if (event.kind === 'rate') return second > event.from ? sum + event.difference * (second - event.from) : sum;
    if (event.kind === 'charge')
      return event.at < second || (isIncluded && event.at === second) ? sum + event.units : sum;
    return sum;
  }, 0n);
}

function carryOut(accrual: Accrual, event: Event): void {
  if (event.kind === 'rate') changeRate(accrual, event.difference, event.from);
  else if (event.kind === 'charge') addCharge(accrual, event.units, event.at);
  else advance(accrual, event.at);
}

/** Seconds around the starts of two months, mostly ascending but sometimes stepping back slightly. */
const moves = fc.array(
  fc.record({
    kind: fc.constantFrom('rate' as const, 'charge' as const, 'advance' as const),
    step: fc.oneof(fc.bigInt(-3n, 3n), fc.bigInt(0n, 4_000n), fc.bigInt(0n, 3_000_000n)),
    amount: fc.bigInt(0n, 9_999n),
  }),
  { maxLength: 12 },
);

function eventsOf(drawn: readonly { kind: Event['kind']; step: bigint; amount: bigint }[]): Event[] {
  let [second, burn] = [BEGIN, 0n];
  return drawn.map(({ kind, step, amount }) => {
    second = second + step < BEGIN ? BEGIN : second + step;
    if (kind === 'charge') return { kind, units: amount, at: second };
    if (kind === 'advance') return { kind, at: second };
    // A rate never falls below zero, because only rates that were added earlier are subtracted.
    const difference = amount % 2n === 0n && burn > 0n ? -(amount % (burn + 1n)) : amount;
    burn += difference;
    return { kind, difference, from: second };
  });
}

/** Rounds down. Spend is negative if a rate is subtracted at an earlier second than it was added. */
const shown = (units: bigint) => (units - (((units % 3_600n) + 3_600n) % 3_600n)) / 3_600n;

describe("an account's running balance", () => {
  it('is the sum of all events, regardless of their order of arrival', () => {
    fc.assert(
      fc.property(moves, fc.bigInt(0n, 5_000_000n), fc.bigInt(0n, 99_999_999n), (drawn, ahead, creditUnits) => {
        const events = eventsOf(drawn);
        const accrual = fresh({ creditUnits });
        for (const event of events) carryOut(accrual, event);
        const second = accrual.settledAt + ahead;
        const spend = spendOf(events, second, true);
        expect(balanceUnitsAt(accrual, second)).toBe(creditUnits - spend);
        expect(lifetimeSpendAt(accrual, second)).toBe(shown(spend));
        expect(balanceAt(accrual, second)).toBe(shown(creditUnits) - shown(spend));
        const before = spendOf(events, monthStartOf(second), false);
        expect(monthSpendAt(accrual, second)).toBe(shown(spend) - shown(before));
      }),
      { numRuns: 500 },
    );
  });

  it('is exhausted in the first second without credit', () => {
    fc.assert(
      fc.property(moves, fc.bigInt(0n, 99_999_999n), (drawn, creditUnits) => {
        const accrual = fresh({ creditUnits });
        for (const event of eventsOf(drawn)) carryOut(accrual, event);
        const dry = exhaustionOf(accrual);
        const last = dry ?? accrual.settledAt;
        expect(last >= accrual.settledAt).toBe(true);
        expect(balanceUnitsAt(accrual, last) <= 0n).toBe(dry !== null);
        if (dry === null) expect(accrual.burnRate).toBe(0n);
        else if (dry > accrual.settledAt) expect(balanceUnitsAt(accrual, dry - 1n) > 0n).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('is never reported as exhausted beyond the year 9999', () => {
    const left = LAST_INSTANT - BEGIN;
    expect(exhaustionOf(fresh({ creditUnits: left, burnRate: 1n }))).toBe(LAST_INSTANT);
    expect(exhaustionOf(fresh({ creditUnits: left + 1n, burnRate: 1n }))).toBeNull();
  });

  it('is exhausted immediately without credit, whether or not anything is running', () => {
    expect(exhaustionOf(fresh())).toBe(BEGIN);
    expect(exhaustionOf(fresh({ creditUnits: 5n, spendUnits: 6n, burnRate: 1n }))).toBe(BEGIN);
    expect(exhaustionOf(fresh({ creditUnits: 1n }))).toBeNull();
  });

  it('is reported as of its last write if the clock is set back', () => {
    const accrual = fresh({ creditUnits: 36_000n, spendUnits: 7_200n, burnRate: 3_600n });
    expect([balanceUnitsAt(accrual, BEGIN - 9n), balanceAt(accrual, BEGIN - 9n)]).toEqual([28_800n, 8n]);
    expect(monthSpendAt({ ...accrual, monthStartSpendUnits: 3_600n }, BEGIN - 9n)).toBe(1n);
    advance(accrual, BEGIN - 9n);
    expect(accrual).toEqual(fresh({ creditUnits: 36_000n, spendUnits: 7_200n, burnRate: 3_600n }));
  });

  it("separates a month's spend from earlier spend to the second", () => {
    const accrual = fresh({ burnRate: 3_600n });
    const month = at('2026-12-01T00:00:00Z');
    expect([month - 1n, month, month + 1n].map((second) => monthSpendAt(accrual, second))).toEqual([3_599n, 0n, 1n]);
    // A charge in the month's first second belongs to that month. A charge in the second before doesn't, even if booked
    // later.
    addCharge(accrual, 36_000n, month);
    addCharge(accrual, 72_000n, month - 1n);
    expect(monthSpendAt(accrual, month)).toBe(10n);
    changeRate(accrual, 3_600n, month - 2n);
    changeRate(accrual, 3_600n, month);
    expect(formatInstant(accrual.settledAt)).toBe('2026-12-01T00:00:00Z');
    expect(monthSpendAt(accrual, month)).toBe(10n);
    expect(lifetimeSpendAt(accrual, month)).toBe(3_600n + 10n + 20n + 2n);
  });
});
