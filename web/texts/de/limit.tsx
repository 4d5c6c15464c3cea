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
  wasReached: (at) => <>Erreicht: {at}. Davon betroffene Instanzen wurden angehalten.</>,
  isReached: (at) => <>Reicht bis {at}. Dann werden die betroffenen Instanzen angehalten.</>,
  inUsd: (label) => `${label} (USD)`,
};
