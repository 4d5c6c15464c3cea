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
  count: (count) => plural(count, { one: 'insgesamt 1 Instanz', other: `insgesamt ${number(count)} Instanzen` }),
  countSoFar: (count) => plural(count, { one: 'bisher 1 Instanz', other: `bisher ${number(count)} Instanzen` }),
  more: 'Weitere Filter',
  moreSet: (count) => `${count} gesetzt`,
  rented: 'Gemietet',
  ended: 'Beendet',
  rateMeans: 'Preis der GPUs, der beim Mieten festgelegt wurde',
};
