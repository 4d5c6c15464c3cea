import type { ComponentChildren } from 'preact';

export const texts = {
  restored: 'Previous limit restored.',
  isRemoved: 'Limit removed.',
  isSet: 'Limit set.',
  none: 'no limit',
  /** `what` describes the amount used, such as `spent this month`. */
  used: (used: ComponentChildren, limit: ComponentChildren, what: string) => (
    <>
      {used} of {limit} {what}
    </>
  ),
  notReached: 'Not reached at current rates.',
  wasReached: (at: ComponentChildren) => <>Reached {at}: running instances under it were stopped.</>,
  isReached: (at: ComponentChildren) => <>Will be reached {at}. All limited instances then stop.</>,
  inUsd: (label: string) => `${label} (USD)`,
};
