import { number } from '../../figures/number.js';

export const texts = {
  title: 'Spend',
  period: 'Period',
  /** UTC months, and numbers of days that end with the current one. */
  periods: { month: 'This month', before: 'Last month', days30: '30 days', days90: '90 days' },
  costs: 'Cost (USD)',
  spent: 'Spent',
  projected: 'Projected',
  projectedHint: 'For the whole month, at the current cost',
  groupBy: 'Group the cost',
  byModel: 'By model',
  byName: 'By name',
  none: 'Nothing spent in this period',
  noneWhat: 'Each model and each instance name will get its own line.',
  model: 'Model',
  name: 'Name',
  hourly: 'USD/h now',
  volumes: 'Volumes',
  otherNames: 'All other names',
  /** More names or models, which are at least two. */
  more: (count: number) => `${number(count)} more`,
  total: 'Total',
};
