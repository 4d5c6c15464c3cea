import { locale } from '../texts/en/locale.js';
import { texts } from '../texts/en/time.js';
import { fixed } from './number.js';

const SECOND = 1;
const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

/** Converts an API instant to seconds since 1970. */
export const secondsOf = (instant: string): number => Math.floor(Date.parse(instant) / 1_000);

const day = new Intl.DateTimeFormat(locale, { weekday: 'long' });
const wholeDay = new Intl.DateTimeFormat(locale, { weekday: 'long', day: 'numeric', month: 'long' });
const dayOfYear = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long', year: 'numeric' });
const date = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', year: 'numeric' });
const dateOfYear = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' });
const dateOnly = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' });
const clock = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' });
const clockOfSeconds = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const clockUtc = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' });
const momentUtc = new Intl.DateTimeFormat(locale, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});
const moment = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'always' });
const dateUtc = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** Dates within eleven months need no year. */
const YEAR_AFTER = 335 * DAY;

/** Returns whether a time is so far from now that `localTime` shows its date. */
export const isFar = (at: number, now: number): boolean => Math.abs(at - now) >= 6 * DAY;

/**
 * Formats a local time: "today at 14:05", "Tuesday at 14:05" within six days of now, and otherwise "3 Dec at 14:05". The
 * year is only shown if the month could be mistaken for another year's.
 */
export function localTime(at: number, now: number, hasSeconds = false): string {
  const [then, today] = [new Date(at * 1_000), new Date(now * 1_000)];
  const time = (hasSeconds ? clockOfSeconds : clock).format(then);
  if (then.toDateString() === today.toDateString()) return texts.today(time);
  if (!isFar(at, now)) return texts.onWeekday(day.format(then), time);
  const format = Math.abs(at - now) < YEAR_AFTER ? dateOfYear : date;
  return texts.onDate(unbroken(format.format(then)), time);
}

/** Formats a local time in a column: "3 Dec, 14:05", or "3 Dec 2025" if the month could be mistaken for another year's. */
export const columnTime = (at: number, now: number): string =>
  (Math.abs(at - now) < YEAR_AFTER ? moment : date).format(new Date(at * 1_000));

const unbroken = (text: string): string => text.replaceAll(' ', '\u00a0');

/** Formats a date such as 2026-11-27: "27 Nov 2026". */
export const dayText = (date: string): string => unbroken(dateOnly.format(new Date(`${date}T00:00:00Z`)));

const localDay = (at: number): string => new Date(at * 1_000).toDateString();

/**
 * Formats a local day: "Today", "Yesterday", and otherwise "Tuesday, 24 November". In another year, the year replaces the
 * weekday.
 */
export function dayName(at: number, now: number): string {
  if (localDay(at) === localDay(now)) return texts.thisDay;
  if (localDay(at) === localDay(now - DAY)) return texts.dayBefore;
  const [then, today] = [new Date(at * 1_000), new Date(now * 1_000)];
  return (then.getFullYear() === today.getFullYear() ? wholeDay : dayOfYear).format(then);
}

interface LocalDay<Row> {
  /** The day, as an identifier that stays the same when rows are added. */
  key: string;
  /** The first row's time in seconds since 1970. */
  at: number;
  rows: Row[];
}

/** Groups rows that are in order of their times by local day. */
export function byLocalDay<Row>(rows: readonly Row[], timeOf: (row: Row) => number): LocalDay<Row>[] {
  const days: LocalDay<Row>[] = [];
  for (const row of rows) {
    const at = timeOf(row);
    const key = localDay(at);
    const last = days.at(-1);
    if (last?.key === key) last.rows.push(row);
    else days.push({ key, at, rows: [row] });
  }
  return days;
}

/** Formats a local time without its date: "14:05". */
export const timeOfDay = (at: number): string => clock.format(new Date(at * 1_000));

