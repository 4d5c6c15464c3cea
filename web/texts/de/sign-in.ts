import type { texts as english } from '../en/sign-in.js';

export const texts: typeof english = {
  title: 'Anmelden',
  notAccepted: 'Dieser Schlüssel wird nicht angenommen: Er ist vertippt oder widerrufen.',
  key: 'API-Schlüssel',
  keyUse:
    'Die Seite sendet ihn einmal und vergisst ihn. Der Browser behält eine Sitzung von 12 Stunden. Sie endet, wenn Sie sich abmelden oder der Schlüssel widerrufen wird.',
  signingIn: 'Sie werden angemeldet …',
  signIn: 'Anmelden',
  newHere: 'Neu hier?',
  newAccount:
    'Ein Konto braucht weder Namen noch Adresse. Es gibt nur seinen API-Schlüssel: Wer ihn hat, kann das Guthaben ausgeben, und ohne ihn ist das Konto verloren.',
  create: 'Konto anlegen',
  yourKey: 'Das ist Ihr Schlüssel. Er wird nur dieses eine Mal gezeigt.',
  copyKey: 'Schlüssel kopieren',
  isKept: 'Ich habe ihn an einen sicheren Ort kopiert',
  begin: 'Damit anmelden',
};
