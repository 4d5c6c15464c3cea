import type { texts as english } from '../en/webhooks.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  webhooks: 'Webhooks',
  what: 'Senden Sie Ereignisse an Ihre eigenen Programme.',
  address: 'URL, die Ereignisse empfängt, signiert nach Standard Webhooks',
  create: 'Webhook erstellen',
  secret: 'Das Secret dieses Webhooks. Es wird nur dieses eine Mal angezeigt.',
  copySecret: 'Secret kopieren',
  none: 'Noch keine Webhooks',
  noneHint:
    'Erstellen Sie einen, um Ihr Programm zu benachrichtigen, wenn eine Instanz startet, anhält oder endet und wenn das Guthaben knapp wird.',
  allEvents: 'alle Ereignisse',
  waiting: (count) => plural(count, { one: '1 Ereignis wartet', other: `${count} Ereignisse warten` }),
  nothingWaits: 'keine Ereignisse warten',
  paused: (since, reason) => (
    <>
      Pausiert seit {since}: {reason}. Ereignisse werden in der Zwischenzeit nicht gesendet.
    </>
  ),
  test: 'Test senden',
  pause: 'Pausieren',
  resume: 'Fortsetzen',
  rotateSecret: 'Secret erneuern',
  delete: 'Löschen',
  deleteThis: (url) => `Webhook an ${url} löschen`,
  nothingSent:
    'In den letzten 30 Tagen wurde nichts gesendet. Senden Sie einen Test, um zu prüfen, ob Ihr Programm antwortet.',
  columns: { event: 'Ereignis', about: 'Betrifft', state: 'Zustand', attempts: 'Versuche', again: 'Erneut senden' },
  account: 'Ihr Konto',
  states: { PENDING: 'ausstehend', DELIVERED: 'zugestellt', GIVEN_UP: 'fehlgeschlagen' },
  next: (at) => <>nächster Versuch: {at}</>,
  queued: 'in der Warteschlange',
  again: 'Erneut senden',
  againThis: (type) => `Erneut senden: ${type}`,
  notWhilePaused: 'Setzen Sie den Webhook fort, um Ereignisse erneut zu senden.',
  attempts: (count) => plural(count, { one: '1 Versuch', other: `${count} Versuche` }),
  notTried: 'noch nicht versucht',
  attempt: (number, at, outcome, ms) => (
    <>
      {number}. {at}: {outcome}, {ms} ms
    </>
  ),
  responded: (status) => `Antwort ${status}`,
  noResponse: (why) => `keine Antwort: ${why}`,
};
