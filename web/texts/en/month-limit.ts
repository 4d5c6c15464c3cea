export const texts = {
  title: 'Monthly limit',
  what: 'When it is reached, all running instances stop immediately. Disks are kept and still billed.',
  label: 'Limit per UTC month',
  used: 'spent this month',
};
