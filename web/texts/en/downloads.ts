/** Downloads of a month's statement, and the account's details on its invoices. */
export const texts = {
  download: 'Download',
  formats: { csv: 'CSV', focus: 'CSV in FOCUS 1.2', signed: 'Signed JSON', invoice: 'Invoice (HTML)' },
  uses: {
    csv: 'All lines of the statement',
    focus: 'Costs by resource and day, for FinOps tools',
    signed: 'Anyone can verify every line',
    invoice: 'A page to print',
  },
  details: 'Billing details',
  detailsUse: 'These details appear on all your invoices, including those for past months. Empty fields are left out.',
  name: 'Name or company',
  address: 'Address',
  reference: 'Your reference, such as an order number',
  stored: 'Billing details saved',
};
