import type { Instant } from './time.js';

/** Seconds from a failed attempt to the next: 1, 5 and 25 minutes. */
const RETRY_WAITS = [60n, 300n, 1_500n];

/** Maximum attempts of one re-check. */
export const RECHECK_ATTEMPTS = RETRY_WAITS.length + 1;

/** The progress of a re-check of the market. Days are UTC, YYYY-MM-DD. */
export interface Recheck {
  /** Day on which it started. */
  day: string;
  finished: boolean;
  /** Number of attempts started so far. */
  attempts: number;
  nextAttemptAt: Instant | null;
}

/** The next step of the re-check. */
export type RecheckStep =
  | { kind: 'nothing' }
  | { kind: 'wait'; until: Instant }
  /** An operator imported a sheet that is as new as a re-check would make it. */
  | { kind: 'current'; day: string }
  /** All attempts were begun, and the last never ended: its process crashed. */
  | { kind: 'exhausted'; day: string }
  | { kind: 'attempt'; day: string; attempt: number };

/**
 * Returns the next step. A re-check is due from the schedule's last time until one begun on that day or later has
 * finished, so a missed one is caught up on. It has at most RECHECK_ATTEMPTS attempts, and there is at most one per
 * day.
 */
export function nextStep(state: {
  now: Instant;
  today: string;
  /** Day on which the schedule was last due; null for never. */
  dueDay: string | null;
  /** Day of the current sheet; null without one. */
  sheetDay: string | null;
  /** The newest re-check; null before the first. */
  last: Recheck | null;
}): RecheckStep {
  const { now, today, dueDay, sheetDay, last } = state;
  if (dueDay === null) return { kind: 'nothing' };
  const begun = last !== null && last.day >= dueDay ? last : null;
  if (begun?.finished) return { kind: 'nothing' };
  const day = begun?.day ?? today;
  if (sheetDay !== null && sheetDay >= dueDay) return { kind: 'current', day };
  if (begun === null) return { kind: 'attempt', day, attempt: 1 };
  if (begun.nextAttemptAt !== null && begun.nextAttemptAt > now) return { kind: 'wait', until: begun.nextAttemptAt };
  if (begun.attempts >= RECHECK_ATTEMPTS) return { kind: 'exhausted', day };
  return { kind: 'attempt', day, attempt: begun.attempts + 1 };
}

/** Returns when to retry after attempt number `attempt` failed at `now`; null: no more attempts. */
export function retryAt(attempt: number, now: Instant): Instant | null {
  const wait = RETRY_WAITS[attempt - 1];
  return wait === undefined ? null : now + wait;
}
