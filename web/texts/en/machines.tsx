import { number } from '../../figures/number.js';
import { plural } from '../plural.js';

export const texts = {
  market: (date: string) =>
    `Market prices as of ${date}. Billed per second, no setup fee. No minimum, except 60 seconds of GPU if you preempt an interruptible instance.`,
  toSheet: 'Go to price sheet',

  // Popular models.
  popular: 'Models with the most free GPUs',
  popularHint: (vramGb: number, free: string) => `${vramGb} GB · ${free}\u00a0free`,
  fromPrice: (price: string) => `from ${price}\u00a0USD/h`,

  // Requirements.
  search: 'Machines',
  modelHint: 'h100, rtx 4090',
  model: 'GPU model',
  region: 'Region',
  gpus: 'GPUs',
  any: 'any',
  atLeast: (count: number) => `${count} or more`,
  exactly: (count: number) => `exactly ${count}`,
  mostPrice: 'Max. USD/GPU-h',
  vramEach: 'VRAM/GPU (GB)',
  reliabilityMin: 'Reliability (%)',
  more: 'More requirements',
  moreSet: (count: number) => `${count} set`,
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
  busy: 'Include machines held by an interruptible instance',
  only: 'Only',
  removeModel: (model: string) => `Remove ${model}`,
  clear: 'Clear all requirements',

  // Free machines.
  list: 'Free machines',
  searching: 'Searching …',
  count: (count: number) =>
    plural(count, { one: `${count} machine available`, other: `${number(count)} machines available` }),
  rentBest: 'Rent the best match',
  none: 'No machine meets these requirements right now',
  noneHint:
    'Remove a requirement, or include machines held by an interruptible instance. The list updates automatically.',
  caption: 'Available machines with prices in USD and hardware',
  first: (most: number) => `These are the first ${most}. Add requirements to narrow the list.`,
  prices: 'Prices',
  compareHead: 'Compare',
  machineHead: 'Machine',
  rentHead: 'Rent',
  columns: {
    PRICE_PER_GPU: 'USD/GPU-h',
    PRICE: 'USD/h',
    VRAM: 'VRAM',
    BANDWIDTH: 'GB/s',
    RELIABILITY: 'Reliability',
    REGION: 'Region',
    CPU: 'vCPUs',
    MEMORY: 'Memory (GB)',
    DISK: 'Disk (GB)',
    NETWORK: 'Mbit/s in',
  },
  bandwidthMeans:
    'Total memory bandwidth of its GPUs, as published by the vendor for the model, not measured on the machine',
  compare: (id: string) => `Compare ${id}`,
  rent: (id: string) => (
    <>
      Rent <span class="hidden">{id}</span>
    </>
  ),
  heldTitle: 'Held by an interruptible instance, which will be preempted',
  held: (
    <>
      held<span class="hidden"> by an interruptible instance</span>
    </>
  ),
  /** Whether a machine runs containers. */
  runs: {
    real: { name: 'real', title: 'Its host agent runs your containers' },
    trial: { name: 'trial', title: 'Runs your containers; its GPUs are simulated' },
    demo: { name: 'demo', title: 'Fictitious machine: renting it creates a record, but runs nothing' },
    record: { name: 'record only', title: 'No host agent: renting it creates a record, but runs nothing' },
  },

  // A comparison.
  compareTitle: 'Compare',
  compareOne: 'Compare: 1 selected',
  compareMore: (most: number) => `Select more in the list, up to ${most}.`,
  closeCompare: 'Close comparison',
  comparison: 'Comparison',
  modePrice: (mode: string) => `${mode} (USD/h)`,
  perGpuHour: 'USD per GPU-hour',
  vram: 'VRAM',
  bandwidth: 'Memory bandwidth (published)',
  bandwidthPerUsd: 'GB/s per USD/h',
  reliability: 'Reliability',
  cpu: 'CPU',
  cpuOf: (cpu: string, vcpus: number) => `${cpu}, ${vcpus} vCPUs`,
  memory: 'Memory',
  disk: 'Free disk',
  network: 'Network in / out',
  cuda: 'CUDA up to',
  pcie: 'PCIe',
  yes: 'yes',
  no: 'no',
  taken: 'taken',
  removeCompared: (id: string) => (
    <>
      Remove <span class="hidden">{id}</span>
    </>
  ),

  // One model.
  allModels: 'All models',
  fewListings: (listings: number) =>
    `Too few listings for a market median (${listings} of at least 5): the last price remains.`,
  median: (median: string, listings: number) =>
    `Market median ${median} USD per GPU-hour, from ${listings} listings; on demand is 70% of it, rounded down.`,
};
