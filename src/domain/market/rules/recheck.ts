import type { Instant } from '../../kernel/time.js';

/** Number of seconds to wait after each failed attempt: 1, 5 and 25 minutes. */
const RETRY_WAITS = [60n, 300n, 1_500n];

/** Maximum number of attempts per re-check. */
export const RECHECK_ATTEMPTS = RETRY_WAITS.length + 1;

/** The progress of a market re-check. Days are UTC days written as YYYY-MM-DD. */
export interface Recheck {
  /** The day on which the re-check started. */
  day: string;
  finished: boolean;
  /** Number of attempts started so far. */
  attempts: number;
  nextAttemptAt: Instant | null;
}

/** The next step of a re-check. */
export type RecheckStep =
  | { kind: 'nothing' }
  | { kind: 'wait'; until: Instant }
  /** An operator has imported a sheet dated on or after the day on which the re-check fell due. */
  | { kind: 'current'; day: string }
  /** All attempts have been started, but the last one never ended because its process crashed. */
  | { kind: 'exhausted'; day: string }
  | { kind: 'attempt'; day: string; attempt: number };

/**
 * Returns the next step. Once the schedule falls due, a re-check remains due until one that started on that day or
 * later has finished. This also makes up for missed times. There is at most one re-check per day, with up to
 * RECHECK_ATTEMPTS attempts.
 */
export function nextStep(state: {
  now: Instant;
  today: string;
  /** The day on which the schedule was last due, or null if it never was. */
  dueDay: string | null;
  /** The day of the current sheet, or null if there is none. */
  sheetDay: string | null;
  /** The newest re-check, or null if there has been none. */
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

/** Returns when to retry after attempt number `attempt` failed at `now`. Returns null if there are no attempts left. */
export function retryAt(attempt: number, now: Instant): Instant | null {
  const wait = RETRY_WAITS[attempt - 1];
  return wait === undefined ? null : now + wait;
}
