import type { texts as english } from '../en/sign-in.js';

export const texts: typeof english = {
  notAccepted: 'Dieser Schlüssel gilt nicht: Er ist falsch eingegeben, abgelaufen oder widerrufen.',
  key: 'API-Schlüssel',
  show: 'Schlüssel anzeigen',
  hide: 'Schlüssel verbergen',
  keyFromSignUp:
    'Sie haben ihn beim Erstellen Ihres Kontos erhalten. Verloren? Der Betreiber kann Ihnen einen neuen geben.',
  keyFromOperator: 'Sie erhalten ihn vom Betreiber dieses Dienstes, und einen neuen, falls Sie ihn verlieren.',
  signingIn: 'Sie werden angemeldet …',
  signIn: 'Anmelden',
  create: 'Konto erstellen',
  newHere: 'Neu hier?',
  newAccount: 'Ihr Konto ist ein Schlüssel, den nur Sie haben, ohne Namen und Adresse.',
  lookFirst: 'Sehen Sie sich ohne Konto an, was frei ist und was es kostet.',
  saveKey: 'Schlüssel speichern',
  onlyOnce:
    'Er wird nur dieses eine Mal angezeigt. Wer ihn hat, kann Ihr Guthaben ausgeben, und ohne ihn ist Ihr Konto verloren.',
  copyKey: 'Schlüssel kopieren',
  download: 'Herunterladen',
  isKept: 'Ich habe ihn sicher gespeichert',
  begin: 'Mit diesem Schlüssel anmelden',
  verify: 'Kontoauszüge ohne Anmeldung prüfen',
};
