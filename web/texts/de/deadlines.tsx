import type { texts as english } from '../en/deadlines.js';

export const texts: typeof english = {
  title: 'Fristen',
  hint: '8h, 2d12h oder 2026-11-23T18:00:00Z',
  names: { stopAt: 'Automatisch anhalten nach oder um', destroyAt: 'Automatisch löschen nach oder um' },
  idle: 'Anhalten nach Leerlauf von (Minuten)',
  idleHint: '5 bis 1440',
  restored: 'Vorherige Einstellung wiederhergestellt.',
  noLongerIdle: 'Die Instanz wird bei Leerlauf nicht mehr angehalten.',
  noLongerStops: 'Die Instanz wird zu dieser Zeit nicht mehr automatisch angehalten.',
  noLongerDestroyed: 'Die Instanz wird nicht mehr automatisch gelöscht.',
  stops: (at) => <>Anhalten: {at}</>,
  isDestroyed: (at) => <>Löschen, mit Speicherplatz: {at}</>,
  doNotStop: 'Nicht anhalten',
  doNotDestroy: 'Nicht löschen',
  stopsIdle: (minutes) => `Anhalten nach ${minutes} Minuten ohne GPU-Last und ohne Verbindung`,
  doNotStopIdle: 'Bei Leerlauf nicht anhalten',
  never: 'Keine Frist: Die Instanz läuft, bis Sie sie anhalten oder Ihr Guthaben aufgebraucht ist.',
  set: 'Festlegen',
};
