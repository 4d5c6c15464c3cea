import { describe, expect, it } from 'vitest';
import {
  ceilDivide,
  floorDivide,
  formatUsd,
  microNotAbove,
  microOfUsd,
  parseUsd,
  shownBalance,
  shownSpend,
  unitsOfMicro,
  unitsOfUsage,
  usdNumber,
} from '../../src/domain/kernel/money.js';

describe('parseUsd', () => {
  it.each([
    ['0', 0n],
    ['1', 1_000_000n],
    ['100.00', 100_000_000n],
    ['0.000001', 1n],
    ['0.1', 100_000n],
    ['12.345678', 12_345_678n],
    ['-0.5', -500_000n],
    ['-0', 0n],
    ['+3', 3_000_000n],
    ['007', 7_000_000n],
    ['999999999999.999999', 999_999_999_999_999_999n],
  ])('reads %s', (text, micro) => {
    expect(parseUsd(text)).toBe(micro);
  });

  it.each(['', ' 1', '1 ', '1.', '.5', '1.0000001', '1e3', '0x1', '1,5', '$1', '--1', '1.2.3', 'NaN', '1'.repeat(13)])(
    'rejects %j',
    (text) => {
      expect(parseUsd(text)).toBeNull();
    },
  );
});

describe('microOfUsd', () => {
  it.each([
    [50, 50_000_000n],
    [50.1, 50_100_000n],
    [0.000001, 1n],
    [99_999.999999, 99_999_999_999n],
    [-12.345678, -12_345_678n],
    [8_000_000_000.123456, 8_000_000_000_123_456n],
  ])('converts %d', (usd, micro) => {
    expect(microOfUsd(usd)).toBe(micro);
  });

  it.each([50.0000001, 0.0000004, 0.1 + 0.2, 1e21, Number.NaN, Number.POSITIVE_INFINITY])('rejects %d', (usd) => {
    expect(microOfUsd(usd)).toBeNull();
  });
});

describe('formatUsd', () => {
  it.each([
    [0n, '0.00'],
    [1n, '0.000001'],
    [10n, '0.00001'],
    [139n, '0.000139'],
    [10_000n, '0.01'],
    [100_000n, '0.10'],
    [123_000n, '0.123'],
    [1_000_000n, '1.00'],
    [2_197_000n, '2.197'],
    [100_000_000n, '100.00'],
    [-1n, '-0.000001'],
    [-500_000n, '-0.50'],
    [-1_000_001n, '-1.000001'],
  ])('formats %d', (micro, text) => {
    expect(formatUsd(micro)).toBe(text);
  });

  it('returns the text that was parsed', () => {
    for (const text of ['0.00', '0.000139', '-12.50', '999999999999.999999', '3.0101']) {
      expect(formatUsd(parseUsd(text)!)).toBe(text);
    }
  });
});

describe('division', () => {
  it.each([
    [7n, 2n, 3n, 4n],
    [-7n, 2n, -4n, -3n],
    [7n, -2n, -4n, -3n],
    [-7n, -2n, 3n, 4n],
    [6n, 3n, 2n, 2n],
    [-6n, 3n, -2n, -2n],
    [0n, 5n, 0n, 0n],
    [-1n, 3600n, -1n, 0n],
    [1n, 3600n, 0n, 1n],
  ])('%d / %d lies between %d and %d', (dividend, divisor, floor, ceil) => {
    expect([floorDivide(dividend, divisor), ceilDivide(dividend, divisor)]).toEqual([floor, ceil]);
  });
});

describe('usage', () => {
  it('is exactly rate times seconds, in 1/3600 micro-USD', () => {
    expect(unitsOfUsage(2_190_000n, 1n)).toBe(2_190_000n);
    expect(unitsOfUsage(2_190_000n, 3600n)).toBe(unitsOfMicro(2_190_000n));
    expect(unitsOfMicro(1n)).toBe(3600n);
  });

  it('is shown rounded down', () => {
    expect([0n, 3599n, 3600n, 7199n].map(shownSpend)).toEqual([0n, 0n, 1n, 1n]);
  });

  it('and the balance add up to the displayed credit', () => {
    const credit = unitsOfMicro(100_000_000n);
    for (const spend of [0n, 1n, 3599n, 3600n, 2_204_000n, credit, credit + 1n, credit + 3600n]) {
      expect(shownBalance(credit, spend) + shownSpend(spend)).toBe(100_000_000n);
    }
    expect(shownBalance(credit, 1n)).toBe(100_000_000n);
    expect(shownBalance(credit, credit + 1n)).toBe(0n);
    expect(shownBalance(credit, credit + 3600n)).toBe(-1n);
  });
});

describe('JSON numbers', () => {
  it.each([
    [0n, 0],
    [1n, 0.000001],
    [2_197_000n, 2.197],
    [99_999_388n, 99.999388],
    [-140_000n, -0.14],
    [8_500_000_000_123_457n, 8_500_000_000.123457],
  ])('write %d as %d', (micro, number) => {
    expect(usdNumber(micro)).toBe(number);
    expect(parseUsd(usdNumber(micro).toFixed(6))).toBe(micro);
  });

  it.each([
    [0, 0n],
    [-0, 0n],
    [0.44, 440_000n],
    [0.07, 70_000n],
    [4.59, 4_590_000n],
    [1.1, 1_100_000n],
    [4.5899999, 4_589_999n],
    [0.0000019, 1n],
    [0.0000001, 0n],
    [0.29, 290_000n],
    [1_000_000, 1_000_000_000_000n],
  ])('the largest amount in micro-USD not above %d is %d', (usd, micro) => {
    expect(microNotAbove(usd)).toBe(micro);
  });

  it('keep a displayed price unchanged when it is read back', () => {
    for (let cents = 1n; cents <= 5_000n; cents += 1n) {
      expect(microNotAbove(usdNumber(cents * 10_000n))).toBe(cents * 10_000n);
    }
  });
});
