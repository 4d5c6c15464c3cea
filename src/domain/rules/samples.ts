import { DomainError } from './errors.js';
import { type Instant, SECONDS_PER_DAY, SECONDS_PER_HOUR } from './time.js';

/** Seconds of a sample: in each of these slots of the clock, one sample of an instance counts. Agents count in the same. */
export const SAMPLE_SECONDS = 10;
/** The samples that a report may name of one instance: what an agent keeps while it can't report. */
export const MAX_SAMPLES_OF_INSTANCE = 6;
/** A load that is older is none. */
export const LOAD_SECONDS = 60n;
/** Points of one answer, at most. */
export const MAX_POINTS = 1_000;
export const DEFAULT_POINTS = 360;
const DEFAULT_RANGE_SECONDS = SECONDS_PER_HOUR;

/** What is kept of samples, finest first: means over `seconds`, for `keptSeconds`. */
export const STEPS = [
  { seconds: SAMPLE_SECONDS, keptSeconds: SECONDS_PER_HOUR },
  { seconds: 60, keptSeconds: 2n * SECONDS_PER_DAY },
  { seconds: 900, keptSeconds: 90n * SECONDS_PER_DAY },
] as const;
const MAX_RANGE_SECONDS = STEPS[2].keptSeconds;

/** The beginning of the step of `seconds` that the instant falls in; steps are counted from 1970. */
export function stepOf(at: Instant, seconds: number): Instant {
  return at - (at % BigInt(seconds));
}

/** How much later or earlier than by its age a sample's agent may say that it was taken: ages are whole seconds, lines slow. */
const MAX_LATER_SECONDS = BigInt(SAMPLE_SECONDS);
const MAX_EARLIER_SECONDS = 2n * BigInt(SAMPLE_SECONDS);

/**
 * Where a sample counts that came at `at`: in the slot that its agent gave it, so that two in a row have two slots, whenever
 * they came. Without one, or where it is in the future or another than the age allows, in the slot of its age.
 */
export function slotOf({ slot, age }: { slot?: number | undefined; age: number }, at: Instant): Instant {
  const byAge = stepOf(at - BigInt(age), SAMPLE_SECONDS);
  if (slot === undefined) return byAge;
  const told = BigInt(slot) * BigInt(SAMPLE_SECONDS);
  const isNear = told <= byAge + MAX_LATER_SECONDS && told >= byAge - MAX_EARLIER_SECONDS;
  return isNear && told <= at ? told : byAge;
}

/** Which steps an answer is made of. */
export interface MetricRange {
  /** Of the rows that are read. */
  step: (typeof STEPS)[number];
  /** Of the answer's points: a multiple of the step's. They are counted from `from`. */
  pointSeconds: number;
  /** A beginning of a step. */
  from: Instant;
  /** Exclusive. */
  to: Instant;
}

/** Of the default range: all of its slots are its own, so that they are as many as the default of points. */
function firstSlotOf(end: Instant): Instant {
  const slot = BigInt(SAMPLE_SECONDS);
  return end > DEFAULT_RANGE_SECONDS ? stepOf(end - DEFAULT_RANGE_SECONDS + slot - 1n, SAMPLE_SECONDS) : 0n;
}

/**
 * The finest step of which all of [from, to) is kept, and as many of them in one point as bring the range down to
 * `points`. Without `to` until now, without `from` the hour before it. Refuses with invalid_request a range that ends
 * before it begins, or is longer than what is kept.
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
  // The slot that drops out of what is kept just now.
  const isKept = ({ seconds, keptSeconds }: (typeof STEPS)[number]) => now - begin <= keptSeconds + BigInt(seconds);
  const step = STEPS.find(isKept) ?? STEPS[2];
  const first = stepOf(begin, step.seconds);
  const each = BigInt(step.seconds) * BigInt(points);
  const merged = (end - first + each - 1n) / each;
  return { step, pointSeconds: step.seconds * Number(merged), from: first, to: end };
}
