import type { ComponentChildren } from 'preact';
import { plural } from '../plural.js';

export const texts = {
  balance: 'Balance',
  burn: 'Current cost',
  lastsForYears: 'At this rate, your credit lasts for years.',
  ranOut: 'Your credit has run out. All running instances are being stopped; their disks are still billed.',
  /** `days` is how long disks are kept after that. */
  runsOut: (at: ComponentChildren, days: number) => (
    <>
      Your credit runs out {at}.{' '}
      {days === 0
        ? 'All instances are then destroyed with their disks.'
        : `All running instances then stop; their disks are kept for ${plural(days, { one: 'one day', other: `${days} days` })} and still billed.`}
    </>
  ),
  over: (deletedAt: ComponentChildren) => (
    <>
      Your credit has run out: everything is stopped, and disks are still billed. Unless you add credit, instances and
      their disks will be destroyed {deletedAt}.
    </>
  ),
  nothingCosts: 'Nothing is being billed right now.',
  missing: (amount: ComponentChildren) => <>To last until the end of the month, you need {amount} more.</>,
};
