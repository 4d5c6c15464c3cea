import type { texts as english } from '../en/spend.js';

export const texts: typeof english = {
  title: 'Pro UTC-Tag',
  since: (date) => `Ausgaben seit ${date}`,
  none: 'Keine Ausgaben in diesem Zeitraum',
  noneWhat: 'Ausgaben erscheinen hier ab der ersten Sekunde einer Miete.',
  chart: (from, to, total) => `Ausgaben pro UTC-Tag von ${from} bis ${to}: insgesamt ${total} USD`,
  ofDay: (date, amount) => `${date}: ${amount} USD`,
  byModel: 'Ausgaben nach GPU-Modell',
  usd: 'USD',
  others: 'Andere Modelle und Volumes',
  asFigures: 'Als Tabelle anzeigen',
  day: 'UTC-Tag',
};
