import type { texts as english } from '../en/limit.js';

export const texts: typeof english = {
  restored: 'Das Limit ist wieder wie zuvor.',
  takenAway: 'Das Limit ist aufgehoben.',
  isSet: 'Das Limit ist gesetzt.',
  none: 'Kein Limit.',
  used: (used, limit, what) => (
    <>
      {used} von {limit} USD {what}
    </>
  ),
  takeAway: 'Limit aufheben',
  notReached: 'Bei den jetzigen Kosten wird es nicht erreicht.',
  wasReached: (at) => <>Erreicht: {at}. Was darunter läuft, wird in dieser Sekunde angehalten.</>,
  isReached: (at) => <>Reicht bis {at}: Was darunter läuft, wird in dieser Sekunde angehalten.</>,
  inUsd: (label) => `${label}, USD`,
  set: 'Limit setzen',
  change: 'Ändern',
};
