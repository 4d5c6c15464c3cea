/** Times and spans, in sentences and in cells. */
export const texts = {
  today: (clock: string) => `today at ${clock}`,
  thisDay: 'Today',
  dayBefore: 'Yesterday',
  /** Within six days: "Tuesday at 14:05". */
  onWeekday: (day: string, clock: string) => `${day} at ${clock}`,
  /** "3 Dec at 14:05". */
  onDate: (date: string, clock: string) => `${date} at ${clock}`,
  now: 'just now',
  soon: 'in a moment',
  /** Units of durations, with a no-break space. */
  days: (count: number) => `${count}\u00a0d`,
  hours: (count: number) => `${count}\u00a0h`,
  minutes: (count: number) => `${count}\u00a0min`,
  seconds: (count: number) => `${count}\u00a0s`,
};
