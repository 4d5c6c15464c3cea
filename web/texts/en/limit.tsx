import type { ComponentChildren } from 'preact';

export const texts = {
  restored: 'Previous limit restored.',
  isRemoved: 'Limit removed.',
  isSet: 'Limit set.',
  none: 'No limit.',
  /** `what` describes the amount used, such as `spent this month`. */
  used: (used: ComponentChildren, limit: string, what: string) => (
    <>
      {used} of {limit} USD {what}
    </>
  ),
  remove: 'Remove limit',
  notReached: 'Not reached at current rates.',
  wasReached: (at: ComponentChildren) => <>Reached {at}: running instances under it were stopped.</>,
  isReached: (at: ComponentChildren) => <>Will be reached {at}: running instances under it then stop.</>,
  inUsd: (label: string) => `${label} (USD)`,
  set: 'Set limit',
  change: 'Change limit',
};
