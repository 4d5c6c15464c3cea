import type { texts as english } from '../en/keys.js';

export const texts: typeof english = {
  title: 'Schlüssel und Geheimnisse',
  lead: (
    <>
      <a href="/activity">Aktivität</a>: was mit jedem Schlüssel angefragt wurde.{' '}
      <a href="/webhooks">Benachrichtigungen</a>: wer per Webhook oder Mail erfährt, was geschieht.
    </>
  ),
  apiKeys: 'API-Schlüssel',
  apiKeysHint:
    'Wer einen hat, kann alles, was er darf. Geben Sie jedem Programm einen eigenen, mit nur den Rechten, die es braucht.',
  none: 'Kein gültiger Schlüssel',
  noneHint: 'Legen Sie oben einen an.',
  name: 'Name',
  key: 'Schlüssel',
  may: 'Rechte',
  limit: 'Limit',
  ends: 'Läuft ab',
  lastUse: 'Zuletzt genutzt',
  revoke: 'Widerrufen',
  revoked: (keys) => `Widerrufen: ${keys}`,
  keyEnding: (lastFour) => `Schlüssel …${lastFour}`,
  noName: 'ohne Namen',
  thisSession: 'diese Sitzung',
  made: (at) => <>angelegt {at}</>,
  everything: 'alles',
  from: (networks) => `nur aus ${networks}`,
  change: 'Ändern',
  changeLimit: (key) => `Limit ändern: ${key}`,
  revokeKey: (key) => `${key} widerrufen`,
  never: 'nie',
  over: 'abgelaufen',
  endsSoon: 'läuft bald ab',
  unused: '90 Tage ungenutzt: widerrufen?',
  noLimit: 'keines',
  spentOf: (spent, limit) => `${spent} von ${limit} USD`,
  thisMonth: 'in diesem Monat',
  reached: (at) => <>erreicht {at}</>,
  limitOf: (key) => `Limit: ${key}`,
  limitHint:
    'Was zuletzt mit diesem Schlüssel gemietet oder gestartet wurde, wird in der Sekunde angehalten, in der das Limit erreicht ist.',
  maySpend: 'Höchstens pro Monat (UTC)',
  spentByIt: 'in diesem Monat damit ausgegeben',
  revokeQuestion: (key) => `${key} widerrufen?`,
  revokeHint: 'Programme, die ihn nutzen, werden sofort abgewiesen. Das lässt sich nicht rückgängig machen.',
  revokeCurrent:
    'Diese Sitzung wurde mit diesem Schlüssel begonnen: Sie werden abgemeldet. Ohne einen anderen Schlüssel können Sie sich nicht wieder anmelden.',
  keep: 'Behalten',
};
