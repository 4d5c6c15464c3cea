import { number } from '../../figures/number.js';
import { plural } from '../plural.js';

export const texts = {
  title: 'Statement',
  month: 'UTC month',
  none: 'No balance changes in this month',
  noneWhat: 'Credit and charges will be listed here.',
  what: 'Item',
  when: 'Time (UTC)',
  span: 'Ran for',
  gpus: 'GPUs',
  storage: 'Storage',
  /** A part of a charge, with its exact amount in USD. */
  part: (kind: string, time: string, hourly: string, amount: string) =>
    `${kind}: ${time} at ${hourly} USD/h, ${amount} USD`,
  including: (what: string) => `including ${what}`,
  usd: 'USD',
  usdHint:
    'Whole cents that add up to the balance. A row can be one cent more than the same amount elsewhere, which is rounded down.',
  opening: 'Opening balance',
  closing: 'Closing balance',
  /** Instead of the closing balance, while the month isn’t over. */
  now: 'Balance now',
  /** The rows that aren't shown. Their sum is next to it. */
  more: (count: number) => plural(count, { one: '1 more item', other: `${number(count)} more items` }),
  all: 'Show all',
  fewer: 'Show fewer',
  kinds: {
    GPU: 'GPUs',
    DISK: 'disk',
    EARLY_EXIT: 'early exit',
    PREEMPTION_MINIMUM: 'minimum for preempting',
    VOLUME: 'volume',
  },
  movements: { CREDIT: 'Credit', ADJUSTMENT: 'Adjustment', SERVICE_CREDIT: 'Service credit' },
  /** Why a charge was refunded, by the service's text. */
  reasons: {
    'before the container was running': 'before the container was running',
    'the template did not start in time': 'the template didn’t start in time',
    'the machine failed to start it': 'the machine failed to start it',
    'the machine was unreachable': 'the machine was unreachable',
  },
  shown: (rows: number) => `Shows the first ${rows}; the download contains all.`,
  verify: 'Verify a signed statement',
};
