import type { texts as english } from '../en/webhooks.js';
import { plural } from '../plural.js';

function spanOf(minutes: number): string {
  const [hours, days] = [Math.floor(minutes / 60), Math.floor(minutes / 1_440)];
  if (days > 0) return plural(days, { one: '1 Tag', other: `${days} Tagen` });
  if (hours > 0) return plural(hours, { one: '1 Stunde', other: `${hours} Stunden` });
  return minutes < 1 ? 'weniger als 1 Minute' : plural(minutes, { one: '1 Minute', other: `${minutes} Minuten` });
}

export const texts: typeof english = {
  recipients: 'Empfänger',
  what: 'Ihre E-Mail-Adresse und Ihre Programme.',
  whatWithoutMail: 'Ihre Programme. Dieser Dienst versendet keine E-Mails.',
  webhook: 'Webhook',
  new: 'Neuer Webhook',
  edit: 'Webhook bearbeiten',
  address: 'URL, die Ereignisse empfängt',
  signed: 'Die Anfragen sind nach Standard Webhooks signiert. Das Secret dazu erhalten Sie im nächsten Schritt.',
  create: 'Webhook erstellen',
  secret: 'Secret des Webhooks',
  copySecret: 'Secret kopieren',
  none: 'Noch keine Webhooks',
  noneHint:
    'Erstellen Sie einen, um Ihr Programm zu benachrichtigen, wenn eine Instanz startet, anhält oder endet und wenn das Guthaben knapp wird.',
  receives: (some, all) => (some === all ? 'alle Benachrichtigungen' : `${some} von ${all} Benachrichtigungen`),
  waiting: (count) => plural(count, { one: '1\u00a0Ereignis wartet', other: `${count}\u00a0Ereignisse warten` }),
  isPaused: 'pausiert',
  isActive: 'aktiv',
  isUnused: 'unbenutzt',
  isFailing: 'gestört',
  testOf: (url) => `Test senden an ${url}`,
  notices: 'Ereignisse',
  noticesWhat: 'Legen Sie fest, worüber jeder Empfänger benachrichtigt wird. Änderungen werden sofort gespeichert.',
  noticesWithout: 'Geben Sie einen Empfänger an, um benachrichtigt zu werden.',
  kinds: {
    instances: ['Instanzen', 'Start, Fehler, Anhalten, Unterbrechung und Löschung'],
    ends: ['Bevorstehendes Ende', '1 Stunde und nochmals 10 Minuten vor Frist, Limit oder Ende des Guthabens'],
    low: ['Guthabenwarnung', ''],
    credit: ['Guthaben', 'Aufladung, aufgebrauchtes Guthaben und offene Zahlungen'],
    network: ['Neues Netzwerk', 'Verwendung eines API-Schlüssels aus einem neuen Netzwerk'],
    delivery: ['Probleme bei der Zustellung', 'Nach Fehlern pausierte E-Mails oder Webhooks'],
  },
  lowAt: (amount) => <>Einmal, bei einem Guthaben von {amount}</>,
  lowOff: 'Keine Schwelle festgelegt',
  setThreshold: 'Festlegen',
  sendTo: (kind, recipient) => `${kind}: ${recipient}`,
  byMail: 'Per E-Mail',
  to: (recipient) => `An ${recipient}`,
  lastSent: (at) => <>zuletzt gesendet {at}</>,
  isLast: 'Ein Empfänger erhält mindestens eine Art von Benachrichtigung.',
  notOpen: 'Bestätigen oder reaktivieren Sie zuerst die Adresse.',
  paused: (since, reason) => (
    <>
      Pausiert seit {since}: {reason}. Ereignisse werden in der Zwischenzeit nicht gesendet.
    </>
  ),
  test: 'Test senden',
  pause: 'Pausieren',
  resume: 'Fortsetzen',
  rotateSecret: 'Secret erneuern',
  delete: 'Löschen …',
  deleteNow: 'Löschen',
  deleteQuestion: 'Diesen Webhook löschen?',
  deleteHint: (url) => <>{url} erhält keine Ereignisse mehr, und wartende werden verworfen.</>,
  deliveries: 'Zustellungen',
  pendingFor: (event, minutes) => (
    <>
      {event} seit {spanOf(minutes)} ausstehend
    </>
  ),
  last: (event, state, at) => (
    <>
      {event} {state} {at}
    </>
  ),
  deleteThis: (url) => `Webhook an ${url} löschen`,
  nothingSent: 'In den letzten 30 Tagen wurde nichts gesendet.',
  columns: {
    event: 'Ereignis',
    about: 'Betrifft',
    state: 'Zustand',
    attempts: 'Antwort',
    when: 'Zeit',
    actions: 'Aktionen',
  },
  account: 'Ihr Konto',
  states: { PENDING: 'ausstehend', DELIVERED: 'zugestellt', GIVEN_UP: 'fehlgeschlagen' },
  next: (at) => <>erneut {at}</>,
  queued: 'in der Warteschlange',
  again: 'Erneut senden',
  againThis: (type) => `Erneut senden: ${type}`,
  notWhilePaused: 'Setzen Sie den Webhook fort, um Ereignisse erneut zu senden.',
  attempts: (count) => plural(count, { one: '1 Versuch', other: `${count} Versuche` }),
  notTried: 'noch nicht versucht',
  attemptsOf: (event) => `Versuche: ${event}`,
  showAttempts: (count) => `Versuche anzeigen (${count})`,
  responded: (status) => `Antwort ${status}`,
  noResponse: (why) => `keine Antwort: ${why}`,
};
