import type { Instance } from './lifecycle.js';
import { type Micro, shownCost, shownSpend, unitsOfUsage } from './money.js';
import { earlyExitUnitsAt, gpuSecondsAt, reservedUntilAt } from './reserved.js';
import { type Instant, latest } from './time.js';

/** What an instance has used and cost up to a second. */
export interface Usage {
  gpuSeconds: bigint;
  diskSeconds: bigint;
  gpuCost: Micro;
  diskCost: Micro;
  earlyExit: Micro;
  /** What minimums of starts that preempted another instance add to usage. */
  preemptionMinimum: Micro;
  total: Micro;
  asOf: Instant;
}

/** Each part is the rounded total after it less the rounded total before it, so that the parts add up. */
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

/** The end of the reserved term as it stands now; null for other modes. */
export function termEndAt(instance: Instance, now: Instant): Instant | null {
  return reservedUntilAt(instance, seenAt(instance, now));
}

/** What destroying it now would cost beyond usage. */
export function earlyExitCostAt(instance: Instance, now: Instant): Micro {
  return shownCost(earlyExitUnitsAt(instance, seenAt(instance, now)));
}

/** A destroyed instance is seen as it was at its end; none is seen before its last change, should a clock step back. */
export function seenAt(instance: Instance, now: Instant): Instant {
  if (instance.destroyedAt !== null) return instance.destroyedAt;
  return latest(now, instance.runningSince ?? instance.stoppedAt ?? instance.createdAt);
}
