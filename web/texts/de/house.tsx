import type { texts as english } from '../en/house.js';

export const texts: typeof english = {
  titleOf: (screen) => `${screen} · GPU-Vermietung`,
  skip: 'Zum Inhalt springen',
  moment: 'Einen Moment …',
  notLoaded:
    'Dieser Teil der Seite konnte nicht geladen werden. Es wird automatisch erneut versucht. Wurde der Dienst aktualisiert, laden Sie die Seite neu.',
  reload: 'Seite neu laden',
  private: 'Diese Seite zeigt, was Ihnen gehört.',
  nothingTitle: 'Nicht gefunden',
  nothingHere: 'Hier ist nichts',
  seeMachines: 'Zu den Maschinen',

  signedOut: 'Abgemeldet',
  connection: {
    waiting: 'Verbindung wird hergestellt …',
    live: 'Live',
    restarting: 'Der Dienst startet neu. Die Seite macht von selbst weiter; was läuft, läuft weiter.',
    limited: 'Dieses Konto hat in einer Minute zu viel angefragt. Die Seite macht von selbst weiter',
    lost: 'Keine Verbindung zum Dienst. Die Zahlen gehen von der letzten Antwort aus; die Seite verbindet sich von selbst wieder.',
  },
  goesOn: (seconds) => (seconds === 0 ? ' – jetzt.' : ` – in ${seconds} s.`),
  clockFast: (by) => `Die Uhr dieses Computers geht ${by} vor. Die Zahlen folgen der Uhr des Dienstes.`,
  clockSlow: (by) => `Die Uhr dieses Computers geht ${by} nach. Die Zahlen folgen der Uhr des Dienstes.`,

  done: 'Was geschehen ist',
  undo: 'Rückgängig',
  dismiss: (what) => `Ausblenden: ${what}`,
  control: 'Strg',
  close: 'Schließen',
  copy: 'Kopieren',
  copied: 'Kopiert',
  copyYourself: 'Markieren Sie den Text und kopieren Sie ihn selbst',
  any: 'beliebig',
  period: (from, to) => (
    <>
      {from} bis {to}
    </>
  ),

  ofRow: (one, place) => `von ${one} ${place}`,
  removeRow: (one, place) => `${one} ${place} entfernen`,
  remove: 'Entfernen',
  addRow: (one) => `${one} hinzufügen`,
};
