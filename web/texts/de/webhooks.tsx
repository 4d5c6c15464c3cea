import type { texts as english } from '../en/webhooks.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  webhooks: 'Webhooks',
  what: 'Ihre Programme, denen Ereignisse gemeldet werden.',
  address: 'Adresse, an die Ereignisse gehen, signiert nach Standard Webhooks',
  create: 'Webhook anlegen',
  secret: 'Sein Geheimnis, nur dieses eine Mal gezeigt',
  copySecret: 'Geheimnis kopieren',
  none: 'Noch keine Webhooks',
  noneHint:
    'Ein Webhook meldet Ihrem Programm, wenn eine Instanz startet, anhält oder endet und wenn das Guthaben knapp wird.',
  allEvents: 'alle Ereignisse',
  waiting: (count) => plural(count, { one: '1 Ereignis wartet', other: `${count} Ereignisse warten` }),
  nothingWaits: 'nichts wartet',
  paused: (since, reason) => (
    <>
      Ausgesetzt seit {since}: {reason}. Was inzwischen geschieht, wird nicht gesendet.
    </>
  ),
  test: 'Test senden',
  pause: 'Aussetzen',
  resume: 'Fortsetzen',
  newSecret: 'Neues Geheimnis',
  delete: 'Löschen',
  deleteThis: (url) => `Webhook an ${url} löschen`,
  nothingSent: 'In 30 Tagen wurde nichts gesendet. Senden Sie einen Test, um zu sehen, ob er antwortet.',
  columns: { event: 'Ereignis', about: 'Worüber', state: 'Zustand', attempts: 'Versuche', again: 'Erneut senden' },
  account: 'Ihr Konto',
  states: { PENDING: 'wartet', DELIVERED: 'zugestellt', GIVEN_UP: 'aufgegeben' },
  next: (at) => <>nächster Versuch {at}</>,
  nextInTurn: 'wird gesendet, sobald es an der Reihe ist',
  again: 'Erneut senden',
  againThis: (type) => `Erneut senden: ${type}`,
  notWhilePaused: 'Setzen Sie den Webhook fort, um etwas erneut zu senden.',
  attempts: (count) => plural(count, { one: '1 Versuch', other: `${count} Versuche` }),
  notTried: 'noch nicht versucht',
  attempt: (number, at, outcome, ms) => (
    <>
      {number}. {at}: {outcome}, {ms} ms
    </>
  ),
  answered: (status) => `Antwort ${status}`,
  noAnswer: (why) => `keine Antwort: ${why}`,
};
