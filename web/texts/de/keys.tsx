import type { texts as english } from '../en/keys.js';

export const texts: typeof english = {
  apiKeys: 'API-Schlüssel',
  apiKeysHint:
    'Wer den Schlüssel hat, hat dessen Rechte. Geben Sie jedem Programm einen eigenen mit möglichst wenigen Rechten.',
  none: 'Keine gültigen Schlüssel',
  noneHint: 'Erstellen Sie einen für jedes Programm, das dieses Konto nutzt.',
  name: 'Name',
  key: 'Schlüssel',
  may: 'Rechte',
  limit: 'Limit',
  ends: 'Läuft ab',
  lastUse: 'Zuletzt verwendet',
  actions: 'Aktionen',
  tasks: { details: 'Details', limit: 'Limit bearbeiten …', revoke: 'Widerrufen …' },
  taskOf: (task, key) => `${task.replace(' …', '')}: ${key}`,
  createdAt: 'Erstellt',
  networks: 'Erlaubte Netzwerke',
  anyNetwork: 'Alle',
  activity: 'Was er geändert hat',
  revoked: (keys) => `Widerrufen: ${keys}`,
  keyEnding: (lastFour) => `Schlüssel …${lastFour}`,
  noName: 'ohne Namen',
  thisSession: 'diese Sitzung',
  everything: 'Vollzugriff',
  readOnly: 'Nur lesen',
  scopes: { READ: 'Lesen', RENT: 'Mieten', ACCESS: 'Zugang', MONEY: 'Abrechnung', KEYS: 'Schlüssel' },
  never: 'Nie',
  neverUsed: 'Nie verwendet',
  over: 'abgelaufen',
  endsSoon: 'läuft bald ab',
  unused: 'ungenutzt',
  unusedHint: 'Seit 90 Tagen ungenutzt: widerrufen?',
  noLimit: 'Kein Limit',
  spentOf: (spent, limit) => (
    <>
      {spent} von {limit}
    </>
  ),
  thisMonth: 'In diesem Monat ausgegeben',
  reached: 'erreicht',
  limitOf: (key) => `Limit: ${key}`,
  limitHint:
    'Ist das Limit erreicht, werden Instanzen, die zuletzt mit diesem Schlüssel gemietet oder gestartet wurden, sofort angehalten.',
  maySpend: 'Limit pro UTC-Monat',
  revoke: 'Widerrufen',
  revokeQuestion: (key) => `${key} widerrufen?`,
  revokeHint: 'Programme, die ihn verwenden, werden sofort abgewiesen. Das lässt sich nicht rückgängig machen.',
  revokeCurrent:
    'Diese Sitzung wurde mit diesem Schlüssel erstellt; Sie werden also abgemeldet. Ohne einen anderen Schlüssel können Sie sich nicht wieder anmelden.',
};
