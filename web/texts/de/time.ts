import type { texts as english } from '../en/time.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  today: (clock) => `heute, ${clock}\u00a0Uhr`,
  thisDay: 'Heute',
  dayBefore: 'Gestern',
  onWeekday: (day, clock) => `${day}, ${clock}\u00a0Uhr`,
  onDate: (date, clock) => `${date}, ${clock}\u00a0Uhr`,
  now: 'gerade eben',
  soon: 'gleich',
  days: (count) => plural(count, { one: '1\u00a0Tag', other: `${count}\u00a0Tage` }),
  hours: (count) => `${count}\u00a0Std.`,
  minutes: (count) => `${count}\u00a0Min.`,
  seconds: (count) => `${count}\u00a0Sek.`,
};
