import type { texts as english } from '../en/deadlines.js';

export const texts: typeof english = {
  hint: '8h, 2d12h oder 2026-11-23T18:00:00Z',
  names: { stopAt: 'Automatisch anhalten nach oder um', destroyAt: 'Automatisch löschen nach oder um' },
  idle: 'Anhalten nach Leerlauf von (Minuten)',
  idleHint: '5 bis 1440',
  stops: (at) => <>Anhalten: {at}</>,
  isDestroyed: (at) => <>Löschen, mit Speicherplatz: {at}</>,
  stopsIdle: (minutes) => `Anhalten nach ${minutes} Minuten ohne GPU-Last und ohne Verbindung`,
};
