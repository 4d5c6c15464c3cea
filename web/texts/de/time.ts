import type { texts as english } from '../en/time.js';

export const texts: typeof english = {
  today: (clock) => `heute ${clock}`,
  onWeekday: (day, clock) => `${day} ${clock}`,
  onDate: (date, clock) => `${date}, ${clock}`,
  days: 'T',
  hours: 'h',
  minutes: 'min',
  seconds: 's',
};
