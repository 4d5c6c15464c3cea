import { number } from '../../figures/number.js';
import type { texts as english } from '../en/statement.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  title: 'Kontoauszug',
  month: 'UTC-Monat',
  none: 'Keine Änderung des Guthabens in diesem Monat',
  noneWhat: 'Hier stehen Aufladungen und Kosten.',
  what: 'Posten',
  when: 'Zeit (UTC)',
  span: 'Laufzeit',
  gpus: 'GPUs',
  storage: 'Speicher',
  part: (kind, time, hourly, amount) => `${kind}: ${time} zu ${hourly} USD/h, ${amount} USD`,
  including: (what) => `einschließlich ${what}`,
  usd: 'USD',
  usdHint:
    'Ganze Cents, deren Summe das Guthaben ergibt. Eine Zeile kann einen Cent mehr zeigen als derselbe Betrag an anderer Stelle, der abgerundet ist.',
  opening: 'Anfangsguthaben',
  closing: 'Endguthaben',
  now: 'Aktuelles Guthaben',
  more: (count) => plural(count, { one: '1 weiterer Posten', other: `${number(count)} weitere Posten` }),
  all: 'Alle anzeigen',
  fewer: 'Weniger anzeigen',
  kinds: {
    GPU: 'GPUs',
    DISK: 'Speicherplatz',
    EARLY_EXIT: 'vorzeitiges Ende',
    PREEMPTION_MINIMUM: 'Minimum für das Verdrängen',
    VOLUME: 'Volume',
  },
  movements: { CREDIT: 'Aufladung', ADJUSTMENT: 'Korrektur', SERVICE_CREDIT: 'Erstattung' },
  reasons: {
    'before the container was running': 'bevor der Container lief',
    'the template did not start in time': 'Die Vorlage startete nicht rechtzeitig',
    'the machine failed to start it': 'Die Maschine konnte sie nicht starten',
    'the machine was unreachable': 'Die Maschine war nicht erreichbar',
  },
  shown: (rows) => `Zeigt die ersten ${rows}; der Download enthält alles.`,
  verify: 'Signierten Kontoauszug prüfen',
};
