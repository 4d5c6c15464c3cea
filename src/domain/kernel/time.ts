/** Whole seconds since 1970-01-01T00:00:00Z. */
export type Instant = bigint;

/** The application's only source of time. It is created by the composition root. */
export interface Clock {
  now(): Instant;
  /** The same time in milliseconds. Billing rounds it down for the start of an interval and up for the end. */
  nowMs(): number;
}

export const SECONDS_PER_HOUR = 3_600n;
export const SECONDS_PER_DAY = 86_400n;
/** 9999-12-31T23:59:59Z, the last second that RFC 3339 can represent. */
export const LAST_INSTANT: Instant = 253_402_300_799n;

/** Truncates a date to the second. */
export function instantOf(date: Date): Instant {
  return BigInt(Math.floor(date.getTime() / 1000));
}

export function dateOf(instant: Instant): Date {
  return new Date(Number(instant) * 1000);
}

/** Formats an instant as RFC 3339 in UTC with whole seconds, such as 2026-11-20T09:43:00Z. */
export function formatInstant(instant: Instant): string {
  return dateOf(instant).toISOString().replace('.000Z', 'Z');
}

const INSTANT =
  /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Completes "NAME must be …" for text that `parseInstant` can't parse. */
export const INSTANT_TEXT = 'an instant of the calendar from 1970 on, such as 2026-11-23T18:00:00Z';

/**
 * Parses an RFC 3339 instant, truncating fractions of a second. Returns null for any other text and for instants
 * outside the years 1970 to 9999. All instants from callers are parsed here, because `Date` alone would read 31
 * February as 3 March, and hour 24 as the next day.
 */
export function parseInstant(text: string): Instant | null {
  const [, day] = INSTANT.exec(text) ?? [];
  if (day === undefined || !isDay(day)) return null;
  const instant = instantOf(new Date(text));
  return instant >= 0n && instant <= LAST_INSTANT ? instant : null;
}

/** Formats a date's UTC calendar day, such as 2026-11-20. */
export function formatDay(date: Date): string {
  return date.toISOString().slice(0, 10);
}

/** Whether a text is a calendar day written as YYYY-MM-DD. `Date` alone would read 31 February as 3 March. */
export function isDay(text: string): boolean {
  const midnight = /^\d{4}-\d{2}-\d{2}$/.test(text) ? dateOfDay(text) : null;
  return midnight !== null && !Number.isNaN(midnight.getTime()) && formatDay(midnight) === text;
}

/** Returns midnight UTC of a calendar day written as YYYY-MM-DD. */
export function dateOfDay(day: string): Date {
  return new Date(`${day}T00:00:00Z`);
}

/**
 * The second [at, end) in which something happens. If it happens exactly at the start of a second, none of that second
 * has been used, so `end` equals `at`. An interval that begins then includes the second, and an interval that ends then
 * ends with the previous second.
 */
export interface Second {
  at: Instant;
  end: Instant;
}

/** Returns the second that contains `ms`, in milliseconds since the Unix epoch. */
export function secondOf(ms: number): Second {
  return { at: BigInt(Math.floor(ms / 1_000)), end: BigInt(Math.ceil(ms / 1_000)) };
}

/** Returns the given second, or the one at `first` if that is later because the clock stepped back. */
export function notBefore(first: Instant, second: Second): Second {
  return second.at < first ? { at: first, end: first + 1n } : second;
}

export function latest(first: Instant, ...others: Instant[]): Instant {
  return others.reduce((a, b) => (b > a ? b : a), first);
}

/** Returns the earliest instant, or null if all of them are null. */
export function earliest(first: Instant, ...others: (Instant | null)[]): Instant;
export function earliest(...instants: (Instant | null)[]): Instant | null;
export function earliest(...instants: (Instant | null)[]): Instant | null {
  return instants.reduce((first, each) => (first === null || (each !== null && each < first) ? each : first), null);
}

/** Parses a UTC month such as 2026-11, and returns its first second. Returns null for any other text. */
export function parseMonth(text: string): Instant | null {
  return /^\d{4}-\d{2}$/.test(text) ? parseInstant(`${text}-01T00:00:00Z`) : null;
}

/** Returns midnight UTC on the first day of the instant's month. */
export function monthStartOf(instant: Instant): Instant {
  const date = dateOf(instant);
  return instantOf(new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)));
}

/**
 * Returns the same day and time `months` later. If that month is too short, returns its last day instead. For example,
 * 30 November plus 3 months is 28 February.
 */
export function addMonths(instant: Instant, months: number): Instant {
  const date = dateOf(instant);
  const month = date.getUTCMonth() + months;
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), month + 1, 0)).getUTCDate();
  const day = Math.min(date.getUTCDate(), lastDay);
  const midnight = instantOf(new Date(Date.UTC(date.getUTCFullYear(), month, day)));
  return midnight + (((instant % SECONDS_PER_DAY) + SECONDS_PER_DAY) % SECONDS_PER_DAY);
}
