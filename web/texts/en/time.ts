/** Times and spans, in sentences and in cells. */
export const texts = {
  today: (clock: string) => `today at ${clock}`,
  /** Within six days: "Tuesday at 14:05". */
  onWeekday: (day: string, clock: string) => `${day} at ${clock}`,
  /** "3 Dec 2026 at 14:05". */
  onDate: (date: string, clock: string) => `${date} at ${clock}`,
  now: 'just now',
  soon: 'in a moment',
  /** Units of spans, the same for every number. */
  days: 'd',
  hours: 'h',
  minutes: 'min',
  seconds: 's',
};
