import type { texts as english } from '../en/balance.js';

export const texts: typeof english = {
  balance: 'Guthaben',
  burn: 'Kostet jetzt',
  spent: 'Ausgaben im Monat (UTC)',
  forecast: 'Voraussichtlich im Monat',
  lastsForYears: 'Ihr Guthaben reicht so noch Jahre.',
  ranOut:
    'Ihr Guthaben ist aufgebraucht. Alle laufenden Instanzen werden dann angehalten; ihr Speicherplatz bleibt eine Weile und kostet weiter.',
  runsOut: (at) => (
    <>
      Ihr Guthaben reicht bis {at}. Dann werden alle laufenden Instanzen angehalten; ihr Speicherplatz bleibt eine Weile
      und kostet weiter.
    </>
  ),
  over: (deletedAt) => (
    <>
      Ihr Guthaben ist aufgebraucht: Alles ist angehalten, und der Speicherplatz kostet weiter. Ohne neues Guthaben
      werden die Instanzen mit ihren Daten gelöscht: {deletedAt}.
    </>
  ),
  nothingCosts: 'Zurzeit kostet nichts etwas: Ihr Guthaben bleibt, wie es ist.',
  missing: (amount) => <>Damit es bis zum Monatsende reicht, fehlen noch {amount}.</>,
};
