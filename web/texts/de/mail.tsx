import type { texts as english } from '../en/mail.js';

export const texts: typeof english = {
  title: 'E-Mail',
  paused: (since, why) => (
    <>
      Seit {since} pausiert: <span lang="en">{why}</span>. Geben Sie die Adresse erneut ein, um fortzufahren.
    </>
  ),
  unconfirmed: (until) => (
    <>Wir haben einen Bestätigungslink gesendet. Öffnen Sie ihn bis {until}; vorher wird nichts anderes gesendet.</>
  ),
  none: 'Geben Sie Ihre Adresse an, um per E-Mail benachrichtigt zu werden.',
  notOffered: 'Dieser Dienst versendet keine E-Mails mehr.',
  add: 'Adresse angeben',
  isActive: 'aktiv',
  isUnconfirmed: 'unbestätigt',
  isPaused: 'pausiert',
  test: 'Test-E-Mail senden',
  delete: 'Adresse löschen …',
  deleteNow: 'Löschen',
  deleteQuestion: (address) => `${address} löschen?`,
  deleteHint: 'Sie erhält dann keine E-Mails mehr. Sie können jederzeit wieder eine Adresse angeben.',
  tested: 'Eine Test-E-Mail wird gesendet.',
  edit: 'E-Mail-Adresse',
  yourAddress: 'Ihre E-Mail-Adresse',
  link: 'Sie erhält einen Bestätigungslink. Geben Sie dieselbe Adresse erneut ein, um einen neuen Link zu erhalten oder fortzufahren.',
  example: 'name@example.com',
  confirm: 'Bestätigungslink senden',
};
