import { Cron } from 'croner';
import { dateOf, type Instant, instantOf } from '../kernel/time.js';

const FIELDS = /^\S+(\s+\S+){4,5}$/;

/**
 * Whether the string is a cron pattern that will be due at some time in the future. It must have five fields, or six if
 * it starts with seconds.
 */
export function isSchedule(pattern: string): boolean {
  try {
    return FIELDS.test(pattern) && cronOf(pattern).nextRun(new Date(0)) !== null;
  } catch {
    return false;
  }
}

/** Returns the most recent time at or before `now` when the pattern was due in UTC, or null if it never was. */
export function lastDue(pattern: string, now: Instant): Instant | null {
  const [due] = cronOf(pattern).previousRuns(1, dateOf(now + 1n));
  return due === undefined ? null : instantOf(due);
}

/** Returns the next time after `now` when the pattern is due in UTC. */
export function nextDue(pattern: string, now: Instant): Instant | null {
  const due = cronOf(pattern).nextRun(dateOf(now));
  return due === null ? null : instantOf(due);
}

/** Calls `wake` whenever the pattern is due in UTC by the system clock, until stopped. */
export function onSchedule(pattern: string, wake: () => void): { stop(): void } {
  return new Cron(pattern, { ...OPTIONS, paused: false, unref: true }, wake);
}

const OPTIONS = { timezone: 'UTC', mode: '5-or-6-parts', paused: true } as const;

function cronOf(pattern: string): Cron {
  return new Cron(pattern, OPTIONS);
}
