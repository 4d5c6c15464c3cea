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
  from: 'Von (UTC)',
  to: 'Bis (UTC)',
  clear: 'Alle Filter entfernen',
  none: 'Noch keine Aktivität',
  noneHint: 'Hier erscheinen Änderungen, die Sie oder Ihre Programme vornehmen, mit Schlüssel und IP-Adresse.',
  noneOfThese: 'Keine passenden Einträge',
  noneOfTheseHint: 'Entfernen Sie einen Filter oder wählen Sie einen anderen Zeitraum.',
  columns: { what: 'Aktion', about: 'Betrifft', who: 'Schlüssel', from: 'IP-Adresse', when: 'Zeit' },
  refusedTimes: (times) => plural(times, { one: 'abgelehnt', other: `${times}-mal abgelehnt` }),
  inConsole: 'in der Konsole',
  byProgram: 'über die API',
  newer: 'Neuere',
  older: 'Ältere',
};
