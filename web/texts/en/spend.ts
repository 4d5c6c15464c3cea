export const texts = {
  title: 'By UTC day',
  since: (date: string) => `Spend since ${date}`,
  none: 'Nothing spent in this period',
  noneWhat: 'Spend appears here from the first second of a rental.',
  /** The dates and the amount are already formatted. */
  chart: (from: string, to: string, total: string) => `Spend by UTC day from ${from} to ${to}: ${total} USD in total`,
  ofDay: (date: string, amount: string) => `${date}: ${amount} USD`,
  byModel: 'Spend by GPU model',
  usd: 'USD',
  others: 'Other models and volumes',
  asFigures: 'Show as table',
  day: 'UTC day',
};
