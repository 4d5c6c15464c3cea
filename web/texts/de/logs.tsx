import { number } from '../../figures/number.js';
import type { texts as english } from '../en/logs.js';

export const texts: typeof english = {
  title: 'Log',
  search: 'Im Log suchen',
  searchShort: 'Suchen',
  before: 'Voriger Treffer',
  next: 'Nächster Treffer',
  found: (count) => `${number(count)} gefunden`,
  at: (place, count) => `${number(place)} von ${number(count)}`,
  times: 'Zeiten (UTC)',
  wrap: 'Umbrechen',
  download: 'Herunterladen',
  lines: 'Zeilen des Logs',
  moment: 'Einen Moment …',
  nothing: 'Noch nichts geschrieben.',
  toNewest: 'Zum Neuesten',
  foot: (lines) =>
    `Höchstens die neuesten ${number(lines)} Zeilen werden gezeigt; der Download hat alles, was die Maschine aufhebt.`,
};
