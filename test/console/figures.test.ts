import { describe, expect, it } from 'vitest';
import { csv } from '../../web/figures/csv.js';
import { accrued, micro, rate, usd } from '../../web/figures/money.js';
import { duration } from '../../web/figures/time.js';

describe('money in the page', () => {
  it('is exact: each of the API’s numbers to six decimals is the micro-USD it stands for', () => {
    expect([0.000001, 0.1, 99.992308, 1e6 + 0.000001, -2.5].map(micro)).toEqual([
      1n,
      100_000n,
      99_992_308n,
      1_000_000_000_001n,
      -2_500_000n,
    ]);
  });

  it.each([
    [99_999_999n, 2, '99.99'],
    [100_000_000n, 2, '100.00'],
    [-1n, 2, '−0.01'],
    [-10_000n, 2, '−0.01'],
    [0n, 4, '0.0000'],
    [1_234_567_890_123n, 2, '1,234,567.89'],
    [5_000_000n, 0, '5'],
  ])('%s is shown with %s decimals as %s, never as more than it is', (amount, decimals, text) => {
    expect(usd(amount, decimals)).toBe(text);
  });

  it.each([
    [440_000n, '0.44'],
    [286_000n, '0.286'],
    [3_867_500n, '3.8675'],
    [5_000_000n, '5.00'],
    [0n, '0.00'],
  ])('the rate %s is shown as %s', (amount, text) => {
    expect(rate(amount)).toBe(text);
  });

  it('accrues by the second, rounded down', () => {
    expect(accrued(440_000n, 82)).toBe(10_022n);
    expect(accrued(1n, 3_599)).toBe(0n);
    expect(accrued(1n, 3_600)).toBe(1n);
  });
});

describe('spans of time', () => {
  it.each([
    [0, '0 s'],
    [59, '59 s'],
    [125, '2 min 5 s'],
    [3_600, '1 h'],
    [90_000, '1 d 1 h'],
    [86_400 * 9 + 59, '9 d'],
  ])('%s s are shown as %s', (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });
});

describe('a statement as CSV', () => {
  it('is quoted where it has to be, and no text of it is a formula', () => {
    expect(csv([['a,b', 'say "hi"', '=1+1', '@x', '-2.5', 'plain']])).toBe(
      '"a,b","say ""hi""",\'=1+1,\'@x,-2.5,plain\r\n',
    );
  });
});
