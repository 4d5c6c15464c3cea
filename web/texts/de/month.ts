import type { texts as english } from '../en/month.js';

export const texts: typeof english = {
  title: 'Kosten in diesem Monat',
  what: 'Mit Prognose bis zum Ende des UTC-Monats bei den aktuellen Kosten',
  groupBy: 'Kosten dieses Monats gruppieren',
  byModel: 'Nach Modell',
  byName: 'Nach Name',
  none: 'Keine Ausgaben in diesem Monat',
  noneWhat: 'Jedes Modell und jeder Instanzname erhält eine eigene Zeile.',
  model: 'Modell',
  name: 'Name',
  hourly: 'USD/h jetzt',
  spent: 'Bisher (USD)',
  atEnd: 'Prognose (USD)',
  volumes: 'Volumes',
  otherNames: 'Alle anderen Namen',
  total: 'Gesamt',
};
