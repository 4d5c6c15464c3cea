export const texts = {
  title: (name: string) => `Snapshots of ${name}`,
  what: 'The last snapshot of each of 24 hours and of 7 days is kept. A start begins with the newest.',
  none: 'Nothing was stored yet',
  noneHint: 'The first snapshot is made while an instance runs with it.',
  columns: { when: 'When', size: 'Size', by: 'By', snapshot: 'Snapshot', do: 'Do' },
  unknown: 'unknown',
  ownRestic: 'your own restic',
  newVolume: 'New volume from it',
};
