import { DomainError } from './errors.js';
import { UNREACHABLE_AFTER_SECONDS } from './fleet.js';
import { type Instant, latest } from './time.js';

/** How long before an idle instance stops its renter is notified, in seconds. */
export const IDLE_WARNING_SECONDS = 120n;
export const MIN_IDLE_MINUTES = 5;
export const MAX_IDLE_MINUTES = 1_440;
const SECONDS_PER_MINUTE = 60n;

/** What is known of a running instance that stops when idle. Every instant is on the gateways' clock. */
export interface IdleWatch {
  minutes: number;
  /** When the setting was made or changed. */
  setAt: Instant;
  /**
   * Time of the first report that it is not busy with no later one to the contrary; null while it is busy or its load
   * is unknown.
   */
  quietSince: Instant | null;
  /** When a client was last seen connected. */
  activeAt: Instant | null;
  /** When its machine last reported. */
  seenAt: Instant | null;
  /** When its machine reported again after it was last unreachable. */
  backAt: Instant | null;
  /** For the last warning: start of the idle time, and time of the warning. */
  warnedOf: Instant | null;
  warnedAt: Instant | null;
}

/** A decision about an instance. `stopsAt`: when it stops if it stays idle. */
export interface IdleDecision {
  does: 'wait' | 'warn' | 'stop';
  since: Instant;
  stopsAt: Instant;
}

/**
 * Returns the start of the idle time; null while the instance is busy or its load is unknown: unknown never counts as
 * idle.
 */
export function idleSince(watch: Omit<IdleWatch, 'minutes' | 'warnedOf' | 'warnedAt'>, now: Instant): Instant | null {
  const { setAt, quietSince, activeAt, seenAt, backAt } = watch;
  if (quietSince === null || seenAt === null || seenAt < now - UNREACHABLE_AFTER_SECONDS) return null;
  return latest(setAt, quietSince, activeAt ?? setAt, backAt ?? setAt);
}

/**
 * Returns what to do now; null while it is not idle. It is never stopped without a warning IDLE_WARNING_SECONDS before.
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
 * Refuses with invalid_request an instance whose load can't be observed: on a machine without a host agent, or with an
 * older one.
 */
export function checkIdleWatch(
  { id, reportsLoad }: { id: string; reportsLoad: boolean },
  minutes: number | null | undefined,
): void {
  if (minutes === null || minutes === undefined || reportsLoad) return;
  const message = `stopWhenIdle is not available on machine ${id}: it has no host agent that reports GPU load`;
  throw new DomainError('invalid_request', message, { field: 'stopWhenIdle' });
}
