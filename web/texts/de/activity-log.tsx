import type { texts as english } from '../en/activity-log.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  what: 'Jede Änderung, um die ein Schlüssel dieses Kontos gebeten hat, aus den letzten 90 Tagen.',
  filters: 'Aktivität',
  operation: 'Was',
  key: 'Schlüssel',
  outcome: 'Ergebnis',
  done: 'ausgeführt',
  refused: 'abgelehnt',
  about: 'Worüber (Kennung oder Name)',
  from: 'Von (UTC)',
  to: 'bis (UTC)',
  clear: 'Alle Filter entfernen',
  none: 'Noch nichts',
  noneHint: 'Was Sie oder Ihre Programme ändern, steht hier: wer es wollte und von wo.',
  noneOfThese: 'Nichts dergleichen',
  noneOfTheseHint: 'Entfernen Sie einen Filter, oder wählen Sie eine andere Zeit.',
  columns: { what: 'Was', about: 'Worüber', who: 'Wer', from: 'Von wo', when: 'Wann' },
  refusedTimes: (times) => plural(times, { one: 'abgelehnt', other: `${times}-mal abgelehnt` }),
  inConsole: 'in der Konsole',
  byProgram: 'mit dem Schlüssel selbst',
  newer: 'Neuere',
  older: 'Ältere',
};
