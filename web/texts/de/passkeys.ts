import type { texts as english } from '../en/passkeys.js';

export const texts: typeof english = {
  title: 'Passkeys',
  add: 'Neuer Passkey',
  hint: 'Damit melden Sie sich per Fingerabdruck, Gesicht oder PIN statt mit einem API-Schlüssel an.',
  none: 'Keine Passkeys',
  noneHint: 'Fügen Sie einen hinzu, um sich auf diesem Gerät ohne API-Schlüssel anzumelden.',
  name: 'Name',
  nameExample: 'Arbeitslaptop',
  key: 'API-Schlüssel',
  created: 'Erstellt',
  lastUse: 'Zuletzt verwendet',
  neverUsed: 'Nie verwendet',
  actions: 'Aktionen',
  thisSession: 'diese Sitzung',
  onlyAt: (host) => `für ${host}`,
  create: 'Passkey erstellen',
  addHint: (key) =>
    `Der Passkey meldet Sie mit den Rechten des API-Schlüssels „${key}“ an. Wenn Sie diesen Schlüssel widerrufen, gilt auch der Passkey nicht mehr.`,
  added: (name) => `Passkey ${name} hinzugefügt.`,
  revoke: 'Widerrufen',
  revoked: (name) => `Passkey ${name} widerrufen.`,
  revokeQuestion: (name) => `Passkey ${name} widerrufen?`,
  revokeHint:
    'Er kann nicht mehr zur Anmeldung verwendet werden, und seine Sitzungen enden sofort. Sein API-Schlüssel gilt weiter. Danach können Sie den Passkey auf Ihrem Gerät löschen.',
  revokeCurrent: 'Diese Sitzung wurde mit diesem Passkey geöffnet; Sie werden also abgemeldet.',

  signIn: 'Mit Passkey anmelden',
  notUsed:
    'Sie haben nicht rechtzeitig einen Passkey gewählt, oder dieses Gerät hat keinen für diese Seite. Sie können sich mit einem API-Schlüssel anmelden.',
  notCreated:
    'Es wurde kein Passkey erstellt: Der Vorgang wurde abgebrochen, hat zu lange gedauert oder wird von diesem Gerät nicht unterstützt.',
  alreadyHere: 'Dieses Gerät hat schon einen Passkey für diesen API-Schlüssel.',
  notAccepted: 'Dieser Passkey gilt nicht: Er oder sein API-Schlüssel wurde widerrufen oder ist abgelaufen.',
};
