import { number } from '../../figures/number.js';

/** The account's volumes. */
export const texts = {
  create: 'New volume',
  lead: 'A volume is your own disk. Its data is saved every few minutes and when an instance stops, so you can continue your work on any machine.',
  yours: 'Your volumes',
  none: 'No volumes yet',
  noneHint: 'Create one and choose it when you deploy.',
  name: 'Name',
  size: 'Size (GB)',
  stored: 'Stored (GB)',
  rate: 'USD/h',
  usedBy: 'Used by',
  lastSnapshot: 'Last snapshot',
  actions: 'Actions',
  in30Days: (usd: string) => `${usd} USD in 30 days`,
  total: (gb: number) => `${number(gb)} GB`,
  unused: 'not in use',
  noSnapshot: 'not saved yet',
  deploy: 'Deploy with this volume',
  deployWith: (volume: string) => `Deploy with ${volume}`,
  tasks: { moments: 'Snapshots', restic: 'Copy data', grow: 'Grow', delete: 'Delete' },
  taskOf: (task: string, volume: string) => `${task} ${volume}`,
};
