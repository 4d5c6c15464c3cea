import { GROUP, POINT } from './number.js';

/** An amount in whole micro-USD, as in the service. It is used only for display and is rounded down. */
export type Micro = bigint;

const SECONDS_PER_HOUR = 3_600n;

/** Converts the API's JSON number, which is exact to six decimals. */
export function micro(usd: number): Micro {
  return BigInt(Math.round(usd * 1e6));
}

/** Returns the cost for a number of seconds at an hourly rate, rounded down. */
export function accrued(ratePerHour: Micro, seconds: number): Micro {
  return (ratePerHour * BigInt(seconds)) / SECONDS_PER_HOUR;
}

/**
 * Formats an amount with `decimals` decimals, rounded towards minus infinity so that a balance is never shown too high.
 */
export function usd(amount: Micro, decimals = 2): string {
  const unit = 10n ** BigInt(6 - decimals);
  const units = amount / unit - (amount % unit < 0n ? 1n : 0n);
  const [sign, size] = units < 0n ? ['−', -units] : ['', units];
  const whole = (size / 10n ** BigInt(decimals)).toString().replace(/\B(?=(\d{3})+$)/g, GROUP);
  const part = (size % 10n ** BigInt(decimals)).toString().padStart(decimals, '0');
  return decimals === 0 ? sign + whole : `${sign}${whole}${POINT}${part}`;
}

/**
 * Formats a sum with two decimals. A smaller amount than a cent, including a negative one, is shown as such, because it
 * isn't nothing.
 */
export const sum = (amount: Micro): string =>
  amount !== 0n && amount > -10_000n && amount < 10_000n ? `<${usd(10_000n)}` : usd(amount);

/** Formats an amount with all its decimals. */
export const exact = (amount: Micro): string => usd(amount, 6);

/** Formats an amount for other programs, the same in every language: "-1234.560000". */
export function plainUsd(amount: Micro): string {
  const [sign, size] = amount < 0n ? ['-', -amount] : ['', amount];
  return `${sign}${size / 1_000_000n}.${(size % 1_000_000n).toString().padStart(6, '0')}`;
}

/**
 * Formats a rate with at least `decimals` decimals. If the rate has more, such as half a cent, they are shown as well.
 */
export function rate(amount: Micro, decimals = 2): string {
  let places = 6;
  while (places > decimals && amount % 10n ** BigInt(7 - places) === 0n) places -= 1;
  return usd(amount, places);
}

/** Returns the fewest decimals, but at least `decimals`, that show every non-zero digit of a column's rates. */
export const decimalsOf = (amounts: readonly Micro[], decimals = 2): number =>
  Math.max(decimals, ...amounts.map((amount) => rate(amount).split(POINT)[1]!.length));

/** Formats a column's rates with as many decimals as the longest one needs, so that they align. */
export function rates(amounts: readonly Micro[], decimals?: number): string[] {
  const places = decimalsOf(amounts, decimals);
  return amounts.map((amount) => usd(amount, places));
}
