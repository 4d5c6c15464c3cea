import type { ComponentChildren } from 'preact';
import { number } from '../../figures/number.js';
import { listed, plural } from '../plural.js';

export const texts = {
  balance: 'Balance',
  figures: {
    balance: 'Balance',
    burn: 'Current cost',
    month: 'This month (UTC)',
    forecast: 'Projected this month',
  },
  /** The items that the current cost is for. */
  paidFor: (running: number, stopped: number, volumes: number) =>
    listed([
      [running, `${number(running)}\u00a0running`],
      [stopped, `${number(stopped)}\u00a0stopped`],
      [volumes, plural(volumes, { one: '1\u00a0volume', other: `${number(volumes)}\u00a0volumes` })],
    ]) || 'nothing running',
  noLimit: 'no monthly limit',
  ofLimit: (limit: string) => `limit ${limit} USD`,
  limitUse: 'Share of the monthly limit that is spent',
  atThisCost: 'at the current cost',
  covered: 'covered by your balance',
  missing: (amount: ComponentChildren) => <>{amount} short</>,
  ranOut:
    'Your credit has run out. All running instances are being stopped; disks and volumes are still billed until they are deleted.',
  /** `days` is how long disks and volumes are kept after that. */
  runsOut: (at: ComponentChildren, days: number) => (
    <>
      Your credit runs out {at}.{' '}
      {days === 0
        ? 'All instances and volumes are then deleted with their data.'
        : `Running instances then stop. Disks and volumes are kept for ${plural(days, { one: 'one more day', other: `${days} more days` })}, and still billed.`}
    </>
  ),
  over: (deletedAt: ComponentChildren) => (
    <>
      Your credit has run out: everything is stopped, and disks and volumes are still billed. Unless you add credit,
      instances and volumes will be deleted with their data {deletedAt}.
    </>
  ),
};
