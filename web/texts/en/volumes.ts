import { number } from '../../figures/number.js';

/** The account's volumes. */
export const texts = {
  create: 'New volume',
  yours: 'Your volumes',
  none: 'No volumes yet',
  noneHint:
    'A volume is your own disk, which outlives the machines you rent. Create one and choose it when you deploy.',

  totals: 'All volumes',
  figures: { count: 'Volumes', size: 'Size', stored: 'Stored', cost: 'Current cost' },
  unusedOf: (unused: number) => (unused === 0 ? 'all attached' : `${number(unused)} not attached`),
  perGb: (usd: string) => `${usd} USD per GB per month`,
  ofSize: (share: string) => `${share} of the size`,
  nothingStored: 'nothing saved yet',
  perMonth: (usd: string) => `≈ ${usd} USD per month`,

  name: 'Name',
  stored: 'Stored',
  storedOf: (stored: string, size: string) => `${stored} of ${size} GB`,
  rate: 'USD/h',
  monthlyRate: 'USD/month',
  monthlyHint: 'In 30 days',
  usedBy: 'Used by',
  lastSnapshot: 'Last snapshot',
  actions: 'Actions',
  unused: 'not attached',
  noSnapshot: 'not saved yet',
  deploy: 'Deploy with it',
  deployWith: (volume: string) => `Deploy with it: ${volume}`,
  tasks: { moments: 'Snapshots', restic: 'Copy data', grow: 'Grow', delete: 'Delete' },
  taskOf: (task: string, volume: string) => `${task} ${volume}`,

  how: 'How volumes work',
  points: [
    ['Saved automatically', 'Every few minutes while an instance uses the volume, and whenever that instance stops.'],
    [
      'Moves between machines',
      'Deploy with the volume on any machine that runs containers. Its files are there before your program starts.',
    ],
    [
      'Snapshots are restore points',
      'The last snapshot of each of the last 24 hours and 7 days is kept. Create a new volume from any of them.',
    ],
  ],
};
