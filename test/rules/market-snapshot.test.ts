import { describe, expect, it } from 'vitest';
import {
  checkJumps,
  checkListings,
  checkLosses,
  checkNewer,
  isMostlyUnreadable,
  NotNewer,
  percentOf,
} from '../../src/domain/market/rules/market-snapshot.js';

describe("a snapshot's date", () => {
  it('can be any day for the first snapshot, and otherwise only a later one', () => {
    expect(() => checkNewer('2026-11-20', null, '2030-01-01')).not.toThrow();
    expect(() => checkNewer('2026-11-20', '2026-11-19', '2030-01-01')).not.toThrow();
    expect(() => checkNewer('2027-01-01', '2026-12-31', '2030-01-01')).not.toThrow();
    expect(() => checkNewer('2028-02-29', '2026-11-19', '2030-01-01')).not.toThrow();
  });

  it.each(['2026-11-20', '2026-11-19', '2025-12-31'])("can't be %s if the last one is 2026-11-20", (date) => {
    expect(() => checkNewer(date, '2026-11-20', '2030-01-01')).toThrow(NotNewer);
    expect(() => checkNewer(date, '2026-11-20', '2030-01-01')).toThrow(
      `date must be after 2026-11-20, the date of the current snapshot; got ${date}`,
    );
  });

  it.each([
    '',
    'today',
    '2026-11',
    '2026-02-31',
    '2027-02-29',
    '2026-13-01',
    '20261120',
    '2026-11-20T00:00:00Z',
    '+02026-11-20',
  ])("can't be %j", (date) => {
    const refused = () => checkNewer(date, '1970-01-01', '2030-01-01');
    expect(refused).toThrow('date must be a day such as 2026-11-20');
    expect(refused).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    expect(refused).not.toThrow(NotNewer);
  });
});

describe('a future date', () => {
  it('can be tomorrow, but no later', () => {
    expect(() => checkNewer('2026-11-23', '2026-11-20', '2026-11-23')).not.toThrow();
    for (const date of ['2026-11-24', '2027-01-01', '9999-12-31']) {
      expect(() => checkNewer(date, null, '2026-11-23')).toThrow('date must be 2026-11-23 or earlier');
    }
  });
});

describe('models that lose their median', () => {
  const models = (kept: number, lost: number, unknown: number) => [
    ...Array.from({ length: kept }, () => ({ gpu: 'k', oldMedianMicro: 1n, medianMicro: 2n })),
    ...Array.from({ length: lost }, () => ({ gpu: 'l', oldMedianMicro: 1n, medianMicro: null })),
    ...Array.from({ length: unknown }, () => ({ gpu: 'u', oldMedianMicro: null, medianMicro: null })),
  ];

  it('may not exceed the allowed share of those that had one', () => {
    expect(() => checkLosses(models(5, 5, 100), 50)).not.toThrow();
    expect(() => checkLosses(models(49, 51, 0), 50)).toThrow(
      'more than 50% of the models would lose their median: 51 of 100',
    );
    expect(() => checkLosses(models(99, 1, 0), 0)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    expect(() => checkLosses(models(0, 100, 0), null)).not.toThrow();
    expect(() => checkLosses(models(0, 0, 5), 0)).not.toThrow();
  });
});

describe("a snapshot's listings", () => {
  it('must number from 1 to 2,000,000', () => {
    expect(() => checkListings(1)).not.toThrow();
    expect(() => checkListings(2_000_000)).not.toThrow();
    expect(() => checkListings(0)).toThrow('the file has no listings for known models');
    expect(() => checkListings(2_000_001)).toThrow('a market file may have at most 2000000 listings');
  });

  it("can't be used for prices if most rows are unreadable", () => {
    expect(isMostlyUnreadable({ listings: 5, rejectedCount: 5 })).toBe(false);
    expect(isMostlyUnreadable({ listings: 5, rejectedCount: 6 })).toBe(true);
  });
});

describe("a snapshot's prices", () => {
  const from = (oldRate: bigint | null, newRate: bigint, gpu = 'a') => ({ gpu, oldRate, newRate });

  it('are compared by percentage of change, rounded towards zero', () => {
    expect(percentOf(from(300n, 400n))).toBe(33n);
    expect(percentOf(from(300n, 200n))).toBe(-33n);
    expect(percentOf(from(null, 200n))).toBe(0n);
  });

  it('can move up or down by at most the limit', () => {
    expect(() => checkJumps([from(1_000n, 1_500n), from(1_000n, 500n)], 50)).not.toThrow();
    const refused = () => checkJumps([from(1_000n, 1_501n), from(5n, 5n, 'b'), from(1_000n, 499n, 'c')], 50);
    expect(refused).toThrow('prices would move by more than 50%: a 50%, c -50%');
    expect(refused).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    expect(() => checkJumps([from(1_000n, 1_001n)], 0)).toThrow('more than 0%');
  });

  it('can be anything for a new model, or once jumps are accepted', () => {
    expect(() => checkJumps([from(null, 1_000_000n)], 0)).not.toThrow();
    expect(() => checkJumps([from(1n, 1_000_000n)], null)).not.toThrow();
  });
});
