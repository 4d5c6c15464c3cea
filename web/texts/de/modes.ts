import type { texts as english } from '../en/modes.js';

export const texts: typeof english = {
  onDemand: 'On-Demand',
  onDemandBrief: 'Bis Sie die Instanz anhalten',
  onDemandMeaning:
    'Die Maschine steht nur Ihnen zur Verfügung, bis Sie die Instanz anhalten. Der Preis gilt für die gesamte Lebensdauer der Instanz.',
  // May break there on a narrow screen.
  interruptible: 'Unterbrech\u00adbar',
  interruptibleBrief: 'Kann jederzeit unterbrochen werden',
  interruptibleMeaning:
    'Zum halben Preis. Wird die Maschine On-Demand oder reserviert gemietet, wird die Instanz sofort und ohne Vorwarnung angehalten. Ihr Speicherplatz bleibt erhalten und kostet weiter.',
  reserved: 'Reserviert',
  reservedBrief: '3 Monate; vorzeitiges Ende kostet extra',
  reservedMeaning:
    '65 % des Preises für 3 Monate Laufzeit; die Zeit im angehaltenen Zustand zählt nicht. Wenn Sie früher löschen, zahlen Sie den bisherigen Rabatt zurück.',
};
