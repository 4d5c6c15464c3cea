import { number } from '../../figures/number.js';
import { plural } from '../plural.js';

export const texts = {
  all: 'All instances',
  title: 'History',
  state: 'State',
  stopped: 'Stopped',
  model: 'GPU model',
  priced: 'Priced',
  rentedFrom: 'Rented from (UTC)',
  rentedTo: 'to (UTC)',
  clear: 'Clear all filters',
  none: 'Nothing was rented yet',
  noneOfThese: (hasMore: boolean): string => (hasMore ? 'None of these among the newest' : 'None of these'),
  noneHint: 'What you rent is listed here, also after it is destroyed.',
  noneOfTheseHint: 'Take out a filter, or look at another time.',
  reading: 'Reading your history …',
  back: 'Look further back',
  older: 'Show older ones',
  count: (count: number) => plural(count, { one: '1 instance in all', other: `${number(count)} instances in all` }),
  countSoFar: (count: number) =>
    plural(count, { one: '1 instance so far', other: `${number(count)} instances so far` }),
  columns: { instance: 'Instance', state: 'State', from: 'From', to: 'To', rate: 'USD/h locked', cost: 'Cost, USD' },
};
