import type { texts as english } from '../en/time.js';

export const texts: typeof english = {
  today: (clock) => `heute, ${clock} Uhr`,
  onWeekday: (day, clock) => `${day}, ${clock} Uhr`,
  onDate: (date, clock) => `${date}, ${clock} Uhr`,
  now: 'gerade eben',
  soon: 'gleich',
  days: 'd',
  hours: 'h',
  minutes: 'min',
  seconds: 's',
};
