import type { texts as english } from '../en/spend.js';

export const texts: typeof english = {
  title: 'Ausgaben nach Tag',
  what: 'USD je UTC-Tag',
  period: 'Zeitraum',
  days: (count) => `${count} Tage`,
  none: 'In diesen Tagen wurde nichts ausgegeben',
  noneWhat: 'Hier erscheint schon die erste Sekunde der ersten Miete.',
  chart: (from, to, total) => `Ausgaben je UTC-Tag von ${from} bis ${to}: insgesamt ${total} USD`,
  shortDay: (date) => `${date.slice(8)}.${date.slice(5, 7)}.`,
  ofDay: (date, amount) => `${date}: ${amount} USD`,
  byInstance: 'Ausgaben nach Instanz',
  instance: 'Instanz',
  usd: 'USD',
  others: 'alle anderen',
  together: 'Gesamt',
  asFigures: 'Die Tage als Zahlen',
  day: 'UTC-Tag',
};
