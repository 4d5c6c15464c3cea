import { number } from '../../figures/number.js';
import type { texts as english } from '../en/history.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  all: 'Alle Instanzen',
  title: 'Frühere Instanzen',
  state: 'Zustand',
  stopped: 'Angehalten',
  model: 'GPU-Modell',
  priced: 'Preisart',
  rentedFrom: 'Gemietet von (UTC)',
  rentedTo: 'bis (UTC)',
  clear: 'Alle Filter entfernen',
  none: 'Noch wurde nichts gemietet',
  noneOfThese: (hasMore) => (hasMore ? 'Keine solche unter den neuesten' : 'Keine solche'),
  noneHint: 'Was Sie mieten, steht hier, auch wenn es gelöscht ist.',
  noneOfTheseHint: 'Entfernen Sie einen Filter, oder wählen Sie eine andere Zeit.',
  reading: 'Der Verlauf wird gelesen …',
  back: 'Weiter zurück suchen',
  older: 'Ältere zeigen',
  count: (count) => plural(count, { one: 'insgesamt 1 Instanz', other: `insgesamt ${number(count)} Instanzen` }),
  countSoFar: (count) => plural(count, { one: 'bisher 1 Instanz', other: `bisher ${number(count)} Instanzen` }),
  columns: { instance: 'Instanz', state: 'Zustand', from: 'Von', to: 'Bis', rate: 'USD/h fest', cost: 'Kosten, USD' },
};
