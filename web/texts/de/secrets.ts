import type { texts as english } from '../en/secrets.js';

export const texts: typeof english = {
  title: 'Secrets',
  hint: 'Tokens und Passwörter für Ihre Instanzen. Sie werden verschlüsselt gespeichert und nie wieder angezeigt.',
  create: 'Neues Secret',
  none: 'Noch keine Secrets',
  name: 'Name',
  for: 'Verwendung',
  created: 'Erstellt',
  delete: 'Löschen',
  actions: 'Aktionen',
  noneHint: 'Instanzen können sie in Variablen und Dateien verwenden oder damit Images laden.',
  deleteTask: 'Löschen …',
  forValues: 'Variablen und Dateien',
  forImages: (registry, user) => `Images von ${registry}, als ${user}`,
  deleteOne: (name) => `${name} löschen`,
  isLogin: 'Registry-Login zum Laden von Images',
  registry: 'Registry',
  user: 'Benutzername der Registry',
  password: 'Passwort oder Token',
  value: 'Wert',
  sentOnce: 'Es wird einmal gesendet, verschlüsselt gespeichert und nie wieder angezeigt.',
  store: 'Speichern',
  deleteQuestion: (name) => `${name} löschen?`,
  deleteHint:
    'Laufende Container behalten seinen Wert. Spätere Starts, die es benötigen, schlagen fehl und melden das.',
};
