import type { Instance } from '../../kernel/lifecycle.js';
import { type Micro, shownCost, shownSpend, unitsOfUsage } from '../../kernel/money.js';
import { earlyExitUnitsAt, gpuSecondsAt, reservedUntilAt } from '../../kernel/reserved.js';
import { type Instant, latest } from '../../kernel/time.js';

/** An instance's usage and cost up to a given second. */
export interface Usage {
  gpuSeconds: bigint;
  diskSeconds: bigint;
  gpuCost: Micro;
  diskCost: Micro;
  earlyExit: Micro;
  /** The amount by which the minimums of preempting starts exceed the usage of those starts. */
  preemptionMinimum: Micro;
  total: Micro;
  asOf: Instant;
}

/**
 * Returns an instance's usage. Each part is the rounded total including it minus the rounded total before it, so that
 * the parts add up.
 */
export function usageAt(instance: Instance, now: Instant): Usage {
  const at = seenAt(instance, now);
  const gpuSeconds = gpuSecondsAt(instance, at);
  const diskSeconds = at - instance.createdAt;
  const gpuUnits = unitsOfUsage(instance.gpuRate, gpuSeconds);
  const usageUnits = gpuUnits + unitsOfUsage(instance.diskRate, diskSeconds);
  const gpuCost = shownSpend(gpuUnits);
  const usage = shownSpend(usageUnits);
  const beforeMinimum = shownSpend(usageUnits + instance.earlyExitUnits);
  const total = shownSpend(usageUnits + instance.earlyExitUnits + instance.minimumUnits);
  return {
    gpuSeconds,
    diskSeconds,
    gpuCost,
    diskCost: usage - gpuCost,
    earlyExit: beforeMinimum - usage,
    preemptionMinimum: total - beforeMinimum,
    total,
    asOf: at,
  };
}

/** Returns when the reserved term ends, as of `now`, or null in other modes. */
export function termEndAt(instance: Instance, now: Instant): Instant | null {
  return reservedUntilAt(instance, seenAt(instance, now));
}

/** Returns the cost of destroying the instance now, on top of its usage. */
export function earlyExitCostAt(instance: Instance, now: Instant): Micro {
  return shownCost(earlyExitUnitsAt(instance, seenAt(instance, now)));
}

/**
 * Returns the second for which an instance's figures are shown. For a destroyed instance, this is when it was
 * destroyed. It is never before the last change, in case the clock stepped back.
 */
export function seenAt(instance: Instance, now: Instant): Instant {
  if (instance.destroyedAt !== null) return instance.destroyedAt;
  return latest(now, instance.runningSince ?? instance.stoppedAt ?? instance.createdAt);
}
