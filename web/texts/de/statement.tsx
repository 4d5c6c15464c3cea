import type { texts as english } from '../en/statement.js';

export const texts: typeof english = {
  title: 'Kontoauszug',
  month: 'UTC-Monat',
  none: 'In diesem Monat hat sich das Guthaben nicht verändert',
  noneWhat: 'Hier stehen Aufladungen und Kosten.',
  what: 'Was',
  when: 'Wann',
  usd: 'USD',
  opening: 'Anfangsguthaben',
  closing: (at) => <>Guthaben {at}</>,
  kinds: {
    GPU: 'GPUs',
    DISK: 'Speicherplatz',
    EARLY_EXIT: 'vorzeitiges Ende',
    PREEMPTION_MINIMUM: 'Minimum des verdrängenden Starts',
    VOLUME: 'Volume',
  },
  movements: { CREDIT: 'Aufladung', ADJUSTMENT: 'Korrektur', SERVICE_CREDIT: 'erstattet' },
  atRate: (time, hourly) => `${time} zu ${hourly} USD/h`,
  shown: (rows) => `Jeweils die ersten ${rows}; im Download ist alles.`,
  download: 'CSV herunterladen',
};
