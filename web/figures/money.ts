import { GROUP, POINT } from './number.js';

/** An amount in whole micro-USD, as in the service. It is used only for display and is rounded down. */
export type Micro = bigint;

const SECONDS_PER_HOUR = 3_600n;
export const CENT: Micro = 10_000n;

/** Adds up amounts. */
export const sumOf = (amounts: readonly Micro[]): Micro => amounts.reduce((total, amount) => total + amount, 0n);

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

/** Formats a sum with two decimals. One of less than a cent is shown as such, because it isn't nothing. */
export const sum = (amount: Micro): string => (amount > 0n && amount < CENT ? `<${usd(CENT)}` : usd(amount));

/** Formats an amount with all its decimals. */
export const exact = (amount: Micro): string => usd(amount, 6);

/** Formats an amount for other programs, the same in every language: "-1234.560000". */
export function plainUsd(amount: Micro): string {
  const [sign, size] = amount < 0n ? ['-', -amount] : ['', amount];
  return `${sign}${size / 1_000_000n}.${(size % 1_000_000n).toString().padStart(6, '0')}`;
}

const MILLI = 1_000n;

/**
 * Formats a rate with three decimals, rounded to the nearest, so that the rates of a list align. A rate that would be
 * shown as nothing is shown as less than the smallest one.
 */
export function rate(amount: Micro): string {
  const nearest = (amount + MILLI / 2n) / MILLI;
  return amount > 0n && nearest === 0n ? `<${usd(MILLI, 3)}` : usd(nearest * MILLI, 3);
}

/** Formats a rate that isn't compared with others: whole cents have two decimals. */
export const loneRate = (amount: Micro): string => (amount % CENT === 0n ? usd(amount) : rate(amount));
