import { describe, expect, it } from 'vitest';
import { type Fee, feeOf, withoutFee } from '../../../src/payments/shkeeper-fee.js';

const USD = 1_000_000n;
const quote = (coins: string, rate = '80') => ({ coins, rate });
const LARGE = '12500000000';

describe('feeOf', () => {
  it.each<[string, string, string, Fee]>([
    ['none', '0.0125', LARGE, { onLarge: 0n, fixed: 0n }],
    ['2 percent', '0.01275', '12750000000', { onLarge: 20_000_000_000n * USD, fixed: 0n }],
    // A dollar including this fee is 0.0127512345… coins.
    ['2.0098765 percent', '0.01275123', '12751234562.5', { onLarge: 20_098_765_000n * USD, fixed: 0n }],
    ['a fixed amount', '0.03125', '12500000000.01875', { onLarge: (3n * USD) / 2n, fixed: (3n * USD) / 2n }],
    ['the larger of the two', '0.03125', '12750000000', { onLarge: 20_000_000_000n * USD, fixed: (3n * USD) / 2n }],
    ['none after rounding', '0.01249999', '12499999999.99999999', { onLarge: 0n, fixed: 0n }],
    ['the smallest that a quote can show', '0.01250003', LARGE, { onLarge: 0n, fixed: 2n }],
    ['zero if less than a quote can show', '0.01250002', LARGE, { onLarge: 0n, fixed: 0n }],
  ])('is %s', (_name, small, large, fee) => {
    expect(feeOf(quote(small), quote(large))).toEqual(fee);
  });

  it.each([
    ['malformed coins', quote('1E+7'), quote(LARGE)],
    ['a malformed rate', quote('0.0125', 'None'), quote(LARGE)],
    ['a missing large quote', quote('0.0125'), quote('undefined')],
    ['a large quote without a rate', quote('0.0125'), quote(LARGE, '')],
  ])('is unknown for %s', (_name, small, large) => {
    expect(feeOf(small, large)).toBeNull();
  });
});

describe('withoutFee', () => {
  const PERCENT: Fee = { onLarge: 20_000_000_000n * USD, fixed: 0n };
  const FIXED: Fee = { onLarge: (3n * USD) / 2n, fixed: (3n * USD) / 2n };
  const BOTH: Fee = { ...PERCENT, fixed: (3n * USD) / 2n };

  it.each<[string, bigint, Fee, bigint]>([
    ['is the whole payment if there is no fee', 50n * USD, { onLarge: 0n, fixed: 0n }, 50n * USD],
    ['subtracts 2 percent', 51n * USD, PERCENT, 50n * USD],
    ['subtracts 2 percent, rounded down', 50n * USD, PERCENT, 49_019_607n],
    ['subtracts a fixed fee', 50n * USD, FIXED, 48_500_000n],
    ['subtracts the fixed fee if it is larger', 50n * USD, BOTH, 48_500_000n],
    ['subtracts the percentage if it is larger', 204n * USD, BOTH, 200n * USD],
    ['is zero if the payment is exactly the fee', (3n * USD) / 2n, FIXED, 0n],
    ['is never below zero', USD, FIXED, 0n],
  ])('%s', (_name, paid, fee, left) => {
    expect(withoutFee(paid, fee)).toBe(left);
  });
});
