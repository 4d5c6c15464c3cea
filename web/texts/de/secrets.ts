import type { texts as english } from '../en/secrets.js';

export const texts: typeof english = {
  title: 'Geheimnisse',
  hint: 'Tokens und Passwörter für das, was Sie starten. Verschlüsselt gespeichert, nie wieder gezeigt.',
  create: 'Neues Geheimnis',
  none: 'Noch keine Geheimnisse',
  name: 'Name',
  for: 'Wofür',
  created: 'Angelegt',
  delete: 'Löschen',
  forValues: 'Variablen und Dateien',
  forImages: (registry, user) => `Images von ${registry}, als ${user}`,
  deleteOne: (name) => `${name} löschen`,
  isLogin: 'Es ist eine Anmeldung, mit der Images geladen werden',
  registry: 'Registry',
  user: 'Benutzername dort',
  password: 'Passwort oder Token',
  value: 'Wert',
  sentOnce: 'Es wird einmal gesendet, verschlüsselt gespeichert und niemandem wieder gezeigt.',
  cancel: 'Abbrechen',
  store: 'Speichern',
  deleteQuestion: (name) => `${name} löschen?`,
  deleteHint:
    'Laufende Container behalten, was sie bekommen haben. Ein späterer Start, der es braucht, schlägt fehl und sagt das.',
  keep: 'Behalten',
};
