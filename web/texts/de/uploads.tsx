import type { texts as english } from '../en/uploads.js';

export const texts: typeof english = {
  title: 'Uploads',
  clear: 'Fertige ausblenden',
  replace: 'Ersetzen',
  replaceThis: (name) => `${name} ersetzen`,
  again: 'Erneut senden',
  againThis: (name) => `${name} erneut senden`,
  cancel: (name) => `${name} abbrechen`,
  dismiss: (name) => `${name} ausblenden`,
  progressOf: (name) => `Fortschritt von ${name}`,
  waiting: 'Wartet',
  writing: 'Wird geschrieben …',
  taken: 'Eine Datei mit diesem Namen gibt es schon',
  done: 'Fertig',
  failed: 'Fehlgeschlagen',
};
