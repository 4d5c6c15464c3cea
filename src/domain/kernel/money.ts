/** Micro-USD per hour. */
export type Rate = bigint;
/** Micro-USD, the smallest amount that is ever displayed. */
export type Micro = bigint;
/** 1/3600 micro-USD, the cost of one second at a rate of one. It is the smallest possible amount, so sums are exact. */
export type Units = bigint;

export const MICRO_PER_USD = 1_000_000n;
const UNITS_PER_MICRO = 3_600n;
export const UNITS_PER_USD = MICRO_PER_USD * UNITS_PER_MICRO;
const MICRO_DIGITS = 6;

export function unitsOfUsage(rate: Rate, seconds: bigint): Units {
  return rate * seconds;
}

export function unitsOfMicro(micro: Micro): Units {
  return micro * UNITS_PER_MICRO;
}

/** Rounds spend down to whole micro-USD for display. */
export function shownSpend(units: Units): Micro {
  return floorDivide(units, UNITS_PER_MICRO);
}

/** Adds up amounts. Each is rounded so that all of them add up to the change of the displayed total. */
export function shownSum(before: Units) {
  let total = before;
  return {
    add: (units: Units): Micro => {
      const shown = shownSpend(total);
      total += units;
      return shownSpend(total) - shown;
    },
    total: () => total,
  };
}

/** Rounds a future cost up to whole micro-USD for display. */
export function shownCost(units: Units): Micro {
  return ceilDivide(units, UNITS_PER_MICRO);
}

/** Returns the balance for display. It is credit minus the displayed spend, so that the displayed amounts add up. */
export function shownBalance(creditUnits: Units, spendUnits: Units): Micro {
  return floorDivide(creditUnits, UNITS_PER_MICRO) - shownSpend(spendUnits);
}

/** Rounds towards negative infinity. */
export function floorDivide(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  return dividend % divisor !== 0n && dividend < 0n !== divisor < 0n ? quotient - 1n : quotient;
}

/** Rounds towards positive infinity. */
export function ceilDivide(dividend: bigint, divisor: bigint): bigint {
  return -floorDivide(-dividend, divisor);
}

/**
 * Parses a decimal string with up to 12 digits before the point and up to 6 decimals, and returns exact micro-USD.
 * Returns null for any other text.
 */
export function parseUsd(text: string): Micro | null {
  const match = /^([+-]?)(\d{1,12})(?:\.(\d{1,6}))?$/.exec(text);
  if (match === null) return null;
  const [, sign, whole = '', decimals = ''] = match;
  const micro = BigInt(whole) * MICRO_PER_USD + BigInt(decimals.padEnd(MICRO_DIGITS, '0'));
  return sign === '-' ? -micro : micro;
}

/**
 * Converts a JSON number to exact micro-USD. Returns null if it has more than 12 digits before the point or more than 6
 * decimals.
 */
export function microOfUsd(usd: number): Micro | null {
  const micro = parseUsd(usd.toFixed(MICRO_DIGITS));
  return micro !== null && usdNumber(micro) === usd ? micro : null;
}

/** Formats an amount with 2 to 6 decimals, such as 100.00 or 0.000139. */
export function formatUsd(micro: Micro): string {
  const absolute = micro < 0n ? -micro : micro;
  const decimals = (absolute % MICRO_PER_USD)
    .toString()
    .padStart(MICRO_DIGITS, '0')
    .replace(/0{1,4}$/, '');
  return `${micro < 0n ? '-' : ''}${absolute / MICRO_PER_USD}.${decimals}`;
}

/** Returns the nearest JSON number, which is exact to 6 decimals for amounts up to 8 billion USD. */
export function usdNumber(micro: Micro): number {
  return Number(micro) / Number(MICRO_PER_USD);
}

/**
 * Returns the largest whole number of micro-USD that doesn't exceed a JSON number. Used for limits given by callers as
 * floats.
 */
export function microNotAbove(usd: number): Micro {
  const nearest = BigInt(Math.round(usd * Number(MICRO_PER_USD)));
  return usdNumber(nearest) > usd ? nearest - 1n : nearest;
}
