import { number } from '../../figures/number.js';
import type { texts as english } from '../en/month.js';

export const texts: typeof english = {
  title: 'Ausgaben',
  period: 'Zeitraum',
  periods: { month: 'Dieser Monat', before: 'Letzter Monat', days30: '30 Tage', days90: '90 Tage' },
  costs: 'Kosten (USD)',
  spent: 'Ausgegeben',
  projected: 'Prognose',
  projectedHint: 'Für den ganzen Monat, bei den aktuellen Kosten',
  groupBy: 'Kosten gruppieren',
  byModel: 'Nach Modell',
  byName: 'Nach Name',
  none: 'Keine Ausgaben in diesem Zeitraum',
  noneWhat: 'Jedes Modell und jeder Instanzname erhält eine eigene Zeile.',
  model: 'Modell',
  name: 'Name',
  hourly: 'USD/h jetzt',
  volumes: 'Volumes',
  otherNames: 'Alle anderen Namen',
  more: (count) => `${number(count)} weitere`,
  total: 'Gesamt',
};
