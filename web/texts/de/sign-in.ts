import type { texts as english } from '../en/sign-in.js';

export const texts: typeof english = {
  notAccepted: 'Dieser Schlüssel gilt nicht: Er ist falsch eingegeben, abgelaufen oder widerrufen.',
  key: 'API-Schlüssel',
  keyUse:
    'Die Seite sendet ihn einmal und speichert ihn nicht. Ihre Sitzung dauert 12 Stunden oder bis Sie sich abmelden oder der Schlüssel widerrufen wird.',
  signingIn: 'Sie werden angemeldet …',
  signIn: 'Anmelden',
  newHere: 'Neu hier?',
  newAccount:
    'Ein Konto braucht weder Namen noch Adresse, nur seinen API-Schlüssel: Wer ihn hat, kann das Guthaben ausgeben, und ohne ihn ist das Konto verloren.',
  create: 'Konto erstellen',
  yourKey: 'Das ist Ihr Schlüssel. Er wird nur dieses eine Mal angezeigt.',
  copyKey: 'Schlüssel kopieren',
  isKept: 'Ich habe ihn sicher gespeichert',
  begin: 'Mit diesem Schlüssel anmelden',
  verify: 'Kontoauszüge ohne Anmeldung prüfen',
};
