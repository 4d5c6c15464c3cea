import type { texts as english } from '../en/spend.js';

export const texts: typeof english = {
  title: 'Ausgaben pro Tag',
  what: 'USD pro UTC-Tag',
  period: 'Zeitraum',
  days: (count) => `${count} Tage`,
  none: 'Keine Ausgaben in diesem Zeitraum',
  noneWhat: 'Ausgaben erscheinen hier ab der ersten Sekunde einer Miete.',
  chart: (from, to, total) => `Ausgaben pro UTC-Tag von ${from} bis ${to}: insgesamt ${total} USD`,
  shortDay: (date) => `${date.slice(8)}.${date.slice(5, 7)}.`,
  ofDay: (date, amount) => `${date}: ${amount} USD`,
  byInstance: 'Ausgaben nach Instanz',
  instance: 'Instanz',
  usd: 'USD',
  others: 'alle anderen',
  total: 'Gesamt',
  asFigures: 'Tage als Zahlen anzeigen',
  day: 'UTC-Tag',
};
