import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isDecimal,
  microOf,
  microOfCoins,
  rateOf,
  smallestUnits,
  subtractDecimals,
  tidyDecimal,
} from '../../src/domain/kernel/decimal.js';

const MILLION = 1_000_000n;

/** Plain digits, and the whole number that they represent with `scale` decimals. */
const decimals = fc
  .record({ digits: fc.bigInt(0n, 10n ** 24n - 1n), scale: fc.integer({ min: 0, max: 24 }) })
  .map(({ digits, scale }) => {
    const text = digits.toString().padStart(scale + 1, '0');
    return { digits, scale, text: scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}` };
  });

/** Returns the value with 48 decimals, which is enough for all of these values. */
const exact = (text: string) => {
  const [whole, rest = ''] = text.split('.');
  return BigInt(whole! + rest.padEnd(48, '0'));
};

describe('decimal text', () => {
  it.each(['0', '1', '0.5', '00.50', '9'.repeat(24), `0.${'9'.repeat(28)}`, `${'9'.repeat(24)}.${'9'.repeat(28)}`])(
    'can be %s',
    (text) => {
      expect(isDecimal(text)).toBe(true);
    },
  );

  it.each([
    '',
    '.',
    '.5',
    '5.',
    '-1',
    '+1',
    '1e3',
    ' 1',
    '1 ',
    '1,5',
    '1.2.3',
    '1\n',
    '９',
    '9'.repeat(25),
    `0.${'9'.repeat(29)}`,
  ])("can't be %j", (text) => {
    expect([
      isDecimal(text),
      microOf(text),
      microOfCoins(text, '1'),
      microOfCoins('1', text),
      rateOf(1n, text),
    ]).toEqual([false, null, null, null, null]);
    expect(() => subtractDecimals(text, '1')).toThrow(new RangeError('not a decimal'));
    expect(() => subtractDecimals('1', text)).toThrow(new RangeError('not a decimal'));
  });

  it('must be a string, with at most the requested number of decimals', () => {
    for (const other of [1, 1n, null, undefined, {}, ['1']]) expect(isDecimal(other)).toBe(false);
    expect([isDecimal('1', 0), isDecimal('1.5', 0), isDecimal('1.55', 2), isDecimal('1.555', 2)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });

  it.each([
    ['0', '0'],
    ['000', '0'],
    ['0.50', '0.5'],
    ['10', '10'],
    ['0010.0100', '10.01'],
    ['1.000', '1'],
    ['00.10', '0.1'],
  ])('%s is normalized to %s', (text, tidy) => {
    expect(tidyDecimal(text)).toBe(tidy);
  });
});

describe('amounts', () => {
  it('in micro-USD are exact and rounded down once', () => {
    fc.assert(
      fc.property(decimals, decimals, (one, other) => {
        expect(microOf(one.text)).toBe((one.digits * MILLION) / 10n ** BigInt(one.scale));
        const product = (one.digits * other.digits * MILLION) / 10n ** BigInt(one.scale + other.scale);
        expect(microOfCoins(one.text, other.text)).toBe(product);
      }),
    );
    expect([microOf('0.0000019'), microOf('12.5'), microOfCoins('0.625', '80')]).toEqual([
      1n,
      12_500_000n,
      50_000_000n,
    ]);
  });

  it('are subtracted exactly and never fall below zero', () => {
    fc.assert(
      fc.property(decimals, decimals, (one, other) => {
        const left = exact(one.text) - exact(other.text);
        const text = subtractDecimals(one.text, other.text);
        expect(exact(text)).toBe(left < 0n ? 0n : left);
        expect(tidyDecimal(text)).toBe(text);
      }),
    );
    expect([subtractDecimals('1', '0.5'), subtractDecimals('0.5', '1'), subtractDecimals('10', '3')]).toEqual([
      '0.5',
      '0',
      '7',
    ]);
  });

  it('give a rate per coin, rounded down to 6 decimals, unless there are no coins', () => {
    expect(rateOf(50_000_000n, '0.625')).toBe('80');
    expect(rateOf(1_000_000n, '3')).toBe('0.333333');
    expect(rateOf(2_000_000n, '3')).toBe('0.666666');
    expect(rateOf(12_345_678n, '1')).toBe('12.345678');
    expect([rateOf(1n, '0'), rateOf(1n, '0.00')]).toEqual([null, null]);
  });

  it('in a coin’s smallest units are truncated', () => {
    expect(smallestUnits('1.5', 18)).toBe(1_500_000_000_000_000_000n);
    expect(smallestUnits('0.1234567', 6)).toBe(123_456n);
    expect(smallestUnits('2', 0)).toBe(2n);
  });
});
