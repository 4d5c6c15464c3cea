import type { texts as english } from '../en/volume-restic.js';

export const texts: typeof english = {
  title: (name) => `Daten in ${name} und heraus kopieren`,
  free: 'Ein Volume ist ein Repository von restic. Sie können es jederzeit von überall lesen und beschreiben, solange keine Instanz es nutzt.',
  inUse:
    'Ein Volume ist ein Repository von restic. Sie können es jederzeit von überall lesen; gerade nutzt es eine Instanz, also schreibt nur sie.',
  oneOfYourKeys: 'einer Ihrer API-Schlüssel',
  neverRan: 'ein Volume, das nie lief',
  show: 'Passwort zeigen',
  copy: 'Passwort kopieren',
  close: 'Schließen',
};
