import type { Stretch } from './fleet.js';
import { dateOf, formatDay, type Instant, latest } from './time.js';

/**
 * Credits for a start's GPU seconds: only for what its renter can't cause (docs/billing.md, "Service credits"). Each
 * amount depends only on what was recorded of the start, not on when it is computed.
 */

/** Maximum seconds credited for a slow start. */
export const SLOW_START_SECONDS = 600n;
/** Maximum seconds credited per account and UTC day for starts of the operator's templates. */
export const TEMPLATE_START_SECONDS = 600n;
/**
 * Running seconds per second of grace: a stop gives a container one second to end for each this many that it ran in
 * that start.
 */
const RUN_SECONDS_PER_GRACE_SECOND = 60n;

/** A start: its charged seconds (`to` null while it runs), and what was observed of it. */
export interface ObservedStart {
  from: Instant;
  to: Instant | null;
  /** The first second in which its container was seen running. */
  runningAt: Instant | null;
  /** Whether it failed, and no image could have run on the host. */
  hostFault: boolean;
  /** Whether a template of the operator names its image. */
  operatorImage: boolean;
  /** End of the minimum if it preempted another instance; seconds before are charged in any case. */
  minimumUntil: Instant | null;
  /** End of its wait for a container of the same account; null if it did not wait. */
  ownWaitUntil: Instant | null;
  /** Whether it had volumes to restore: the duration and success of that depend on its renter. */
  restores: boolean;
}

export type StartCredit =
  | { reason: 'SLOW_START' | 'START_FAILED'; stretch: Stretch }
  /** Limited by the seconds left of the day's maximum. */
  | { reason: 'TEMPLATE_START'; stretch: Stretch; day: string };

/**
 * Returns the seconds of a start to credit, and why; `unknown` while that depends on the future. A stretch that ends
 * where it begins, or before, is empty. `now`: everything before it is known.
 */
export function creditOfStart(start: ObservedStart, now: Instant): StartCredit | null | 'unknown' {
  const { from, to, runningAt, hostFault, operatorImage, minimumUntil, ownWaitUntil, restores } = start;
  const begin = minimumUntil ?? from;
  if (runningAt !== null && (to === null || runningAt < to)) return slowStart(start, runningAt, now);
  // Other starts of the account may still end in the same second: those of a day are credited in a fixed order.
  if (to === null || to >= now) return 'unknown';
  if (hostFault) return { reason: 'START_FAILED', stretch: { from: begin, to } };
  if (!operatorImage || restores) return null;
  const waited = latest(begin, ownWaitUntil ?? begin);
  return { reason: 'TEMPLATE_START', stretch: { from: waited, to }, day: formatDay(dateOf(to - 1n)) };
}

/** Credits at most the seconds that are then paid for: repeated starts must not hold a machine at no cost. */
function slowStart(start: ObservedStart, runningAt: Instant, now: Instant): StartCredit | 'unknown' {
  const { from, to, minimumUntil, ownWaitUntil, restores } = start;
  const begin = latest(minimumUntil ?? from, ownWaitUntil ?? from);
  const lag = restores ? 0n : least(latest(runningAt - begin, 0n), SLOW_START_SECONDS);
  const ran = least(to ?? now, now) - latest(runningAt, from);
  if (ran < lag && (to === null || to >= now)) return 'unknown';
  return { reason: 'SLOW_START', stretch: { from: begin, to: begin + latest(least(lag, ran), 0n) } };
}

/**
 * Returns the maximum seconds between SIGTERM and SIGKILL that a stop gives a container that ran this long in that
 * start.
 */
export function stopGraceSeconds(ranSeconds: bigint): bigint {
  return latest(ranSeconds, 0n) / RUN_SECONDS_PER_GRACE_SECOND;
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
