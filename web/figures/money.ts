import { GROUP, POINT } from './number.js';

/** Money in the page, as in the service: whole micro-USD. Rounded down, and only for display. */
export type Micro = bigint;

const SECONDS_PER_HOUR = 3_600n;

/** Converts the API's JSON number, which is exact to six decimals. */
export function micro(usd: number): Micro {
  return BigInt(Math.round(usd * 1e6));
}

/** Returns the cost at an hourly rate for a number of seconds, rounded down. */
export function accrued(ratePerHour: Micro, seconds: number): Micro {
  return (ratePerHour * BigInt(seconds)) / SECONDS_PER_HOUR;
}

/** Formats with `decimals` decimals, rounded towards minus infinity: a balance is never shown too large. */
export function usd(amount: Micro, decimals = 2): string {
  const unit = 10n ** BigInt(6 - decimals);
  const units = amount / unit - (amount % unit < 0n ? 1n : 0n);
  const [sign, size] = units < 0n ? ['−', -units] : ['', units];
  const whole = (size / 10n ** BigInt(decimals)).toString().replace(/\B(?=(\d{3})+$)/g, GROUP);
  const part = (size % 10n ** BigInt(decimals)).toString().padStart(decimals, '0');
  return decimals === 0 ? sign + whole : `${sign}${whole}${POINT}${part}`;
}

/** Formats for other programs, the same in every language: "-1234.560000". */
export function plainUsd(amount: Micro): string {
  const [sign, size] = amount < 0n ? ['-', -amount] : ['', amount];
  return `${sign}${size / 1_000_000n}.${(size % 1_000_000n).toString().padStart(6, '0')}`;
}

/** Formats a rate with at least `decimals` decimals, and more if it has them, so that half a cent is visible. */
export function rate(amount: Micro, decimals = 2): string {
  let places = 6;
  while (places > decimals && amount % 10n ** BigInt(7 - places) === 0n) places -= 1;
  return usd(amount, places);
}

/** Formats the rates of one column with the decimals of the longest, so that they align. */
export function rates(amounts: readonly Micro[]): string[] {
  const places = Math.max(...amounts.map((amount) => rate(amount).split(POINT)[1]!.length));
  return amounts.map((amount) => rate(amount, places));
}
