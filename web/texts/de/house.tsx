import type { texts as english } from '../en/house.js';

export const texts: typeof english = {
  titleOf: (screen, brand) => `${screen} · ${brand}`,
  skip: 'Zum Inhalt springen',
  moment: 'Wird geladen …',
  notLoaded:
    'Dieser Teil der Seite konnte nicht geladen werden. Die Seite versucht es automatisch erneut. Wurde der Dienst aktualisiert, laden Sie die Seite neu.',
  reload: 'Seite neu laden',
  private: 'Melden Sie sich an, um diese Seite zu sehen.',
  notFoundTitle: 'Nicht gefunden',
  notFound: 'Seite nicht gefunden',
  seeMachines: 'Maschinen ansehen',

  signedOut: 'Abgemeldet',
  connection: {
    waiting: 'Verbindung wird hergestellt …',
    live: 'Live',
    restarting: 'Der Dienst startet neu. Die Seite macht automatisch weiter; laufende Instanzen sind nicht betroffen.',
    limited: 'Dieses Konto hat zu viele Anfragen pro Minute gesendet. Die Seite macht automatisch weiter',
    lost: 'Keine Verbindung zum Dienst. Die Zahlen sind ab der letzten Antwort hochgerechnet; die Seite verbindet sich automatisch neu.',
  },
  resumesIn: (seconds) => (seconds === 0 ? ' – jetzt.' : ` – in ${seconds} s.`),
  clockFast: (by) => `Die Uhr dieses Computers geht ${by} vor. Für die Zahlen gilt die Uhr des Dienstes.`,
  clockSlow: (by) => `Die Uhr dieses Computers geht ${by} nach. Für die Zahlen gilt die Uhr des Dienstes.`,

  messages: 'Meldungen',
  undo: 'Rückgängig machen',
  dismiss: (message) => `Ausblenden: ${message}`,
  control: 'Strg',
  close: 'Schließen',
  cancel: 'Abbrechen',
  save: 'Speichern',
  edit: 'Bearbeiten',
  editOf: (setting) => `Bearbeiten: ${setting}`,
  actionsOf: (name) => `Aktionen für ${name}`,
  shownOnce: 'Es wird nur dieses eine Mal angezeigt. Speichern Sie es jetzt.',
  haveIt: 'Gespeichert',
  copy: 'Kopieren',
  copied: 'Kopiert',
  copyYourself: 'Markieren Sie den Text und kopieren Sie ihn von Hand',
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
