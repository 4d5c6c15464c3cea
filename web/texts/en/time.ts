/** Times and spans, as they stand in sentences and in cells. */
export const texts = {
  /** "14:05" of this day. */
  today: (clock: string) => `today ${clock}`,
  /** Within six days: "Tuesday 14:05". */
  onWeekday: (day: string, clock: string) => `${day} ${clock}`,
  /** "3 Dec 2026, 14:05". */
  onDate: (date: string, clock: string) => `${date}, ${clock}`,
  /** Units of spans: no form of theirs depends on the sentence. */
  days: 'd',
  hours: 'h',
  minutes: 'min',
  seconds: 's',
  /** When something that is bounded goes on. */
};
