import { DomainError } from './errors.js';
import { UNREACHABLE_AFTER_SECONDS } from './fleet.js';
import { type Instant, latest } from './time.js';

/** Number of seconds between warning the renter and stopping an idle instance. */
export const IDLE_WARNING_SECONDS = 120n;
export const MIN_IDLE_MINUTES = 5;
export const MAX_IDLE_MINUTES = 1_440;
const SECONDS_PER_MINUTE = 60n;

/** The known state of a running instance that stops when idle. All instants are measured by the gateways' clocks. */
export interface IdleWatch {
  minutes: number;
  /** When the setting was first made or last changed. */
  setAt: Instant;
  /**
   * Time of the first report that the instance isn't busy, if no later report contradicts it. Null while the instance
   * is busy or its load is unknown.
   */
  quietSince: Instant | null;
  /** When a client was last seen connected to the instance. */
  activeAt: Instant | null;
  /** When the instance's machine last sent a report. */
  seenAt: Instant | null;
  /** When the machine first reported again after its most recent period of being unreachable. */
  backAt: Instant | null;
  /** The start of the idle time that caused the last warning, and the time of that warning. */
  warnedOf: Instant | null;
  warnedAt: Instant | null;
}

/** Decision about a possibly idle instance. `stopsAt` is when it will be stopped if it stays idle. */
export interface IdleDecision {
  does: 'wait' | 'warn' | 'stop';
  since: Instant;
  stopsAt: Instant;
}

/**
 * Returns when the idle time began, or null while the instance is busy or its load is unknown. An unknown load never
 * counts as idle.
 */
export function idleSince(watch: Omit<IdleWatch, 'minutes' | 'warnedOf' | 'warnedAt'>, now: Instant): Instant | null {
  const { setAt, quietSince, activeAt, seenAt, backAt } = watch;
  if (quietSince === null || seenAt === null || seenAt < now - UNREACHABLE_AFTER_SECONDS) return null;
  return latest(setAt, quietSince, activeAt ?? setAt, backAt ?? setAt);
}

/**
 * Returns what to do now, or null while the instance isn't idle. An instance is never stopped unless its renter was
 * warned at least IDLE_WARNING_SECONDS earlier.
 */
export function decideIdle(watch: IdleWatch, now: Instant): IdleDecision | null {
  const since = idleSince(watch, now);
  if (since === null) return null;
  const { minutes, warnedOf, warnedAt } = watch;
  const dueAt = since + BigInt(minutes) * SECONDS_PER_MINUTE;
  const isWarned = warnedOf === since && warnedAt !== null;
  const stopsAt = latest(dueAt, (isWarned ? warnedAt : now) + IDLE_WARNING_SECONDS);
  if (isWarned) return { does: now >= stopsAt ? 'stop' : 'wait', since, stopsAt };
  return { does: now >= dueAt - IDLE_WARNING_SECONDS ? 'warn' : 'wait', since, stopsAt };
}

/**
 * Throws invalid_request if the instance's load can't be observed because its machine has no host agent or the agent is
 * too old.
 */
export function checkIdleWatch(
  { id, reportsLoad }: { id: string; reportsLoad: boolean },
  minutes: number | null | undefined,
): void {
  if (minutes === null || minutes === undefined || reportsLoad) return;
  const message = `stopWhenIdle is not available on machine ${id}: it has no host agent that reports GPU load`;
  throw new DomainError('invalid_request', message, { field: 'stopWhenIdle' });
}
