import type { Stretch } from './fleet.js';
import { dateOf, formatDay, type Instant, latest } from './time.js';

/**
 * What a start gives back of its GPU seconds: only what its renter can't cause (docs/billing.md, "Given back"). Each
 * amount is made of what was noted of the start, and is the same whenever it is looked at.
 */

/** Seconds that a slow start gives back at most. */
export const SLOW_START_SECONDS = 600n;
/** Seconds of starts of the operator's templates that an account gets back in a UTC day at most. */
export const TEMPLATE_START_SECONDS = 600n;
/** A stop leaves a container one second to end by itself for each so many that it ran in that start. */
const RUN_SECONDS_PER_GRACE_SECOND = 60n;

/** A start: its charged seconds (`to` null while they go on), and what was seen of it. */
export interface ObservedStart {
  from: Instant;
  to: Instant | null;
  /** The first second in which its container was seen running. */
  runningAt: Instant | null;
  /** It failed, and no image could have run on the host. */
  hostFault: boolean;
  /** Its image is one that a template of the operator's names. */
  operatorImage: boolean;
  /** It sent another instance away: what is before is paid for in any case. */
  minimumUntil: Instant | null;
  /** Until when it waited for a container of the same account; null when it did not. */
  ownWaitUntil: Instant | null;
  /** It had volumes with something to restore: how long that takes, and whether it succeeds, is for its renter to make. */
  restores: boolean;
}

export type StartCredit =
  | { reason: 'SLOW_START' | 'START_FAILED'; stretch: Stretch }
  /** As far as the day's seconds last. */
  | { reason: 'TEMPLATE_START'; stretch: Stretch; day: string };

/**
 * The seconds of a start that are given back, and why: `unknown` while that depends on what is to come. A stretch that
 * ends where it begins, or before, is empty. `now`: what happened before it is known.
 */
export function creditOfStart(start: ObservedStart, now: Instant): StartCredit | null | 'unknown' {
  const { from, to, runningAt, hostFault, operatorImage, minimumUntil, ownWaitUntil, restores } = start;
  const begin = minimumUntil ?? from;
  if (runningAt !== null && (to === null || runningAt < to)) return slowStart(start, runningAt, now);
  // Others of the account may still end in the same second: those of a day are taken in a fixed order.
  if (to === null || to >= now) return 'unknown';
  if (hostFault) return { reason: 'START_FAILED', stretch: { from: begin, to } };
  if (!operatorImage || restores) return null;
  const waited = latest(begin, ownWaitUntil ?? begin);
  return { reason: 'TEMPLATE_START', stretch: { from: waited, to }, day: formatDay(dateOf(to - 1n)) };
}

/** At most what is then paid for: nobody holds a machine for nothing by starting again and again. */
function slowStart(start: ObservedStart, runningAt: Instant, now: Instant): StartCredit | 'unknown' {
  const { from, to, minimumUntil, ownWaitUntil, restores } = start;
  const begin = latest(minimumUntil ?? from, ownWaitUntil ?? from);
  const lag = restores ? 0n : least(latest(runningAt - begin, 0n), SLOW_START_SECONDS);
  const ran = least(to ?? now, now) - latest(runningAt, from);
  if (ran < lag && (to === null || to >= now)) return 'unknown';
  return { reason: 'SLOW_START', stretch: { from: begin, to: begin + latest(least(lag, ran), 0n) } };
}

/** Seconds between SIGTERM and SIGKILL that a stop leaves a container at most which ran so long in that start. */
export function stopGraceSeconds(ranSeconds: bigint): bigint {
  return latest(ranSeconds, 0n) / RUN_SECONDS_PER_GRACE_SECOND;
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
