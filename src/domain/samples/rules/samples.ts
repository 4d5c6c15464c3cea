import { DomainError } from '../../kernel/errors.js';
import { type Instant, SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../../kernel/time.js';

/** Length of a clock slot, in seconds. One sample per instance counts in each slot. Agents use the same slots. */
export const SAMPLE_SECONDS = 10;
/** Maximum number of samples per instance in a report. An agent keeps up to this many while it can't send reports. */
export const MAX_SAMPLES_OF_INSTANCE = 6;
/** Maximum age of a load, in seconds. */
export const LOAD_SECONDS = 60n;
/** Maximum number of points in a response. */
export const MAX_POINTS = 1_000;
export const DEFAULT_POINTS = 360;
const DEFAULT_RANGE_SECONDS = SECONDS_PER_HOUR;

/**
 * Retention periods for samples, finest step first. Each step consists of means over `seconds`, which are kept for
 * `keptSeconds`.
 */
export const STEPS = [
  { seconds: SAMPLE_SECONDS, keptSeconds: SECONDS_PER_HOUR },
  { seconds: 60, keptSeconds: 2n * SECONDS_PER_DAY },
  { seconds: 900, keptSeconds: 90n * SECONDS_PER_DAY },
] as const;
const MAX_RANGE_SECONDS = STEPS[2].keptSeconds;

/**
 * Returns the start of the step that contains the instant. Steps are `seconds` long and counted from the Unix epoch.
 */
export function stepOf(at: Instant, seconds: number): Instant {
  return at - (at % BigInt(seconds));
}

/**
 * Maximum differences between the slot assigned to a sample and the slot that follows from its age. They can differ
 * because ages are in whole seconds and connections may be slow.
 */
const MAX_LATER_SECONDS = BigInt(SAMPLE_SECONDS);
const MAX_EARLIER_SECONDS = 2n * BigInt(SAMPLE_SECONDS);

/**
 * Returns the slot of a sample received at `at`. This is the slot assigned by the agent, so that two consecutive
 * samples are in two slots no matter when they arrive. If the agent didn't assign a slot, or if that slot is in the
 * future or inconsistent with the sample's age, the slot follows from the age.
 */
export function slotOf({ slot, age }: { slot?: number | undefined; age: number }, at: Instant): Instant {
  const byAge = stepOf(at - BigInt(age), SAMPLE_SECONDS);
  if (slot === undefined) return byAge;
  const slotStart = BigInt(slot) * BigInt(SAMPLE_SECONDS);
  const isNear = slotStart <= byAge + MAX_LATER_SECONDS && slotStart >= byAge - MAX_EARLIER_SECONDS;
  return isNear && slotStart <= at ? slotStart : byAge;
}

/** The steps that make up a response. */
export interface MetricRange {
  /** The step of the rows to read. */
  step: (typeof STEPS)[number];
  /** Number of seconds per point, which is a multiple of the step's length. Points are counted from `from`. */
  pointSeconds: number;
  /** The start of a step. */
  from: Instant;
  /** The exclusive end of the range. */
  to: Instant;
}

/**
 * Returns the first slot of the default range. All slots in the range are complete, so that there are as many as the
 * default number of points.
 */
function firstSlotOf(end: Instant): Instant {
  const slot = BigInt(SAMPLE_SECONDS);
  return end > DEFAULT_RANGE_SECONDS ? stepOf(end - DEFAULT_RANGE_SECONDS + slot - 1n, SAMPLE_SECONDS) : 0n;
}

/**
 * Returns the finest step that is still kept for all of [from, to), and how many of its rows make up one point if there
 * may be at most `points`. `to` defaults to now, and `from` to one hour before `to`. Throws invalid_request if the
 * range ends before it starts or is longer than samples are kept.
 */
export function metricRange(
  { from, to, points }: { from: Instant | null; to: Instant | null; points: number },
  now: Instant,
): MetricRange {
  const end = to === null || to > now ? now + 1n : to;
  const begin = from ?? firstSlotOf(end);
  if (begin >= end)
    throw new DomainError('invalid_request', 'from must be before to, and not in the future', { field: 'from' });
  if (end - begin > MAX_RANGE_SECONDS + 1n) {
    const days = MAX_RANGE_SECONDS / SECONDS_PER_DAY;
    throw new DomainError('invalid_request', `from must be at most ${days} days before to`, { field: 'from' });
  }
  // Includes the slot that is about to be dropped.
  const isKept = ({ seconds, keptSeconds }: (typeof STEPS)[number]) => now - begin <= keptSeconds + BigInt(seconds);
  const step = STEPS.find(isKept) ?? STEPS[2];
  const first = stepOf(begin, step.seconds);
  const each = BigInt(step.seconds) * BigInt(points);
  const merged = (end - first + each - 1n) / each;
  return { step, pointSeconds: step.seconds * Number(merged), from: first, to: end };
}
