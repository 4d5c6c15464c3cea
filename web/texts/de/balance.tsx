import { number } from '../../figures/number.js';
import type { texts as english } from '../en/balance.js';
import { listed, plural } from '../plural.js';

export const texts: typeof english = {
  balance: 'Guthaben',
  figures: {
    balance: 'Guthaben',
    burn: 'Aktuelle Kosten',
    month: 'Dieser Monat (UTC)',
    forecast: 'Monatsprognose',
  },
  paidFor: (running, stopped, volumes) =>
    listed([
      [running, plural(running, { one: '1\u00a0läuft', other: `${number(running)}\u00a0laufen` })],
      [stopped, `${number(stopped)}\u00a0angehalten`],
      [volumes, plural(volumes, { one: '1\u00a0Volume', other: `${number(volumes)}\u00a0Volumes` })],
    ]) || 'nichts läuft',
  noLimit: 'kein Monatslimit',
  ofLimit: (limit) => `Limit ${limit} USD`,
  limitUse: 'Verbrauchter Anteil des Monatslimits',
  atThisCost: 'bei den aktuellen Kosten',
  covered: 'durch Ihr Guthaben gedeckt',
  missing: (amount) => <>es fehlen {amount}</>,
  ranOut:
    'Ihr Guthaben ist aufgebraucht. Alle laufenden Instanzen werden angehalten; Speicherplatz und Volumes kosten weiter, bis sie gelöscht werden.',
  runsOut: (at, days) => (
    <>
      Ihr Guthaben reicht bis {at}.{' '}
      {days === 0
        ? 'Dann werden alle Instanzen und Volumes mit ihren Daten gelöscht.'
        : `Dann werden laufende Instanzen angehalten. Speicherplatz und Volumes bleiben noch ${plural(days, { one: 'einen Tag', other: `${days} Tage` })} erhalten und kosten weiter.`}
    </>
  ),
  over: (deletedAt) => (
    <>
      Ihr Guthaben ist aufgebraucht: Alles ist angehalten; Speicherplatz und Volumes kosten weiter. Wenn Sie kein
      Guthaben aufladen, werden Instanzen und Volumes mit ihren Daten gelöscht: {deletedAt}.
    </>
  ),
};
