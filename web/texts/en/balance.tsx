import type { ComponentChildren } from 'preact';

export const texts = {
  balance: 'Balance',
  burn: 'Costs now',
  spent: 'Spent this month (UTC)',
  forecast: 'This month if all goes on',
  lastsForYears: 'Your credit lasts for years at this rate.',
  ranOut: 'Your credit ran out. All running instances stop then; their disks are kept for a while, and keep costing.',
  runsOut: (at: ComponentChildren) => (
    <>Your credit runs out {at}. All running instances stop then; their disks are kept for a while, and keep costing.</>
  ),
  over: (deletedAt: ComponentChildren) => (
    <>
      Your credit ran out: everything is stopped, and disks keep costing. Without new credit instances and their disks
      are destroyed {deletedAt}.
    </>
  ),
  nothingCosts: 'Nothing costs anything now: your credit stays as it is.',
  missing: (amount: ComponentChildren) => <>To go on until the month ends, it needs {amount} more.</>,
};
