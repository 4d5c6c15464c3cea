import { number } from '../../figures/number.js';
import { plural } from '../plural.js';

export const texts = {
  title: 'Machines',
  market: (date: string) =>
    `Market of ${date}. Billed per second, no setup fee. No minimum, except 60 seconds of GPU if you preempt an interruptible instance.`,
  toSheet: 'To the price sheet',

  // Models to begin with.
  popular: 'Models with the most free GPUs',
  popularHint: (vramGb: number, free: string) => `${vramGb} GB · ${free} free`,
  fromPrice: (price: string) => `from ${price} USD/h`,

  // What is looked for.
  search: 'Machines',
  modelHint: 'h100, rtx 4090',
  model: 'GPU model',
  region: 'Region',
  gpus: 'GPUs',
  any: 'any',
  atLeast: (count: number) => `${count} or more`,
  exactly: (count: number) => `exactly ${count}`,
  mostPrice: 'Most USD/GPU-h',
  vramEach: 'VRAM per GPU, GB',
  reliabilityMin: 'Reliability, %',
  more: 'More requirements',
  tier: 'Class',
  tiers: {
    FLAGSHIP: 'Flagship',
    DATACENTER: 'Datacenter',
    CONSUMER_FLAGSHIP: 'Consumer flagship',
    CONSUMER: 'Consumer',
  },
  ram: 'Memory, GB',
  freeDisk: 'Free disk, GB',
  vcpus: 'vCPUs',
  nvlink: 'NVLink',
  fuse: 'FUSE',
  busy: 'Also those that an interruptible instance holds',
  only: 'Only',
  noLongerOnly: (model: string) => `No longer only ${model}`,
  clear: 'Clear all requirements',

  // Saved searches.
  saved: 'Saved searches',
  saveSearch: 'Save this search',
  saveAs: 'Name of the search',
  save: 'Save',
  cancel: 'Cancel',
  rename: (name: string) => `Rename ${name}`,
  renameShort: 'Rename',
  remove: (name: string) => `Delete ${name}`,
  removeShort: 'Delete',
  edit: 'Edit',
  done: 'Done',
  isSaved: (name: string) => `The search ${name} is saved in this browser.`,
  isRemoved: (name: string) => `The search ${name} is deleted.`,
  isBack: (name: string) => `The search ${name} is back.`,
  tooMany: (most: number) => `This browser keeps ${most} searches. Delete one first.`,
  notKept: 'This browser keeps nothing for this page: the search is gone when you leave.',

  // The machines that are free.
  list: 'Machines that are free',
  searching: 'Searching …',
  count: (count: number) =>
    plural(count, { one: `${count} machine to rent now`, other: `${number(count)} machines to rent now` }),
  rentBest: 'Rent the best that fits',
  none: 'No machine meets these requirements now',
  noneHint:
    'Take out a requirement, or look at machines that an interruptible instance holds. The list updates by itself.',
  caption: 'Machines to rent, their prices in USD and what they have',
  first: (most: number) => `These are the first ${most}. Ask for more, to find the one you want.`,
  prices: 'Prices',
  compareHead: 'Compare',
  machineHead: 'Machine',
  rentHead: 'Rent',
  columns: {
    PRICE_PER_GPU: 'USD/GPU-h',
    PRICE: 'USD/h',
    VRAM: 'VRAM',
    BANDWIDTH: 'GB/s',
    RELIABILITY: 'Reliable',
    REGION: 'Region',
    CPU: 'vCPUs',
    MEMORY: 'Memory, GB',
    DISK: 'Disk, GB',
    NETWORK: 'Mbit/s in',
  },
  bandwidthMeans:
    'Memory bandwidth of all its GPUs, as their maker publishes it for the model: not measured on the machine',
  compare: (id: string) => `Compare ${id}`,
  rent: (id: string) => (
    <>
      Rent <span class="hidden">{id}</span>
    </>
  ),
  heldTitle: 'An interruptible instance holds it, and has to leave',
  held: (
    <>
      held<span class="hidden"> by an interruptible instance</span>
    </>
  ),
  /** Whether a machine runs what is rented on it. */
  runs: {
    real: { name: 'real', title: 'Its host agent runs your containers' },
    trial: { name: 'trial', title: 'Runs your containers; its GPUs are simulated' },
    demo: { name: 'demo', title: 'A made-up machine: renting it creates a record, and nothing runs' },
    record: { name: 'record only', title: 'It has no host agent: renting it creates a record, and nothing runs' },
  },

  // A comparison.
  compareTitle: 'Compare',
  compareOne: 'Compare: 1 chosen',
  compareMore: (most: number) => `Tick others in the list, up to ${most}.`,
  closeCompare: 'Close the comparison',
  whatTheyHave: 'What they have',
  modePrice: (mode: string) => `${mode}, USD/h`,
  perGpuHour: 'USD per GPU-hour',
  vram: 'VRAM',
  bandwidth: 'Memory bandwidth, published',
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
    `Too few listings for a market median (${listings}; 5 are needed): the last price stays.`,
  median: (median: string, listings: number) =>
    `Market median ${median} USD per GPU-hour, from ${listings} listings; on demand is 70 % of it, rounded down.`,
};
