import { type Rate, type Units, unitsOfUsage } from './money.js';
import type { Instant } from './time.js';

/**
 * GPU seconds that a start is paid for at least when it sends an interruptible instance away, whatever ends it. Without
 * it a destroy in the same second would send anybody away for nothing. Renting what is free has no minimum.
 */
export const PREEMPTION_MINIMUM_SECONDS = 60n;

/** The end of the seconds that are paid for in any case; null when the start sent nobody away. */
export function minimumUntilOf(startedAt: Instant, preempts: boolean): Instant | null {
  return preempts ? startedAt + PREEMPTION_MINIMUM_SECONDS : null;
}

/** What is charged beside usage when its GPU interval ends at `endedAt`: the rest of the minimum. */
export function minimumUnitsAt(
  { minimumUntil, gpuRate }: { minimumUntil: Instant | null; gpuRate: Rate },
  endedAt: Instant,
): Units {
  return minimumUntil !== null && minimumUntil > endedAt ? unitsOfUsage(gpuRate, minimumUntil - endedAt) : 0n;
}
