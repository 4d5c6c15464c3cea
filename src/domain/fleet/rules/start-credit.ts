import type { Stretch } from '../../kernel/fleet.js';
import { dateOf, formatDay, type Instant, latest } from '../../kernel/time.js';

/**
 * Credits for the GPU seconds of a start. They are issued only for delays and failures that the renter can't cause
 * (docs/billing.md, "Service credits"). Each amount depends only on the facts recorded about the start, not on when it
 * is computed.
 */

/** Maximum number of seconds credited for a slow start. */
export const SLOW_START_SECONDS = 600n;
/** Maximum number of seconds credited per account and UTC day for starts of the operator's templates. */
export const TEMPLATE_START_SECONDS = 600n;
/** When stopped, a container gets one second to exit for every this many seconds it has run since its start. */
const RUN_SECONDS_PER_GRACE_SECOND = 60n;

/** A start, with the seconds charged for it (`to` is null while it runs) and the facts observed about it. */
export interface ObservedStart {
  from: Instant;
  to: Instant | null;
  /** The first second in which the start's container was seen running. */
  runningAt: Instant | null;
  /** Whether the start failed for a reason that would have prevented any image from running on the host. */
  hostFault: boolean;
  /** Whether the start's image is named by one of the operator's templates. */
  operatorImage: boolean;
  /** When the minimum billed time ends, if the start preempted another instance. Time before this is always charged. */
  minimumUntil: Instant | null;
  /** When the start stopped waiting for another container of the same account. Null if it didn't have to wait. */
  ownWaitUntil: Instant | null;
  /** Whether the start had volumes to restore. How long that takes, and whether it succeeds, depends on the renter. */
  restores: boolean;
}

export type StartCredit =
  | { reason: 'SLOW_START' | 'START_FAILED'; stretch: Stretch }
  /** Limited by the remainder of the day's maximum. */
  | { reason: 'TEMPLATE_START'; stretch: Stretch; day: string };

/**
 * Returns which seconds of a start to credit and why, or `unknown` while that depends on the future. Everything before
 * `now` is known. A stretch is empty if it doesn't end after it begins.
 */
export function creditOfStart(start: ObservedStart, now: Instant): StartCredit | null | 'unknown' {
  const { from, to, runningAt, hostFault, operatorImage, minimumUntil, ownWaitUntil, restores } = start;
  const begin = minimumUntil ?? from;
  if (runningAt !== null && (to === null || runningAt < to)) return slowStart(start, runningAt, now);
  // The account's other starts can still end in the same second, and all starts of a day are credited in a fixed order.
  if (to === null || to >= now) return 'unknown';
  if (hostFault) return { reason: 'START_FAILED', stretch: { from: begin, to } };
  if (!operatorImage || restores) return null;
  const waited = latest(begin, ownWaitUntil ?? begin);
  return { reason: 'TEMPLATE_START', stretch: { from: waited, to }, day: formatDay(dateOf(to - 1n)) };
}

/**
 * Credits at most as many seconds as are paid for afterwards. Otherwise, a renter could hold a machine at no cost with
 * repeated starts.
 */
function slowStart(start: ObservedStart, runningAt: Instant, now: Instant): StartCredit | 'unknown' {
  const { from, to, minimumUntil, ownWaitUntil, restores } = start;
  const begin = latest(minimumUntil ?? from, ownWaitUntil ?? from);
  const lag = restores ? 0n : least(latest(runningAt - begin, 0n), SLOW_START_SECONDS);
  const ran = least(to ?? now, now) - latest(runningAt, from);
  if (ran < lag && (to === null || to >= now)) return 'unknown';
  return { reason: 'SLOW_START', stretch: { from: begin, to: begin + latest(least(lag, ran), 0n) } };
}

/**
 * Returns the maximum number of seconds between SIGTERM and SIGKILL when stopping a container that has run for this
 * long since its start.
 */
export function stopGraceSeconds(ranSeconds: bigint): bigint {
  return latest(ranSeconds, 0n) / RUN_SECONDS_PER_GRACE_SECOND;
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
