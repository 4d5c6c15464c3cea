/** The first second of a UTC day, or of a later time; null for what is no day. */
export function startOfDay(day: string | null, laterMs: number): string | null {
  if (day === null || !/^(19[7-9]|20)\d/.test(day)) return null;
  const at = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(at) ? null : new Date(at + laterMs).toISOString();
}
