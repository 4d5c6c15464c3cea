import type { texts as english } from '../en/statement.js';

export const texts: typeof english = {
  title: 'Kontoauszug',
  month: 'UTC-Monat',
  none: 'Keine Änderung des Guthabens in diesem Monat',
  noneWhat: 'Hier stehen Aufladungen und Kosten.',
  what: 'Posten',
  when: 'Zeit',
  usd: 'USD',
  opening: 'Anfangsguthaben',
  closing: (at) => <>Guthaben {at}</>,
  kinds: {
    GPU: 'GPUs',
    DISK: 'Speicherplatz',
    EARLY_EXIT: 'vorzeitiges Ende',
    PREEMPTION_MINIMUM: 'Minimum für das Verdrängen',
    VOLUME: 'Volume',
  },
  movements: { CREDIT: 'Aufladung', ADJUSTMENT: 'Korrektur', SERVICE_CREDIT: 'Erstattung' },
  atRate: (time, hourly) => `${time} zu ${hourly} USD/h`,
  shown: (rows) => `Zeigt jeweils die ersten ${rows}; der Download enthält alles.`,
  verify: 'Signierten Kontoauszug prüfen',
};
