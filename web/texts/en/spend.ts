export const texts = {
  title: 'Spend by day',
  what: 'USD by UTC day',
  period: 'Period',
  days: (count: number) => `${count} days`,
  none: 'Nothing was spent in these days',
  noneWhat: 'The first second of the first rental shows here.',
  /** The dates are ISO's; the amount is ready to be shown. */
  chart: (from: string, to: string, total: string) => `Spend by UTC day from ${from} to ${to}: ${total} USD in all`,
  /** Under the axis. */
  shortDay: (date: string) => date.slice(5),
  ofDay: (date: string, amount: string) => `${date}: ${amount} USD`,
  byInstance: 'Spend by instance',
  instance: 'Instance',
  usd: 'USD',
  others: 'all others',
  together: 'Together',
  asFigures: 'The days as figures',
  day: 'UTC day',
};
