import type { texts as english } from '../en/terminal.js';

export const texts: typeof english = {
  title: 'Terminals',
  new: 'Neues Terminal',
  newAsRoot: 'Als root',
  aloud: 'Für Screenreader',
  hint: 'Eine Shell läuft nach einer verlorenen Verbindung noch 5 Minuten. Strg+C kopiert die Auswahl, Strg+V fügt ein, Strg+Umschalt+F6 verlässt das Terminal mit der Tastatur.',
  name: (number) => `Terminal ${number}`,
  nameAsRoot: (number) => `Terminal ${number} (root)`,
  close: (number) => `Terminal ${number} schließen`,
  isNew: 'Die vorige Shell ist zu Ende. Dies ist eine neue.',
  connecting: 'Wird verbunden …',
  lost: 'Die Verbindung ist verloren. Die Shell läuft weiter; es wird neu verbunden …',
  taken: 'Ein anderer Tab zeigt dieses Terminal.',
  showHere: 'Hier zeigen',
  ended: (code) => (code === null ? 'Die Shell ist zu Ende.' : `Die Shell ist mit Code ${code} zu Ende gegangen.`),
  another: 'Neue beginnen',
  refused: (why) => `Es gibt kein Terminal: ${why}.`,
  again: 'Erneut versuchen',
};
