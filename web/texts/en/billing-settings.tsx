import type { ComponentChildren } from 'preact';

export const texts = {
  title: 'Settings',
  limit: 'Monthly limit',
  noLimit: 'none',
  limitUsed: 'spent this month',
  limitHint: 'When it is reached, all running instances stop immediately. Disks are kept and still billed.',
  limitLabel: 'Limit per UTC month',
  notice: 'Low-balance notification',
  noNotice: 'off',
  noticeAt: (amount: ComponentChildren) => <>at {amount}</>,
  noticeHint: (
    <>
      You are notified by email and webhook once the balance falls to this amount. Set up both under{' '}
      <a href="/notifications">Notifications</a>.
    </>
  ),
  noticeLabel: 'Balance (USD)',
  noticeSet: 'Low-balance notification set.',
  noticeRemoved: 'Low-balance notification disabled.',
  details: 'Billing details',
  noDetails: 'none',
  detailsUse: 'These details appear on all your invoices, including those for past months. Empty fields are left out.',
  name: 'Name or company',
  address: 'Address',
  reference: 'Your reference, such as an order number',
  stored: 'Billing details saved',
};
