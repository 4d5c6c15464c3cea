export const texts = {
  title: 'Limit of a month',
  what: 'Everything that runs stops at the second at which it is reached. Disks stay, and cost.',
  label: 'May spend in a UTC month',
  used: 'spent this month',
};
