import { DomainError } from './errors.js';
import type { Deadlines } from './lifecycle.js';
import type { PricingMode } from './price-rule.js';
import { type Instant, parseInstant, SECONDS_PER_DAY } from './time.js';

/** Matches a duration as written by a renter, such as 2d12h. */
const DURATION = /^(?=\d)(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?$/;
const SECONDS_OF_UNIT = [SECONDS_PER_DAY, 3_600n, 60n, 1n];
export const MAX_DAYS_AHEAD = 366n;

export const DEADLINE_TEXT = 'a time from now such as 90m, 8h or 2d12h, or an instant such as 2026-11-23T18:00:00Z';

export function isDeadlineText(text: string): boolean {
  return instantOfText(text, 0n) !== null;
}

/** Deadlines as given by the caller, already validated with `isDeadlineText`. Null means no deadline. */
export interface DeadlineTexts {
  stopAt: string | null;
  destroyAt: string | null;
}

/**
 * Returns the deadlines as instants, with fractions of a second dropped. Throws invalid_request if a deadline isn't
 * after `now` or is more than 366 days ahead.
 */
export function deadlinesOf({ stopAt, destroyAt }: DeadlineTexts, mode: PricingMode, now: Instant): Deadlines {
  // Without this check, the term could end early even though the renter never agreed to pay for that.
  if (destroyAt !== null && mode === 'RESERVED')
    throw refusal('destroyAt', 'must not be set for a reserved instance, because destroying it may cost its discount');
  return { stopAt: instantAfter('stopAt', stopAt, now), destroyAt: instantAfter('destroyAt', destroyAt, now) };
}

/** Returns the instant described by the text. Throws like `deadlinesOf`, with a message that names `field`. */
export function instantAfter(field: string, text: string | null, now: Instant): Instant | null {
  if (text === null) return null;
  const at = instantOfText(text, now);
  if (at !== null && at > now && at <= now + MAX_DAYS_AHEAD * SECONDS_PER_DAY) return at;
  throw refusal(field, `must be later than now, and at most ${MAX_DAYS_AHEAD} days ahead`);
}

function instantOfText(text: string, now: Instant): Instant | null {
  const duration = DURATION.exec(text);
  if (duration === null) return parseInstant(text);
  return SECONDS_OF_UNIT.reduce((at, seconds, index) => at + BigInt(duration[index + 1] ?? 0) * seconds, now);
}

function refusal(field: string, message: string): DomainError {
  return new DomainError('invalid_request', `${field} ${message}`, { field });
}
