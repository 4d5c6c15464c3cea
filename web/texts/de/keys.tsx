import type { texts as english } from '../en/keys.js';

export const texts: typeof english = {
  lead: (
    <>
      Was mit jedem Schlüssel geändert wurde, sehen Sie unter <a href="/activity">Aktivität</a>. Meldungen per Webhook
      oder E-Mail richten Sie unter <a href="/notifications">Benachrichtigungen</a> ein.
    </>
  ),
  apiKeys: 'API-Schlüssel',
  apiKeysHint:
    'Wer einen Schlüssel hat, kann alles tun, was dieser erlaubt. Geben Sie jedem Programm einen eigenen mit möglichst wenigen Rechten.',
  none: 'Keine gültigen Schlüssel',
  noneHint: 'Erstellen Sie oben einen.',
  name: 'Name',
  key: 'Schlüssel',
  may: 'Rechte',
  limit: 'Limit',
  ends: 'Läuft ab',
  lastUse: 'Zuletzt verwendet',
  revoke: 'Widerrufen',
  revoked: (keys) => `Widerrufen: ${keys}`,
  keyEnding: (lastFour) => `Schlüssel …${lastFour}`,
  noName: 'ohne Namen',
  thisSession: 'diese Sitzung',
  created: (at) => <>erstellt: {at}</>,
  everything: 'alles',
  from: (networks) => `nur aus ${networks}`,
  change: 'Ändern',
  changeLimit: (key) => `Limit ändern: ${key}`,
  revokeKey: (key) => `${key} widerrufen`,
  never: 'nie',
  over: 'abgelaufen',
  endsSoon: 'läuft bald ab',
  unused: 'seit 90 Tagen ungenutzt: widerrufen?',
  noLimit: 'keines',
  spentOf: (spent, limit) => `${spent} von ${limit} USD`,
  thisMonth: 'in diesem Monat',
  reached: (at) => <>erreicht: {at}</>,
  limitOf: (key) => `Limit: ${key}`,
  limitHint:
    'Ist das Limit erreicht, werden Instanzen, die zuletzt mit diesem Schlüssel gemietet oder gestartet wurden, sofort angehalten.',
  maySpend: 'Limit pro UTC-Monat',
  limitUsed: 'in diesem Monat ausgegeben',
  revokeQuestion: (key) => `${key} widerrufen?`,
  revokeHint: 'Programme, die ihn verwenden, werden sofort abgewiesen. Das lässt sich nicht rückgängig machen.',
  revokeCurrent:
    'Diese Sitzung wurde mit diesem Schlüssel erstellt; Sie werden also abgemeldet. Ohne einen anderen Schlüssel können Sie sich nicht wieder anmelden.',
  keep: 'Behalten',
};
