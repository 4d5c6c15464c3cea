import { number } from '../../figures/number.js';

export const texts = {
  title: 'Statement',
  month: 'UTC month',
  none: 'No balance changes in this month',
  noneWhat: 'Credit and charges will be listed here.',
  what: 'Item',
  when: 'Time (UTC)',
  span: 'Duration',
  rate: 'USD/h',
  usd: 'USD',
  opening: 'Opening balance',
  closing: 'Closing balance',
  all: (count: number) => `Show all ${number(count)}`,
  fewer: 'Show fewer',
  kinds: {
    GPU: 'GPUs',
    DISK: 'disk',
    EARLY_EXIT: 'early exit',
    PREEMPTION_MINIMUM: 'minimum for preempting',
    VOLUME: 'volume',
  },
  movements: { CREDIT: 'Credit', ADJUSTMENT: 'Adjustment', SERVICE_CREDIT: 'Service credit' },
  /** `rows` is the number of rows shown of each kind. */
  shown: (rows: number) => `Shows the first ${rows} of each kind; the download contains all.`,
  verify: 'Verify a signed statement',
};
