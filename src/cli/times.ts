/** Formats a point in time in the local time zone on a terminal. Elsewhere, returns it unchanged. */
export function readable(instant: string | null): string {
  if (instant === null) return '-';
  const at = new Date(instant);
  if (!process.stdout.isTTY || Number.isNaN(at.getTime())) return instant;
  const date = [at.getFullYear(), at.getMonth() + 1, at.getDate()].map(twoDigits).join('-');
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(':');
  return `${date} ${time}`;
}

/**
 * Formats a point in time with its distance from now, such as `2026-11-22 04:31:18, 2 h ago`. If the output isn't a
 * terminal, returns it unchanged.
 */
export function readableWithAge(instant: string | null, now = new Date()): string {
  const text = readable(instant);
  if (instant === null || text === instant) return text;
  const seconds = Math.round((now.getTime() - Date.parse(instant)) / 1_000);
  const distance = distanceOf(Math.abs(seconds));
  return `${text}, ${seconds < 0 ? `in ${distance}` : `${distance} ago`}`;
}

/** Formats a number of seconds in a single unit, rounded. */
export function distanceOf(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
