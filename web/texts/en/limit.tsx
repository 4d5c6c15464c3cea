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
  /** An instance's limit stops only the instance, but the account's monthly limit stops all of them. */
  ofInstance: {
    wasReached: (at: ComponentChildren) => <>The limit was reached {at}.</>,
    isReached: (at: ComponentChildren) => <>The limit will be reached {at}. The instance then stops.</>,
  },
  ofMonth: {
    wasReached: (at: ComponentChildren) => <>The monthly limit was reached {at}, and running instances were stopped.</>,
    isReached: (at: ComponentChildren) => <>The monthly limit will be reached {at}. Running instances then stop.</>,
  },
  inUsd: (label: string) => `${label} (USD)`,
};
