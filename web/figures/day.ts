/** Returns the first second of a UTC day, or the time `laterMs` after it. Returns null for an invalid day. */
export function startOfDay(day: string | null, laterMs: number): string | null {
  if (day === null || !/^(19[7-9]|20)\d/.test(day)) return null;
  const at = Date.parse(`${day}T00:00:00Z`);
  // Date parses 31 February as 3 March.
  const isDay = !Number.isNaN(at) && new Date(at).toISOString().slice(0, 10) === day;
  return isDay ? new Date(at + laterMs).toISOString() : null;
}

/** Returns the UTC day before another, both as YYYY-MM-DD. */
export const dayBefore = (day: string): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10);
