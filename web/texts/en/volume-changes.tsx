import type { ComponentChildren } from 'preact';

export const texts = {
  new: 'New volume',
  create: 'Create volume',
  begins: (snapshot: ComponentChildren, name: string) => (
    <>
      It starts with the contents of snapshot {snapshot} of {name}, which stays unchanged.
    </>
  ),
  name: 'Name',
  size: 'Size (GB)',
  billed: 'Billed per second until you delete it. It can grow later but can’t shrink.',
  price: (rate: string) =>
    `${rate} USD per hour, billed per second until you delete it. It can grow later but can’t shrink.`,
  growThis: (name: string) => `Grow ${name}`,
  grow: 'Grow',
  has: (gb: number) => `Currently ${gb} GB. An instance that uses the volume gets the new size at its next start.`,
  hasThen: (gb: number, rate: string) =>
    `Currently ${gb} GB. It will cost ${rate} USD per hour. An instance that uses the volume gets the new size at its next start.`,
  deleteThis: (name: string) => `Delete ${name}?`,
  delete: 'Delete permanently',
  erased: 'All its data and snapshots will be erased. This can’t be undone.',
  inUse: (instance: ComponentChildren) => <>Instance {instance} is using it: stop or destroy the instance first.</>,
};
