import type { ComponentChildren } from 'preact';

export const texts = {
  restored: 'The limit is as it was before.',
  takenAway: 'The limit is taken away.',
  isSet: 'The limit is set.',
  none: 'No limit.',
  /** `what` was used: such as `spent this month`. */
  used: (used: ComponentChildren, limit: string, what: string) => (
    <>
      {used} of {limit} USD {what}
    </>
  ),
  takeAway: 'Take the limit away',
  notReached: 'Not reached at the present rates.',
  wasReached: (at: ComponentChildren) => <>It was reached {at}: what runs under it stops at that second.</>,
  isReached: (at: ComponentChildren) => <>It is reached {at}: what runs under it stops at that second.</>,
  inUsd: (label: string) => `${label}, USD`,
  set: 'Set a limit',
  change: 'Change it',
};
