import { number } from '../../figures/number.js';
import type { texts as english } from '../en/logs.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  title: 'Log',
  search: 'Im Log suchen',
  searchShort: 'Suchen',
  before: 'Vorheriger Treffer',
  next: 'Nächster Treffer',
  found: (count) => `${number(count)} gefunden`,
  at: (place, count) => `${number(place)} von ${number(count)}`,
  times: 'Zeiten (UTC)',
  wrap: 'Zeilen umbrechen',
  download: 'Herunterladen',
  options: 'Optionen des Logs',
  showTimes: 'Zeiten anzeigen (UTC)',
  hideTimes: 'Zeiten ausblenden',
  doWrap: 'Zeilen umbrechen',
  dontWrap: 'Zeilen nicht umbrechen',
  lines: 'Zeilen des Logs',
  moment: 'Wird geladen …',
  nothing: 'Noch keine Ausgabe.',
  toNewest: 'Zum Ende',
  live: (lines) => plural(lines, { one: 'Live · 1 Zeile', other: `Live · ${number(lines)} Zeilen` }),
  levels: 'Zeilen filtern',
  level: { all: 'Alle', warn: 'Warnungen', bad: 'Fehler' },
  noneOfLevel: 'Keine solchen Zeilen.',
  previousError: 'Vorheriger Fehler',
  cut: (lines) =>
    `Zeigt höchstens die neuesten ${number(lines)} Zeilen; der Download enthält alles, was die Maschine aufbewahrt.`,
};
