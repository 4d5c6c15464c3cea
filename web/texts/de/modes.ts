import type { texts as english } from '../en/modes.js';

export const texts: typeof english = {
  onDemand: 'On-Demand',
  onDemandMeaning:
    'Die Maschine gehört Ihnen, bis Sie sie anhalten. Der Preis steht fest, solange es die Instanz gibt.',
  // May break there on a narrow screen.
  interruptible: 'Unterbrech\u00adbar',
  interruptibleMeaning:
    'Zum halben Preis. Mietet jemand die Maschine On-Demand oder reserviert, wird die Instanz sofort und ohne Vorwarnung angehalten. Ihr Speicherplatz bleibt und kostet weiter.',
  reserved: 'Reserviert',
  reservedMeaning:
    '65 % des Preises für 3 Monate Laufzeit; Zeit im angehaltenen Zustand zählt nicht. Wer früher löscht, zahlt den bis dahin erhaltenen Rabatt zurück.',
};
