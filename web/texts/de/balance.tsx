import type { texts as english } from '../en/balance.js';

export const texts: typeof english = {
  balance: 'Guthaben',
  burn: 'Aktuelle Kosten',
  lastsForYears: 'Bei diesen Kosten reicht Ihr Guthaben noch Jahre.',
  ranOut:
    'Ihr Guthaben ist aufgebraucht. Alle laufenden Instanzen werden angehalten; ihr Speicherplatz bleibt eine Weile erhalten und kostet weiter.',
  runsOut: (at) => (
    <>
      Ihr Guthaben reicht bis {at}. Dann werden alle laufenden Instanzen angehalten; ihr Speicherplatz bleibt eine Weile
      erhalten und kostet weiter.
    </>
  ),
  over: (deletedAt) => (
    <>
      Ihr Guthaben ist aufgebraucht: Alles ist angehalten, und der Speicherplatz kostet weiter. Wenn Sie kein Guthaben
      aufladen, werden Instanzen und Daten gelöscht: {deletedAt}.
    </>
  ),
  nothingCosts: 'Zurzeit fallen keine Kosten an.',
  missing: (amount) => <>Bis zum Monatsende fehlen noch {amount}.</>,
};
