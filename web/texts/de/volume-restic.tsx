import type { texts as english } from '../en/volume-restic.js';

export const texts: typeof english = {
  title: (name) => `Daten mit ${name} austauschen`,
  free: 'Ein Volume ist ein restic-Repository. Sie können es jederzeit von überall lesen und darauf schreiben, solange keine Instanz es nutzt.',
  inUse:
    'Ein Volume ist ein restic-Repository. Sie können es jederzeit von überall lesen. Gerade nutzt es eine Instanz, und nur diese kann darauf schreiben.',
  oneOfYourKeys: 'einer Ihrer API-Schlüssel',
  neverRan: 'ein Volume, das noch keine Instanz genutzt hat',
  show: 'Passwort anzeigen',
  copy: 'Passwort kopieren',
  close: 'Schließen',
};
