import type { texts as english } from '../en/limit.js';

export const texts: typeof english = {
  restored: 'Vorheriges Limit wiederhergestellt.',
  isRemoved: 'Limit entfernt.',
  isSet: 'Limit festgelegt.',
  none: 'kein Limit',
  used: (used, limit, what) => (
    <>
      {used} von {limit} {what}
    </>
  ),
  notReached: 'Bei den aktuellen Kosten wird es nicht erreicht.',
  ofInstance: {
    wasReached: (at) => <>Das Limit wurde erreicht: {at}.</>,
    isReached: (at) => <>Das Limit reicht bis {at}. Dann wird die Instanz angehalten.</>,
  },
  ofMonth: {
    wasReached: (at) => <>Das Monatslimit wurde erreicht: {at}. Laufende Instanzen wurden angehalten.</>,
    isReached: (at) => <>Das Monatslimit reicht bis {at}. Dann werden laufende Instanzen angehalten.</>,
  },
  inUsd: (label) => `${label} (USD)`,
};
