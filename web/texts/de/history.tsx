import { number } from '../../figures/number.js';
import type { texts as english } from '../en/history.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  all: 'Alle Instanzen',
  stopped: 'Grund des Anhaltens',
  priced: 'Preismodell',
  rentedFrom: 'Gemietet von (UTC)',
  rentedTo: 'Bis (UTC)',
  none: 'Noch nichts gemietet',
  noneOfThese: (hasMore) => (hasMore ? 'Kein Treffer unter den neuesten' : 'Keine passenden Instanzen'),
  noneHint: 'Hier steht alles, was Sie mieten, auch nachdem Sie es gelöscht haben.',
  noneOfTheseHint: 'Entfernen Sie einen Filter oder wählen Sie einen anderen Zeitraum.',
  reading: 'Der Verlauf wird geladen …',
  back: 'Weiter zurück suchen',
  older: 'Ältere anzeigen',
  count: (count) => plural(count, { one: '1 Instanz', other: `${number(count)} Instanzen` }),
  countShown: (count) => plural(count, { one: '1 Instanz angezeigt', other: `${number(count)} Instanzen angezeigt` }),
  more: 'Weitere Filter',
  moreSet: (count) => `Weitere Filter (${count})`,
  rented: 'Gemietet',
  ran: 'Laufzeit',
  gpuRate: 'GPU USD/h',
  rateMeans: 'Preis der GPUs, der beim Mieten festgelegt wurde',
};
