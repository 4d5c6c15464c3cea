/** Downloads of a month's statement. */
export const texts = {
  download: 'Download',
  busy: 'Downloading …',
  formats: { csv: 'CSV', focus: 'CSV in FOCUS 1.2', signed: 'Signed JSON', invoice: 'Invoice (HTML)' },
  uses: {
    csv: 'All lines of the statement',
    focus: 'Costs by resource and day, for FinOps tools',
    signed: 'Anyone can verify every line',
    invoice: 'A page to print',
  },
};
