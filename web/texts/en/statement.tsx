import type { ComponentChildren } from 'preact';

export const texts = {
  title: 'Statement',
  month: 'UTC month',
  none: 'No balance changes in this month',
  noneWhat: 'Credit and charges will be listed here.',
  what: 'Item',
  when: 'Time',
  usd: 'USD',
  opening: 'Opening balance',
  closing: (at: ComponentChildren) => <>Balance {at}</>,
  kinds: {
    GPU: 'GPUs',
    DISK: 'disk',
    EARLY_EXIT: 'early exit',
    PREEMPTION_MINIMUM: 'minimum for preempting',
    VOLUME: 'volume',
  },
  movements: { CREDIT: 'Credit', ADJUSTMENT: 'Adjustment', SERVICE_CREDIT: 'Service credit' },
  atRate: (time: string, hourly: string) => `${time} at ${hourly} USD/h`,
  /** `rows` is the number of rows shown of each kind. */
  shown: (rows: number) => `Shows the first ${rows} of each kind; the download contains all.`,
  verify: 'Verify a signed statement',
};
