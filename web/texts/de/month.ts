import type { texts as english } from '../en/month.js';

export const texts: typeof english = {
  title: 'Dieser Monat',
  what: 'UTC-Monat, Prognose bei den aktuellen Kosten',
  costs: 'Kosten (USD)',
  spent: 'Ausgegeben',
  projected: 'Prognose',
  groupBy: 'Kosten dieses Monats gruppieren',
  byModel: 'Nach Modell',
  byName: 'Nach Name',
  none: 'Keine Ausgaben in diesem Monat',
  noneWhat: 'Jedes Modell und jeder Instanzname erhält eine eigene Zeile.',
  model: 'Modell',
  name: 'Name',
  hourly: 'USD/h jetzt',
  volumes: 'Volumes',
  otherNames: 'Alle anderen Namen',
  total: 'Gesamt',
};
