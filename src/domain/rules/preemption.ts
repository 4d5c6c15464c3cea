import { type Rate, type Units, unitsOfUsage } from './money.js';
import type { Instant } from './time.js';

/**
 * Minimum GPU seconds charged for a start that preempts an interruptible instance, regardless of how it ends. Without
 * it, a destroy in the same second would preempt a renter at no cost. Renting a free machine has no minimum.
 */
export const PREEMPTION_MINIMUM_SECONDS = 60n;

/** Returns the end of the minimum; null if the start preempted nothing. */
export function minimumUntilOf(startedAt: Instant, preempts: boolean): Instant | null {
  return preempts ? startedAt + PREEMPTION_MINIMUM_SECONDS : null;
}

/** Returns the charge in addition to usage if the GPU interval ends at `endedAt`: the rest of the minimum. */
export function minimumUnitsAt(
  { minimumUntil, gpuRate }: { minimumUntil: Instant | null; gpuRate: Rate },
  endedAt: Instant,
): Units {
  return minimumUntil !== null && minimumUntil > endedAt ? unitsOfUsage(gpuRate, minimumUntil - endedAt) : 0n;
}
