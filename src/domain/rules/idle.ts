import { DomainError } from './errors.js';
import { UNREACHABLE_AFTER_SECONDS } from './fleet.js';
import { type Instant, latest } from './time.js';

/** A renter is told so long before an instance stops because it is idle. */
export const IDLE_WARNING_SECONDS = 120n;
export const MIN_IDLE_MINUTES = 5;
export const MAX_IDLE_MINUTES = 1_440;
const SECONDS_PER_MINUTE = 60n;

/** What is known of a running instance that is to stop when it is idle. Every instant is one of the gateways' clock. */
export interface IdleWatch {
  minutes: number;
  /** When that was asked for, or changed. */
  askedAt: Instant;
  /** When a report was received that it is not busy, and no later one said otherwise; null while it is busy, or nobody knows. */
  quietSince: Instant | null;
  /** When somebody was last seen connected. */
  activeAt: Instant | null;
  /** When its machine was last heard from. */
  heardAt: Instant | null;
  /** When its machine was heard again after it was last out of reach. */
  backAt: Instant | null;
  /** Of the last warning: since when the instance was idle, and when it was given. */
  warnedOf: Instant | null;
  warnedAt: Instant | null;
}

/** `stopsAt`: when it stops if nothing happens until then. */
export interface IdleDecision {
  does: 'wait' | 'warn' | 'stop';
  since: Instant;
  stopsAt: Instant;
}

/** Since when nothing happens on the instance; null while something does, or nobody knows: what is not known is never idle. */
export function idleSince(watch: Omit<IdleWatch, 'minutes' | 'warnedOf' | 'warnedAt'>, now: Instant): Instant | null {
  const { askedAt, quietSince, activeAt, heardAt, backAt } = watch;
  if (quietSince === null || heardAt === null || heardAt < now - UNREACHABLE_AFTER_SECONDS) return null;
  return latest(askedAt, quietSince, activeAt ?? askedAt, backAt ?? askedAt);
}

/** What to do now; null while it is not idle. It is never stopped without a warning IDLE_WARNING_SECONDS before. */
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

/** Refuses with invalid_request what nobody could see: a machine without a host agent, or with one of an earlier version. */
export function checkIdleWatch(
  { id, watchesLoad }: { id: string; watchesLoad: boolean },
  minutes: number | null | undefined,
): void {
  if (minutes === null || minutes === undefined || watchesLoad) return;
  const message = `stopWhenIdle can't be had on machine ${id}: it has no host agent that says how busy its GPUs are`;
  throw new DomainError('invalid_request', message, { field: 'stopWhenIdle' });
}
