export const texts = {
  title: (name: string) => `Snapshots of ${name}`,
  what: 'The last snapshot of each of the last 24 hours and 7 days is kept. Instances start with the newest.',
  none: 'No snapshots yet',
  noneHint: 'The first snapshot is taken while an instance uses the volume.',
  columns: { when: 'Time', size: 'Size', by: 'Taken by', snapshot: 'Snapshot', actions: 'Actions' },
  unknown: 'unknown',
  ownRestic: 'your own restic',
  newVolume: 'Create volume from it',
};
