import type { texts as english } from '../en/sign-in.js';

export const texts: typeof english = {
  notAccepted: 'Dieser Schlüssel gilt nicht: Er ist falsch eingegeben, abgelaufen oder widerrufen.',
  key: 'API-Schlüssel',
  show: 'Schlüssel anzeigen',
  hide: 'Schlüssel verbergen',
  keyFromSignUp: 'Er wurde beim Erstellen Ihres Kontos angezeigt.',
  keyFromOperator: 'Sie erhalten ihn vom Betreiber dieses Dienstes.',
  lost: (contact) =>
    contact === null ? 'Verloren? Der Betreiber kann Ihnen einen neuen geben.' : <>Verloren? Kontakt: {contact}.</>,
  signingIn: 'Sie werden angemeldet …',
  signIn: 'Anmelden',
  create: 'Konto erstellen',
  newHere: 'Neu hier?',
  newAccount: 'Ohne Namen, ohne Adresse: Ihr Konto ist ein Schlüssel, den nur Sie haben.',
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