/** Formats a local time with seconds: "14:05:09". */
export const timeToSecond = (at: number): string => clockOfSeconds.format(new Date(at * 1_000));

/** Formats the same instant in UTC. The date is included if it differs from the local one. */
export function utcTime(at: number): string {
  const then = new Date(at * 1_000);
  const isSameDay = then.getUTCDate() === then.getDate();
  return `${isSameDay ? '' : `${dateUtc.format(then)} `}${clockUtc.format(then)} UTC`;
}

/** Formats a UTC time without its year: "1 Nov, 14:05". */
export const utcMoment = (at: number): string => momentUtc.format(new Date(at * 1_000));

/** Formats a span of UTC times without their year: "1 Nov, 14:05 – 15:30". */
export function utcSpan(from: number, to: number): string {
  const [first, last] = [utcMoment(from), utcMoment(to)];
  if (first === last) return first;
  const isSameDay = Math.floor(from / DAY) === Math.floor(to / DAY);
  return `${first} – ${isSameDay ? clockUtc.format(new Date(to * 1_000)) : last}`;
}

/** Formats a UTC day without its year: "1 Nov". */
export const utcDay = (date: string): string => dateUtc.format(new Date(`${date}T00:00:00Z`));

/** Formats a local time to the second, with the UTC time next to it: "27 Nov 2026, 14:05:09 (13:05 UTC)". */
export const exactTime = (at: number): string => `${exact.format(new Date(at * 1_000))} (${utcTime(at)})`;

/** Formats a time relative to now: "5 minutes ago", "in 3 days". From 30 days on, it is a date. */
export function ago(at: number, now: number): string {
  const size = Math.abs(at - now);
  if (size < MINUTE) return at > now ? texts.soon : texts.now;
  if (size >= 30 * DAY) return date.format(new Date(at * 1_000));
  const [unit, seconds] =
    size < HOUR ? (['minute', MINUTE] as const) : size < DAY ? (['hour', HOUR] as const) : (['day', DAY] as const);
  return relative.format(Math.trunc((at - now) / seconds), unit);
}

/** Returns the first second of the next UTC month. */
export function monthEnd(now: number): number {
  const date = new Date(now * 1_000);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) / 1_000;
}

export const isUtcHere = (at: number): boolean => new Date(at * 1_000).getTimezoneOffset() === 0;

/** Formats a duration in its two largest units: "4 d 3 h", "12 min 5 s". It isn't broken across lines. */
export function duration(seconds: number): string {
  const units = [
    [DAY, texts.days],
    [HOUR, texts.hours],
    [MINUTE, texts.minutes],
    [SECOND, texts.seconds],
  ] as const;
  const first = Math.max(
    0,
    units.findIndex(([size]) => seconds >= size),
  );
  if (seconds < 1) return texts.seconds(0);
  let rest = seconds;
  return units
    .slice(first, first + 2)
    .map(([size, unit]) => {
      const count = Math.floor(rest / size);
      rest -= count * size;
      return count === 0 ? '' : unit(count);
    })
    .filter((text) => text !== '')
    .join('\u00a0');
}

/** Formats how long something has been running, in whole minutes: "<1 min", "12 min", "4 d 3 h". */
export const uptime = (seconds: number): string =>
  seconds < MINUTE ? `<${texts.minutes(1)}` : duration(seconds - (seconds % MINUTE));

/** Formats a countdown: "23:59:08". */
export function hoursMinutesSeconds(seconds: number): string {
  const two = (count: number) => String(Math.floor(count)).padStart(2, '0');
  return `${two(seconds / HOUR)}:${two((seconds % HOUR) / MINUTE)}:${two(seconds % MINUTE)}`;
}

/** Formats a number of bytes: "200 MB", "1.24 GB". */
export function bytes(count: number): string {
  return count < 1e9 ? `${fixed(count / 1e6, 0)} MB` : `${fixed(count / 1e9, 2)} GB`;
}
