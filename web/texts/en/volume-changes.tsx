import type { ComponentChildren } from 'preact';

export const texts = {
  cancel: 'Cancel',
  new: 'New volume',
  make: 'Make it',
  begins: (snapshot: ComponentChildren, name: string) => (
    <>
      It begins with the snapshot {snapshot} of {name}, which stays as it is.
    </>
  ),
  name: 'Name',
  size: 'Size, GB',
  billed: 'It is billed per second until you delete it. It can grow later, and never shrinks.',
  price: (rate: string) =>
    `${rate} USD per hour, billed per second until you delete it. It can grow later, and never shrinks.`,
  growThis: (name: string) => `Grow ${name}`,
  grow: 'Grow it',
  has: (gb: number) => `It has ${gb} GB. An instance that uses it sees the new size when it starts next.`,
  hasThen: (gb: number, rate: string) =>
    `It has ${gb} GB. Then it costs ${rate} USD per hour. An instance that uses it sees the new size when it starts next.`,
  deleteThis: (name: string) => `Delete ${name}?`,
  delete: 'Delete it for good',
  erased: 'Everything on it and all its snapshots are erased. Nobody can bring them back.',
  inUse: (instance: ComponentChildren) => <>The instance {instance} has it now: stop or destroy that first.</>,
};
