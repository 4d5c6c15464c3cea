import type { texts as english } from '../en/balance.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  balance: 'Guthaben',
  burn: 'Aktuelle Kosten',
  lastsForYears: 'Bei diesen Kosten reicht Ihr Guthaben noch Jahre.',
  ranOut:
    'Ihr Guthaben ist aufgebraucht. Alle laufenden Instanzen werden angehalten; deren Speicherplatz kostet weiter.',
  runsOut: (at, days) => (
    <>
      Ihr Guthaben reicht bis {at}.{' '}
      {days === 0
        ? 'Dann werden alle Instanzen mit ihren Daten gelöscht.'
        : `Dann werden alle laufenden Instanzen angehalten; deren Speicherplatz bleibt ${plural(days, { one: 'einen Tag', other: `${days} Tage` })} erhalten und kostet weiter.`}
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
