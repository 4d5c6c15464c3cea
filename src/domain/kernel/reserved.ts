import { type Rate, type Units, unitsOfUsage } from './money.js';
import type { PricingMode } from './price-rule.js';
import { addMonths, type Instant } from './time.js';

/** Length of a reserved term in calendar months. */
export const RESERVED_MONTHS = 3;

/** The instance fields that its reserved term is computed from. */
export interface ReservedTerm {
  mode: PricingMode;
  createdAt: Instant;
  runningSince: Instant | null;
  destroyedAt: Instant | null;
  /** Total number of seconds in closed GPU intervals. */
  gpuSeconds: bigint;
  reservedUntil: Instant | null;
  gpuRate: Rate;
  onDemandRate: Rate;
  earlyExitUnits: Units;
}

export function gpuSecondsAt(term: Pick<ReservedTerm, 'runningSince' | 'gpuSeconds'>, at: Instant): bigint {
  const open = term.runningSince !== null && at > term.runningSince ? at - term.runningSince : 0n;
  return term.gpuSeconds + open;
}

/** Returns the end of a term that begins at `at` and is never paused. */
export function termEndFrom(at: Instant): Instant {
  return addMonths(at, RESERVED_MONTHS);
}

/**
 * Returns the number of running seconds left in the term. Stopped seconds don't count, so they postpone the term's end.
 */
function secondsLeftAt(term: ReservedTerm, at: Instant): bigint {
  const length = termEndFrom(term.createdAt) - term.createdAt;
  const left = length - gpuSecondsAt(term, at);
  return left > 0n ? left : 0n;
}

/**
 * Returns when the term ends for an instance that runs from `at` onwards. The result is stored and stays valid until
 * the instance stops.
 */
export function reservedUntilFrom(term: ReservedTerm, at: Instant): Instant | null {
  if (term.mode !== 'RESERVED') return null;
  const left = secondsLeftAt(term, at);
  return left === 0n && term.reservedUntil !== null ? term.reservedUntil : at + left;
}

/** Returns the end of the term as of `at`. For a destroyed instance, returns the end as of its destruction. */
export function reservedUntilAt(term: ReservedTerm, at: Instant): Instant | null {
  if (term.mode !== 'RESERVED' || term.runningSince !== null) return term.reservedUntil;
  const seen = term.destroyedAt ?? at;
  const left = secondsLeftAt(term, seen);
  return left === 0n ? term.reservedUntil : seen + left;
}

/**
 * Returns the cost of destroying the instance at `at`. This is the discount received so far, or nothing once the term
 * is over.
 */
export function earlyExitUnitsAt(term: ReservedTerm, at: Instant): Units {
  if (term.mode !== 'RESERVED' || term.destroyedAt !== null || secondsLeftAt(term, at) === 0n) return 0n;
  return unitsOfUsage(term.onDemandRate - term.gpuRate, gpuSecondsAt(term, at));
}
