import type { texts as english } from '../en/downloads.js';

export const texts: typeof english = {
  download: 'Herunterladen',
  busy: 'Wird geladen …',
  formats: { csv: 'CSV', focus: 'CSV nach FOCUS 1.2', signed: 'Signiertes JSON', invoice: 'Rechnung (HTML)' },
  uses: {
    csv: 'Alle Zeilen des Kontoauszugs',
    focus: 'Kosten je Ressource und Tag, für FinOps-Werkzeuge',
    signed: 'Jede Zeile lässt sich überprüfen',
    invoice: 'Eine Seite zum Drucken',
  },
};
