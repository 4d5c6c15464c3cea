import { number } from '../../figures/number.js';
import { plural } from '../plural.js';

export const texts = {
  all: 'All instances',
  stopped: 'Stop reason',
  priced: 'Pricing',
  rentedFrom: 'Rented from (UTC)',
  rentedTo: 'To (UTC)',
  none: 'No rentals yet',
  noneOfThese: (hasMore: boolean): string => (hasMore ? 'No match among the newest' : 'No matching instances'),
  noneHint: 'Everything you rent is listed here, even after you destroy it.',
  noneOfTheseHint: 'Remove a filter or choose another period.',
  reading: 'Loading your history …',
  back: 'Search further back',
  older: 'Show older',
  count: (count: number) => plural(count, { one: '1 instance', other: `${number(count)} instances` }),
  countShown: (count: number) => plural(count, { one: '1 instance shown', other: `${number(count)} instances shown` }),
  more: 'More filters',
  moreSet: (count: number) => `More filters (${count})`,
  rented: 'Rented',
  ran: 'Ran for',
  gpuRate: 'GPU USD/h',
  rateMeans: 'GPU price fixed when you rented the instance',
};
