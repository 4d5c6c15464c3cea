import type { ComponentChildren } from 'preact';

export const texts = {
  balance: 'Balance',
  burn: 'Current cost',
  lastsForYears: 'At this rate, your credit lasts for years.',
  ranOut:
    'Your credit has run out. All running instances are being stopped; their disks are kept for a while and still billed.',
  runsOut: (at: ComponentChildren) => (
    <>Your credit runs out {at}. All running instances then stop; their disks are kept for a while and still billed.</>
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
