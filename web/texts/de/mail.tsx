import { number } from '../../figures/number.js';
import type { texts as english } from '../en/mail.js';

export const texts: typeof english = {
  title: 'E-Mail',
  what: 'Dieselben Ereignisse, an eine Adresse.',
  paused: (address, since, why) => (
    <>
      An {address} wird seit {since} nichts gesendet: <span lang="en">{why}</span>. Tragen Sie die Adresse neu ein,
      damit es weitergeht.
    </>
  ),
  unconfirmed: (address, until) => (
    <>
      {address} hat einen Link bekommen. Öffnen Sie ihn bis {until}: Vorher wird nichts anderes gesendet.
    </>
  ),
  getsAll: (address, waiting) => (
    <>
      {address} bekommt alle Ereignisse; {number(waiting)} in der Warteschlange.
    </>
  ),
  gets: (address, events, waiting) => (
    <>
      {address} bekommt {events}; {number(waiting)} in der Warteschlange.
    </>
  ),
  test: 'Test-E-Mail senden',
  delete: 'Adresse löschen',
  tested: 'Eine Test-E-Mail ist unterwegs.',
  yourAddress: 'Ihre E-Mail-Adresse',
  anotherAddress: 'Eine andere Adresse oder noch einmal dieselbe',
  example: 'name@example.com',
  confirm: 'Link zur Bestätigung senden',
};
