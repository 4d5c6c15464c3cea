import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Listing, ListingPrices } from '../../src/domain/kernel/median.js';
import { marketMedian } from '../../src/domain/kernel/price-rule.js';

const listing = fc.record({ priceMicro: fc.bigInt(1n, 400n), numGpus: fc.bigInt(1n, 9n) });
const compare = (one: Listing, other: Listing) => {
  const difference = one.priceMicro * other.numGpus - other.priceMicro * one.numGpus;
  return difference < 0n ? -1 : Number(difference > 0n);
};

/**
 * Prices above a listing's maximum. Their quotients are equal as floating-point numbers, although the second is larger.
 */
const CLOSE: Listing[] = [
  { priceMicro: 4_398_046_504_452n, numGpus: 2_047n },
  { priceMicro: 4_395_897_971_719n, numGpus: 2_046n },
];

function collected(listings: readonly Listing[]): ListingPrices {
  const prices = new ListingPrices();
  for (const each of listings) prices.add(each);
  return prices;
}

describe('the middle of a set of prices', () => {
  it('matches the middle of the sorted fractions, no matter how many are equal', () => {
    fc.assert(
      fc.property(fc.array(listing, { minLength: 1, maxLength: 1_100, size: 'max' }), (listings) => {
        const sorted = [...listings].sort(compare);
        const [low, high] = collected(listings).middle();
        expect(compare(low, sorted[(sorted.length - 1) >> 1]!)).toBe(0);
        expect(compare(high, sorted[sorted.length >> 1]!)).toBe(0);
      }),
      { numRuns: 60 },
    );
  });

  it('is exact even for fractions that are equal as floating-point numbers', () => {
    const others = fc.constantFrom(
      { priceMicro: 1_000_000_000n, numGpus: 1n },
      { priceMicro: 4_000_000_000n, numGpus: 1n },
    );
    const listings = fc.array(fc.oneof(fc.constantFrom(...CLOSE), others), {
      minLength: 1,
      maxLength: 40,
      size: 'max',
    });
    expect(new Set(CLOSE.map(({ priceMicro, numGpus }) => Number(priceMicro) / Number(numGpus))).size).toBe(1);
    fc.assert(
      fc.property(listings, (drawn) => {
        const sorted = [...drawn].sort(compare);
        expect(collected(drawn).middle()).toEqual([sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]);
      }),
      { numRuns: 300 },
    );
  });

  it('accounts for every listing within the allowed bounds and rejects others', () => {
    const prices = collected(
      Array.from({ length: 33 }, (_, index) => ({ priceMicro: BigInt(index + 1), numGpus: 1n })),
    );
    expect(prices.count).toBe(33);
    expect(collected(Array(17).fill({ priceMicro: 5n, numGpus: 2n })).middle()[1]).toEqual({
      priceMicro: 5n,
      numGpus: 2n,
    });
    const most = BigInt(Number.MAX_SAFE_INTEGER) / 2_048n;
    expect(() => prices.add({ priceMicro: most, numGpus: 2_047n })).not.toThrow();
    expect(() => prices.add({ priceMicro: most + 1n, numGpus: 1n })).toThrow(new RangeError('not a listing'));
    expect(() => prices.add({ priceMicro: 1n, numGpus: 2_048n })).toThrow(new RangeError('not a listing'));
    expect(prices.count).toBe(34);
  });
});

describe('the market median', () => {
  it('requires at least five listings', () => {
    const of = (count: number) => marketMedian(Array(count).fill({ priceMicro: 1_234_500n, numGpus: 1n }));
    expect([0, 1, 4, 5, 6].map(of)).toEqual([null, null, null, 1_234_500n, 1_234_500n]);
  });

  it('is the mean of the middle two prices per GPU, rounded half up to four decimals', () => {
    const of = (...prices: [bigint, bigint][]) =>
      marketMedian(prices.map(([priceMicro, numGpus]) => ({ priceMicro, numGpus })));
    expect(of([8_000_000n, 8n], [1n, 1n], [1n, 1n], [9_000_000n, 1n], [9_000_000n, 1n])).toBe(1_000_000n);
    const around = (low: bigint, high: bigint) =>
      of([1n, 1n], [1n, 1n], [low, 1n], [high, 1n], [9_000_000n, 1n], [9_000_000n, 1n]);
    expect(around(1_000_000n, 1_000_099n)).toBe(1_000_000n);
    expect(around(1_000_000n, 1_000_100n)).toBe(1_000_100n);
    expect(around(2_000_000n, 3_000_000n)).toBe(2_500_000n);
    expect(of([1n, 1n], [1n, 1n], [1_000_000n, 3n], [9_000_000n, 1n], [9_000_000n, 1n])).toBe(333_300n);
    expect(of([1n, 1n], [1n, 1n], [2_000_000n, 3n], [9_000_000n, 1n], [9_000_000n, 1n])).toBe(666_700n);
  });
});
