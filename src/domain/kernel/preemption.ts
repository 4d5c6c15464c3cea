import { type Rate, type Units, unitsOfUsage } from './money.js';
import type { Instant } from './time.js';

/**
 * Minimum GPU seconds charged for a start that preempts an interruptible instance, no matter how the start ends.
 * Without this minimum, a renter could preempt another one at no cost by destroying the instance in the same second.
 * Renting a free machine has no minimum.
 */
export const PREEMPTION_MINIMUM_SECONDS = 60n;

/** Returns when the minimum ends, or null if the start didn't preempt anything. */
export function minimumUntilOf(startedAt: Instant, preempts: boolean): Instant | null {
  return preempts ? startedAt + PREEMPTION_MINIMUM_SECONDS : null;
}

/**
 * Returns what is charged in addition to usage if the GPU interval ends at `endedAt`, which is the rest of the minimum.
 */
export function minimumUnitsAt(
  { minimumUntil, gpuRate }: { minimumUntil: Instant | null; gpuRate: Rate },
  endedAt: Instant,
): Units {
  return minimumUntil !== null && minimumUntil > endedAt ? unitsOfUsage(gpuRate, minimumUntil - endedAt) : 0n;
}
