import { computed, signal } from '@preact/signals';

/** Milliseconds of the page's monotonic clock, once a second while the page is seen. */
const tick = signal(performance.now());

/** What the service said the time is, and when it said so by the page's monotonic clock. Its own clock until then. */
const told = signal({ second: Math.floor(Date.now() / 1_000), at: performance.now() });

/** Seconds by which the computer's clock is ahead of the service's; 0 while unknown. */
export const clockAhead = signal(0);

/** Whole seconds since 1970 by the service's clock. Never behind what it said last. */
export const serverNow = computed(
  () => told.value.second + Math.max(0, Math.floor((tick.value - told.value.at) / 1_000)),
);

/** The UTC day by the service's clock, YYYY-MM-DD. */
export const serverDay = computed(() => new Date(serverNow.value * 1_000).toISOString().slice(0, 10));

/** A second counts at the service from its beginning; an answer is some milliseconds old. */
const TOLERATED_SECONDS = 5;

export function tellTime(second: number): void {
  told.value = { second, at: performance.now() };
  tick.value = performance.now();
  const ahead = Math.round(Date.now() / 1_000 - second);
  clockAhead.value = Math.abs(ahead) > TOLERATED_SECONDS ? ahead : 0;
}

/** A tick that comes this late means that the computer slept or the page was held: what was reckoned may be old. */
const LATE_AFTER_MS = 5_000;

/** Ticks while the page is seen; `onLate` is called after a pause. Returns how to stop it. */
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
