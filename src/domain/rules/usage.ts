import type { Instance } from './lifecycle.js';
import { type Micro, shownCost, shownSpend, unitsOfUsage } from './money.js';
import { earlyExitUnitsAt, gpuSecondsAt, reservedUntilAt } from './reserved.js';
import { type Instant, latest } from './time.js';

/** Usage and cost of an instance up to a second. */
export interface Usage {
  gpuSeconds: bigint;
  diskSeconds: bigint;
  gpuCost: Micro;
  diskCost: Micro;
  earlyExit: Micro;
  /** Amount that minimums of preempting starts add to usage. */
  preemptionMinimum: Micro;
  total: Micro;
  asOf: Instant;
}

/**
 * Returns the usage. Each part is the rounded total including it less the rounded total before it, so that the parts
 * add up.
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

/** Returns the current end of the reserved term; null for other modes. */
export function termEndAt(instance: Instance, now: Instant): Instant | null {
  return reservedUntilAt(instance, seenAt(instance, now));
}

/** Returns what destroying the instance now would cost beyond usage. */
export function earlyExitCostAt(instance: Instance, now: Instant): Micro {
  return shownCost(earlyExitUnitsAt(instance, seenAt(instance, now)));
}

/**
 * Returns the second to show an instance at: for a destroyed one its end, and never before its last change, in case the
 * clock stepped back.
 */
export function seenAt(instance: Instance, now: Instant): Instant {
  if (instance.destroyedAt !== null) return instance.destroyedAt;
  return latest(now, instance.runningSince ?? instance.stoppedAt ?? instance.createdAt);
}
