import { required } from '../../std/required.js';
import { MICRO_PER_USD, type Micro } from './money.js';

/**
 * Amounts as decimal strings, which are exact at any length. Coin amounts can have 18 decimals and rates 28, which
 * neither floats nor micro-USD can represent.
 */

/** Maximum number of decimals in .NET's decimal type, which is used by BTCPay Server. */
const MAX_DECIMALS = 28;
const DECIMAL = /^(\d{1,24})(?:\.(\d{1,28}))?$/;

/** A value as digits and a scale. For example, 12.5 is 125 at scale 1. */
interface Scaled {
  digits: bigint;
  scale: number;
}

function scaledOf(text: string): Scaled | null {
  const match = DECIMAL.exec(text);
  if (match === null) return null;
  const [, whole = '', decimals = ''] = match;
  return { digits: BigInt(whole + decimals), scale: decimals.length };
}

/**
 * Whether a text consists of plain digits with an optional decimal point. It can't have a sign or an exponent, and it
 * can have at most 24 digits before the point and `maxDecimals` after it.
 */
export function isDecimal(text: unknown, maxDecimals = MAX_DECIMALS): text is string {
  const match = typeof text === 'string' ? DECIMAL.exec(text) : null;
  return match !== null && (match[2]?.length ?? 0) <= maxDecimals;
}

/** Removes trailing zeros, so that 0.50 and 0.5 become the same string. */
export function tidyDecimal(text: string): string {
  const [whole = '', decimals = ''] = text.split('.');
  const short = decimals.replace(/0+$/, '');
  const front = whole.replace(/^0+(?=\d)/, '');
  return short === '' ? front : `${front}.${short}`;
}

/** Converts a decimal string in USD to micro-USD, rounding down once. Returns null for any other text. */
export function microOf(text: string): Micro | null {
  const scaled = scaledOf(text);
  return scaled && (scaled.digits * MICRO_PER_USD) / 10n ** BigInt(scaled.scale);
}

/** Converts a number of coins to micro-USD, rounding down once. The rate is in USD per coin. */
export function microOfCoins(coins: string, rate: string): Micro | null {
  const [amount, price] = [scaledOf(coins), scaledOf(rate)];
  if (amount === null || price === null) return null;
  return (amount.digits * price.digits * MICRO_PER_USD) / 10n ** BigInt(amount.scale + price.scale);
}

/** Subtracts the second decimal string from the first. Returns zero if the result would be negative. */
export function subtractDecimals(first: string, second: string): string {
  const [a, b] = [scaledOf(first), scaledOf(second)];
  if (a === null || b === null) throw new RangeError('not a decimal');
  const scale = Math.max(a.scale, b.scale);
  const difference = a.digits * 10n ** BigInt(scale - a.scale) - b.digits * 10n ** BigInt(scale - b.scale);
  return unscaled(difference < 0n ? 0n : difference, scale);
}

/**
 * Returns the rate in USD per coin at which an amount was credited, rounded down to 6 decimals. Returns null if there
 * are no coins.
 */
export function rateOf(micro: Micro, coins: string): string | null {
  const amount = scaledOf(coins);
  if (amount === null || amount.digits === 0n) return null;
  return unscaled((micro * 10n ** BigInt(amount.scale)) / amount.digits, 6);
}

/**
 * Returns an amount in the smallest units of a coin with `decimals` decimals, as required by EIP-681. Any further
 * decimals are dropped.
 */
export function smallestUnits(coins: string, decimals: number): bigint {
  const { digits, scale } = required(scaledOf(coins), 'decimal amount');
  return (digits * 10n ** BigInt(decimals)) / 10n ** BigInt(scale);
}

function unscaled(digits: bigint, scale: number): string {
  if (scale === 0) return digits.toString();
  const text = digits.toString().padStart(scale + 1, '0');
  return tidyDecimal(`${text.slice(0, -scale)}.${text.slice(-scale)}`);
}
