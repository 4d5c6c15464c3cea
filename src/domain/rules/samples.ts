import { DomainError } from './errors.js';
import { type Instant, SECONDS_PER_DAY, SECONDS_PER_HOUR } from './time.js';

/**
 * Seconds of a sample: in each of these slots of the clock, one sample of an instance counts. Agents use the same
 * slots.
 */
export const SAMPLE_SECONDS = 10;
/** Maximum samples of one instance in a report: those that an agent keeps while it can't report. */
export const MAX_SAMPLES_OF_INSTANCE = 6;
/** Maximum age of a load in seconds. */
export const LOAD_SECONDS = 60n;
/** Maximum points of one response. */
export const MAX_POINTS = 1_000;
export const DEFAULT_POINTS = 360;
const DEFAULT_RANGE_SECONDS = SECONDS_PER_HOUR;

/** Retention of samples, finest first: means over `seconds`, kept for `keptSeconds`. */
export const STEPS = [
  { seconds: SAMPLE_SECONDS, keptSeconds: SECONDS_PER_HOUR },
  { seconds: 60, keptSeconds: 2n * SECONDS_PER_DAY },
  { seconds: 900, keptSeconds: 90n * SECONDS_PER_DAY },
] as const;
const MAX_RANGE_SECONDS = STEPS[2].keptSeconds;

/** Returns the beginning of the step of `seconds` that contains the instant; steps are counted from 1970. */
export function stepOf(at: Instant, seconds: number): Instant {
  return at - (at % BigInt(seconds));
}

/**
 * How much later or earlier than its age a sample's slot may be: ages are whole seconds, and connections may be slow.
 */
const MAX_LATER_SECONDS = BigInt(SAMPLE_SECONDS);
const MAX_EARLIER_SECONDS = 2n * BigInt(SAMPLE_SECONDS);

/**
 * Returns the slot of a sample received at `at`: the one its agent assigned, so that two consecutive samples have two
 * slots regardless of when they arrive. Without one, or if it is in the future or inconsistent with the age, the slot
 * of its age.
 */
export function slotOf({ slot, age }: { slot?: number | undefined; age: number }, at: Instant): Instant {
  const byAge = stepOf(at - BigInt(age), SAMPLE_SECONDS);
  if (slot === undefined) return byAge;
  const slotStart = BigInt(slot) * BigInt(SAMPLE_SECONDS);
  const isNear = slotStart <= byAge + MAX_LATER_SECONDS && slotStart >= byAge - MAX_EARLIER_SECONDS;
  return isNear && slotStart <= at ? slotStart : byAge;
}

/** The steps that a response consists of. */
export interface MetricRange {
  /** Step of the rows to read. */
  step: (typeof STEPS)[number];
  /** Seconds of a point: a multiple of the step's. Points are counted from `from`. */
  pointSeconds: number;
  /** The beginning of a step. */
  from: Instant;
  /** Exclusive. */
  to: Instant;
}

/**
 * Returns the first slot of the default range, which contains only complete slots, so that their number is the default
 * number of points.
 */
function firstSlotOf(end: Instant): Instant {
  const slot = BigInt(SAMPLE_SECONDS);
  return end > DEFAULT_RANGE_SECONDS ? stepOf(end - DEFAULT_RANGE_SECONDS + slot - 1n, SAMPLE_SECONDS) : 0n;
}

/**
 * Returns the finest step that is retained for all of [from, to), and how many of them make up one point to limit the
 * range to `points`. `to` defaults to now, `from` to one hour before it. Refuses with invalid_request a range that ends
 * before it begins, or exceeds the retention.
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
  // Includes the slot that is just leaving the retention.
  const isKept = ({ seconds, keptSeconds }: (typeof STEPS)[number]) => now - begin <= keptSeconds + BigInt(seconds);
  const step = STEPS.find(isKept) ?? STEPS[2];
  const first = stepOf(begin, step.seconds);
  const each = BigInt(step.seconds) * BigInt(points);
  const merged = (end - first + each - 1n) / each;
  return { step, pointSeconds: step.seconds * Number(merged), from: first, to: end };
}
