import { type Rate, type Units, unitsOfUsage } from './money.js';
import type { PricingMode } from './price-rule.js';
import type { Instant } from './time.js';

/**
 * Whether a rental in this mode stops the interruptible instances that run on its GPUs, including those of its own
 * account. Interruptible rentals never preempt each other.
 */
export const canPreempt = (mode: PricingMode): boolean => mode !== 'INTERRUPTIBLE';

/** Whether an instance in this mode can be preempted. */
export const isPreemptible = (mode: PricingMode): boolean => mode === 'INTERRUPTIBLE';

/**
 * Minimum number of GPU seconds charged for a start that preempts an interruptible instance, no matter how that start
 * ends. Without this minimum, a renter could preempt other renters at no cost by destroying the new instance in the
 * same second. There is no minimum for renting a free machine.
 */
export const PREEMPTION_MINIMUM_SECONDS = 60n;

/** Returns when the minimum ends, or null if the start didn't preempt any instance. */
export function minimumUntilOf(startedAt: Instant, preempts: boolean): Instant | null {
  return preempts ? startedAt + PREEMPTION_MINIMUM_SECONDS : null;
}

/**
 * Returns the amount charged on top of usage if the GPU interval ends at `endedAt`. This is the remainder of the
 * minimum.
 */
export function minimumUnitsAt(
  { minimumUntil, gpuRate }: { minimumUntil: Instant | null; gpuRate: Rate },
  endedAt: Instant,
): Units {
  return minimumUntil !== null && minimumUntil > endedAt ? unitsOfUsage(gpuRate, minimumUntil - endedAt) : 0n;
}
