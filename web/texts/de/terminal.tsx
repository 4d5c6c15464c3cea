import type { texts as english } from '../en/terminal.js';

export const texts: typeof english = {
  title: 'Terminals',
  new: 'Neues Terminal',
  newAsRoot: 'Als root',
  aloud: 'Für Screenreader',
  hint: 'Bei verlorener Verbindung läuft eine Shell noch 5 Minuten weiter.',
  name: (number) => `Terminal ${number}`,
  nameAsRoot: (number) => `Terminal ${number} (root)`,
  close: (number) => `Terminal ${number} schließen`,
  isNew: 'Die vorherige Shell wurde beendet. Dies ist eine neue.',
  connecting: 'Wird verbunden …',
  lost: 'Verbindung verloren. Die Shell läuft weiter; die Verbindung wird wiederhergestellt …',
  taken: 'Dieses Terminal ist jetzt in einem anderen Tab geöffnet.',
  showHere: 'Hier anzeigen',
  ended: (code) => (code === null ? 'Die Shell wurde beendet.' : `Die Shell wurde mit Code ${code} beendet.`),
  another: 'Neue starten',
  refused: (why) => `Das Terminal konnte nicht geöffnet werden: ${why}.`,
  again: 'Erneut versuchen',
  fullScreen: 'Vollbild',
  help: 'Hilfe zum Terminal',
  keys: [
    ['Strg+C', 'kopiert die Auswahl oder unterbricht das Programm'],
    ['Strg+V', 'fügt ein'],
    ['Strg+Umschalt+F6', 'verlässt das Terminal mit der Tastatur'],
    ['Strg+Umschalt+F11', 'schaltet das Vollbild ein und aus'],
  ],
};
