import { CENT, type Micro, sumOf } from './money.js';

/** Rounds down to whole cents, also below zero. */
export const downToCent = (amount: Micro): Micro => amount - (((amount % CENT) + CENT) % CENT);

/**
 * Rounds amounts to whole cents that add up to `target`, which is their sum in whole cents. The amounts with the largest
 * remainders are rounded up. Earlier ones come first if two are equal.
 */
export function inCents(amounts: readonly Micro[], target: Micro): Micro[] {
  const rounded = amounts.map((amount) => downToCent(amount));
  let missing = (target - sumOf(rounded)) / CENT;
  const remainders = amounts.map((amount, index) => ({ index, size: amount - rounded[index]! }));
  for (const { index } of remainders.toSorted((one, other) => Number(other.size - one.size))) {
    if (missing <= 0n) break;
    rounded[index]! += CENT;
    missing -= 1n;
  }
  return rounded;
}

/** Rounds amounts to whole cents that add up to their sum, which is rounded down like any other amount. */
export const inCentsOfSum = (amounts: readonly Micro[]): Micro[] => inCents(amounts, downToCent(sumOf(amounts)));

/** Rounds the changes of a balance so that the balance before plus all of them is the balance after, as displayed. */
export const inCentsBetween = (before: Micro, after: Micro, changes: readonly Micro[]): Micro[] =>
  inCents(changes, downToCent(after) - downToCent(before));
