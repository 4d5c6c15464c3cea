import type { ComponentChildren } from 'preact';
import { number } from '../../figures/number.js';
import { plural } from '../plural.js';

export const texts = {
  title: 'GPUs by the second',
  heading: 'GPUs by the second, 30% below market',
  what: 'From a click to a shell within seconds, on a machine of your own. No setup fee, no subscription, and no GPU cost after you stop.',
  deployGpu: 'Deploy a GPU',
  allPrices: 'See all prices',
  where: 'Regions with free GPUs',
  freeNow: 'Free now',
  gpusFree: 'GPUs free now',
  machines: 'machines',
  regions: 'regions',
  prices: 'Prices',
  perGpuHour: 'USD per GPU-hour',
  free: (gpus: string) => `${gpus} free`,
  deploy: 'Deploy',
  deployModel: (model: string) => `Deploy ${model}`,
  /** `hidden` wraps text for screen readers only. */
  trend: (change: string, snapshots: number, hidden: (text: string) => ComponentChildren) => (
    <>
      {change} {hidden(`over ${snapshots} market snapshots`)}
    </>
  ),
  gpus: (count: number) => plural(count, { one: '1 GPU', other: `${number(count)} GPUs` }),
  moreRegions: (count: number) => `and ${count} more`,
  /** An icon, a title and a sentence each. */
  reasons: [
    [
      'square-terminal',
      'A shell in your browser',
      'Choose a machine and a template. The terminal opens as soon as your container runs, and SSH works too.',
    ],
    [
      'clock',
      'Billed by the second',
      'Prepaid credit, spend limits and deadlines. After you stop an instance, only its disk is billed.',
    ],
    [
      'code',
      'The whole service as an API',
      'The console uses the public GraphQL API. Scripts can use it too, or REST, the CLI and the clients.',
    ],
  ] as readonly (readonly [icon: string, title: string, text: string])[],
  priceSheet: 'Price sheet',
  console: 'The console',
  market: 'Market',
  marketHint: 'Median of the market’s listings',
  marketAt: (price: string) => `market ${price}`,
  memoryAndFree: (vramGb: number, gpus: string) => `${vramGb} GB · ${gpus} free`,
  caption: 'USD per GPU-hour and free GPUs by model',
  gpu: 'GPU',
  vram: 'VRAM (GB)',
  freeGpus: 'Free GPUs',
  trendColumn: 'Trend',
  reading: 'Loading the price sheet …',
  showAll: (count: number) => `Show all ${count} models`,
};
