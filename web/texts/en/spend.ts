export const texts = {
  title: 'Spend by day',
  what: 'USD per UTC day',
  period: 'Period',
  days: (count: number) => `${count} days`,
  none: 'Nothing spent in this period',
  noneWhat: 'Spend appears here from the first second of a rental.',
  /** The dates are in ISO format, and the amount is already formatted. */
  chart: (from: string, to: string, total: string) => `Spend by UTC day from ${from} to ${to}: ${total} USD in total`,
  /** Shown under the axis. */
  shortDay: (date: string) => date.slice(5),
  ofDay: (date: string, amount: string) => `${date}: ${amount} USD`,
  byInstance: 'Spend by instance',
  instance: 'Instance',
  usd: 'USD',
  others: 'all others',
  total: 'Total',
  asFigures: 'Show days as figures',
  day: 'UTC day',
};
