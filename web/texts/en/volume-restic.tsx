export const texts = {
  title: (name: string) => `Copy data to and from ${name}`,
  free: 'A volume is a restic repository. You can read it from anywhere at any time, and write to it while no instance uses it.',
  inUse:
    'A volume is a restic repository. You can read it from anywhere at any time. An instance is using it now, so only that instance can write to it.',
  oneOfYourKeys: 'one of your API keys',
  neverRan: 'a volume that no instance has used',
  show: 'Show password',
  copy: 'Copy password',
  close: 'Close',
};
