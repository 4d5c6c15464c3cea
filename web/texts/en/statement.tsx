import type { ComponentChildren } from 'preact';

export const texts = {
  title: 'Statement',
  month: 'UTC month',
  none: 'Nothing changed the balance in this month',
  noneWhat: 'Credit and charges are listed here.',
  what: 'What',
  when: 'When',
  usd: 'USD',
  opening: 'Opening balance',
  closing: (at: ComponentChildren) => <>Balance {at}</>,
  kinds: {
    GPU: 'GPUs',
    DISK: 'disk',
    EARLY_EXIT: 'early exit',
    PREEMPTION_MINIMUM: 'minimum of the start that preempted',
    VOLUME: 'volume',
  },
  movements: { CREDIT: 'credit', ADJUSTMENT: 'adjustment', SERVICE_CREDIT: 'given back' },
  atRate: (time: string, hourly: string) => `${time} at ${hourly} USD/h`,
  /** Of each kind so many rows are shown. */
  shown: (rows: number) => `The first ${rows} of each kind; the download holds all.`,
  download: 'Download CSV',
};
