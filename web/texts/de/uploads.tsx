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
  sentOf: (name) => `Gesendet von ${name}`,
  waiting: 'Wartet, bis es an der Reihe ist',
  writing: 'Wird geschrieben …',
  taken: 'Eine Datei dieses Namens ist schon da',
  done: 'Fertig',
  failed: 'Nicht gesendet',
};
