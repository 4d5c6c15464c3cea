import type { ComponentChildren } from 'preact';

export const texts = {
  title: 'GPUs by the second',
  heading: 'GPUs by the second, at 70% of the market price',
  what: 'Your own machine, running within seconds: your container, SSH, and a bill that ends the second you stop. No setup fee, no contract.',
  rentGpu: 'Rent a GPU',
  allPrices: 'See all prices',
  where: 'Regions with free GPUs',
  freeNow: 'Free now',
  gpusFree: 'GPUs free now',
  machines: 'machines',
  regions: 'regions',
  prices: 'Prices',
  perGpuHour: 'USD per GPU-hour',
  cheaperModes: (interruptible: string, reserved: string) =>
    `From ${interruptible} interruptible, ${reserved} reserved`,
  free: (gpus: string) => `${gpus} free`,
  rent: 'Rent',
  rentModel: (model: string) => `Rent ${model}`,
  /** `hidden` wraps text for screen readers only. */
  trend: (change: string, snapshots: number, hidden: (text: string) => ComponentChildren) => (
    <>
      {change} {hidden(`over ${snapshots} market snapshots`)}
    </>
  ),
  moreRegions: (count: number) => `and ${count} more`,
  priceSheet: 'Price sheet',
  marketOf: (snapshot: string) => `USD per GPU-hour, market prices as of ${snapshot}`,
  caption: 'USD per GPU-hour and free GPUs by model',
  gpu: 'GPU',
  vram: 'VRAM',
  freeGpus: 'Free GPUs',
  trendColumn: 'Trend',
  modeInUsd: (mode: string) => `${mode} (USD)`,
  reading: 'Loading the price sheet …',
  showAll: (count: number) => `Show all ${count} models`,
};
