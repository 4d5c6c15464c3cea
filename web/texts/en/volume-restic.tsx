export const texts = {
  title: (name: string) => `Copy in and out of ${name}`,
  free: 'A volume is a repository of restic, which you can read from anywhere at any time, and write to while no instance uses it.',
  inUse:
    'A volume is a repository of restic, which you can read from anywhere at any time; an instance uses it now, so it alone writes.',
  oneOfYourKeys: 'one of your API keys',
  neverRan: 'a volume that never ran',
  show: 'Show the password',
  copy: 'Copy the password',
  close: 'Close',
};
