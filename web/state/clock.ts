import { computed, signal } from '@preact/signals';

/** Milliseconds of the page's monotonic clock, updated every second while the page is visible. */
const tick = signal(performance.now());

/**
 * The last time reported by the service, and when the report arrived on the page's monotonic clock. Until the first
 * report, it is the computer's time.
 */
const reported = signal({ second: Math.floor(Date.now() / 1_000), at: performance.now() });

/** Seconds by which the computer's clock is ahead of the service's, or 0 while unknown. */
export const clockAhead = signal(0);

/** The service's time in whole seconds since 1970. It never lies before the last reported time. */
export const serverNow = computed(
  () => reported.value.second + Math.max(0, Math.floor((tick.value - reported.value.at) / 1_000)),
);

/** The UTC day by the service's clock, as YYYY-MM-DD. */
export const serverDay = computed(() => new Date(serverNow.value * 1_000).toISOString().slice(0, 10));

const DAY_MS = 86_400_000;

/** Returns the first of the last `count` UTC days, which end with the current one, as YYYY-MM-DD. */
export const firstOfDays = (count: number): string =>
  new Date(Date.parse(serverDay.value) - (count - 1) * DAY_MS).toISOString().slice(0, 10);

/** If the difference exceeds this, the computer's clock is considered wrong. */
const TOLERATED_SECONDS = 5;

/** The time at which a query was sent, on both of the page's clocks. */
export interface Sent {
  wall: number;
  at: number;
}

export const sentNow = (): Sent => ({ wall: Date.now(), at: performance.now() });

/**
 * Applies the time reported by the service. No matter how long the response took, that time lies between the sending of
 * the query and now, so the clock is only wrong if it is outside that range. `sent` is null for an event, which has no
 * query.
 */
export function setServiceTime(second: number, sent: Sent | null): void {
  const now = sentNow();
  const ageSeconds = sent === null ? Number.POSITIVE_INFINITY : (now.at - sent.at) / 1_000;
  tick.value = now.at;
  const least = Math.max(second, Math.min(serverNow.peek(), Math.floor(second + ageSeconds)));
  if (least !== serverNow.peek()) reported.value = { second: least, at: now.at };
  const [earliest, latest] = [(sent ?? now).wall, now.wall].map((wall) => wall / 1_000 - second) as [number, number];
  const isFast = sent !== null && earliest > TOLERATED_SECONDS;
  const isSlow = latest < -TOLERATED_SECONDS;
  if (isFast || isSlow) clockAhead.value = Math.round((earliest + latest) / 2);
  else if (sent !== null) clockAhead.value = 0;
}

/**
 * A tick that is this late means that the computer was asleep or the page was suspended, so projected values may be
 * outdated.
 */
const LATE_AFTER_MS = 5_000;

/** Ticks while the page is visible, and calls `onLate` after a pause. Returns a function that stops it. */
export function startClock(onLate: () => void): () => void {
  let wall = Date.now();
  const timer = setInterval(() => {
    const late = Math.max(performance.now() - tick.value, Date.now() - wall) > LATE_AFTER_MS;
    wall = Date.now();
    tick.value = performance.now();
    if (late) onLate();
  }, 1_000);
  return () => clearInterval(timer);
}
