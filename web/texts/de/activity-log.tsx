import type { texts as english } from '../en/activity-log.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  what: 'Alle Änderungen, die in den letzten 90 Tagen mit einem Schlüssel dieses Kontos angefragt wurden.',
  filters: 'Aktivität',
  operation: 'Aktion',
  key: 'Schlüssel',
  outcome: 'Ergebnis',
  done: 'ausgeführt',
  refused: 'abgelehnt',
  about: 'Betrifft (ID oder Name)',
  from: 'Von',
  to: 'Bis',
  utcDay: 'UTC-Tag',
  any: { operation: 'Alle Aktionen', key: 'Alle Schlüssel', outcome: 'Alle Ergebnisse' },
  more: 'Filter',
  clear: 'Filter entfernen',
  none: 'Noch keine Aktivität',
  noneHint: 'Hier erscheinen Änderungen, die Sie oder Ihre Programme vornehmen, mit Schlüssel und IP-Adresse.',
  noneOfThese: 'Keine passenden Einträge',
  noneOfTheseHint: 'Entfernen Sie einen Filter oder wählen Sie einen anderen Zeitraum.',
  columns: { what: 'Aktion', about: 'Betrifft', who: 'Schlüssel', via: 'Über', from: 'IP-Adresse', when: 'Zeit' },
  refusedTimes: (times) => plural(times, { one: 'abgelehnt', other: `${times}-mal abgelehnt` }),
  inConsole: 'Konsole',
  byProgram: 'API',
  newer: 'Neuere',
  older: 'Ältere',
};
