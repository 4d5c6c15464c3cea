import { number } from '../../figures/number.js';
import { plural } from '../plural.js';

export const texts = {
  /** `prices` describes their age. */
  market: (prices: string) => `${prices} · billed per second`,

  // Models.
  popular: 'Popular models',
  perGpu: 'USD/GPU-h',
  freeOf: (vramGb: number, free: string) => `${free}\u00a0free · ${vramGb}\u00a0GB`,
  trendOf: (change: string, snapshots: number) => `${change} over ${snapshots} market snapshots`,
  allModels: (count: number) => `All ${count} models`,
  allModelsHint: 'With all prices',
  history: 'Price history',
  fewListings: (listings: number) => `Too few listings for a market median (${listings} of at least 5)`,
  median: (median: string, listings: number) => `Market median ${median} USD per GPU-hour from ${listings} listings`,
  medianMeans:
    'The on-demand price is 70% of the market median, rounded down. It stays unchanged while there are too few listings.',

  // Requirements.
  search: 'Machines',
  modelHint: 'GPU model',
  model: 'GPU model',
  region: 'Location',
  anyRegion: 'Any location',
  gpus: 'GPUs',
  anyCount: 'Any GPU count',
  atLeast: (count: string) => `${count} or more GPUs`,
  orMore: (count: string) => `${count} or more`,
  just: (count: string) => `exactly ${count}`,
  exactly: (count: string) => `exactly ${count} ${count === '1' ? 'GPU' : 'GPUs'}`,
  mostPrice: 'Max. USD/GPU-h',
  vramEach: 'VRAM/GPU (GB)',
  reliabilityMin: 'Reliability (%)',
  more: 'More filters',
  moreSet: (count: number) => `${count}\u00a0set`,
  tier: 'Class',
  tiers: {
    FLAGSHIP: 'Flagship',
    DATACENTER: 'Datacenter',
    CONSUMER_FLAGSHIP: 'Consumer flagship',
    CONSUMER: 'Consumer',
  },
  ram: 'Memory (GB)',
  freeDisk: 'Free disk (GB)',
  vcpus: 'vCPUs',
  nvlink: 'NVLink',
  fuse: 'FUSE',
  busy: 'Include machines held by an interruptible instance (you pay for at least 60 seconds of GPU)',
  /** Active filters. */
  chips: {
    price: (usd: string) => `up to ${usd} USD/GPU-h`,
    vram: (gb: string) => `${gb} GB VRAM or more`,
    reliability: (percent: string) => `${percent}% reliability or more`,
    vcpus: (count: string) => `${count} vCPUs or more`,
    ram: (gb: string) => `${gb} GB RAM or more`,
    disk: (gb: string) => `${gb} GB disk or more`,
    busy: 'including held machines',
  },
  removeFilter: (filter: string) => `Remove filter: ${filter}`,
  clear: 'Clear all filters',

  // Free machines.
  list: 'Free machines',
  searching: 'Searching …',
  count: (count: number) => `${number(count)} ${plural(count, { one: 'machine', other: 'machines' })}`,
  asOf: (time: string) => `as of ${time}`,
  deployCheapest: (price: string) => `Deploy cheapest · ${price} USD/h`,
  cheapestHint: 'The cheapest machine that matches these filters is chosen when you deploy.',
  none: 'No machine matches these filters right now',
  noneHint: 'Remove a filter, or include machines held by an interruptible instance. The list updates automatically.',
  demo: 'Demo',
  /** The scope of the list: only machines that run containers, or all. */
  scope: {
    show: (count: number) =>
      plural(count, {
        one: 'Show 1 machine without an agent',
        other: `Show ${number(count)} machines without an agent`,
      }),
    all: (count: number) =>
      plural(count, {
        one: '1 of them has no host agent and runs nothing',
        other: `${number(count)} of them have no host agent and run nothing`,
      }),
    hide: 'Hide machines without an agent',
    demo: 'These machines are fictitious: no containers are started',
    agentless: 'No machine has a host agent yet: renting one creates a record, but runs nothing',
  },
  caption: 'Available machines with prices in USD and hardware',
  first: (most: number) => `These are the first ${most}. Add filters to narrow the list.`,
  prices: 'Prices',
  sort: 'Sort',
  recommended: 'Recommended',
  recommendedHint: 'Popular models first, then the cheapest of each kind',
  orders: {
    PRICE: 'Lowest price',
    PRICE_PER_GPU: 'Lowest price per GPU',
    VRAM: 'Most VRAM',
    BANDWIDTH: 'Most memory bandwidth',
    CPU: 'Most vCPUs',
    MEMORY: 'Most RAM',
    DISK: 'Most disk',
    NETWORK: 'Fastest network',
    RELIABILITY: 'Most reliable',
    REGION: 'Location',
  },
  compareHead: 'Compare',
  machineHead: 'Machine',
  hardwareHead: (
    <>
      <span>vCPUs</span> <span>RAM GB</span> <span>Disk GB</span> <span class="net">Net Mbit/s</span>
    </>
  ),
  deployHead: 'Deploy',
  columns: {
    PRICE: 'USD/h',
    PRICE_PER_GPU: 'USD/GPU-h',
    REGION: 'Location',
    RELIABILITY: 'Reliability %',
  },
  detailsOf: (id: string) => `, details of ${id}`,
  equal: (count: number) => (
    <>
      ×{count}
      <span class="equal-word"> available</span>
    </>
  ),
  equalTo: (id: string) => `like ${id}`,
  equalHint: 'Same model, price and location; CPU, memory and disk may differ',
  compare: (id: string) => `Compare ${id}`,
  deploy: (id: string) => (
    <>
      Deploy <span class="hidden">{id}</span>
    </>
  ),
  heldTitle: 'Held by an interruptible instance, which will be preempted. You pay for at least 60 seconds of GPU',
  held: (
    <>
      held<span class="hidden"> by an interruptible instance</span>
    </>
  ),
  /** Whether a machine runs containers. */
  runs: {
    real: { name: 'agent', title: 'Its host agent runs your containers' },
    trial: { name: 'trial', title: 'Runs your containers; its GPUs are simulated' },
    demo: { name: 'demo', title: 'Fictitious machine: renting it creates a record, but runs nothing' },
    record: { name: 'record only', title: 'No host agent: renting it creates a record, but runs nothing' },
  },

  // A comparison.
  selected: (count: number) => `${count} selected`,
  compareMore: (most: number) => `of up to ${most}`,
  clearSelection: 'Clear',
  compareSelected: 'Compare',
  compareTitle: (count: number) => plural(count, { one: 'Compare 1 machine', other: `Compare ${count} machines` }),
  comparison: 'Comparison',
  addToComparison: 'Add to comparison',
  removeFromComparison: 'Remove from comparison',
  machineId: 'Machine',
  runsContainers: 'Runs containers',
  modePrice: (mode: string) => `${mode} (USD/h)`,
  perGpuHour: 'Per GPU (USD/h)',
  vram: 'VRAM',
  bandwidth: 'Published bandwidth',
  bandwidthPerUsd: 'GB/s per USD/h',
  reliability: 'Reliability',
  cpu: 'CPU',
  cpuOf: (cpu: string, vcpus: number) => `${cpu}, ${vcpus} vCPUs`,
  memory: 'Memory',
  disk: 'Free disk',
  network: 'Network in / out',
  networkOf: (down: string, up: string) => `${down} in / ${up} out, in Mbit/s`,
  cuda: 'CUDA up to',
  pcie: 'PCIe',
  yes: 'yes',
  no: 'no',
  taken: 'taken',
  removeCompared: (id: string) => `Remove ${id}`,
};
