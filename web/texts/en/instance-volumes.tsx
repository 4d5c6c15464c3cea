import type { ComponentChildren } from 'preact';

export const texts = {
  title: 'Volumes',
  elsewhere: 'Continue elsewhere',
  at: (name: ComponentChildren, path: ComponentChildren) => (
    <>
      {name} at {path}
    </>
  ),
  release: 'Release',
  releaseThis: (name: string) => `Release ${name}`,
  releaseAsk: (name: string) => `Release ${name}?`,
  deleted: 'deleted',
  lost: (since: ComponentChildren) => <>what it wrote after {since} is lost</>,
  allStored: 'all that it wrote is stored',
  noSnapshot: 'no snapshot yet',
  storedTo: (at: ComponentChildren) => <>stored up to {at}</>,
  storing: 'being stored',
  storingTo: (at: ComponentChildren) => <>being stored; so far up to {at}</>,
  moveHint: (count: number, model: string) =>
    `Rents the best free machine with ${count} × ${model} on another host, and runs the same there, with the same volumes. This instance keeps its own disk until you destroy it.`,
  atMost: 'At most, USD per hour',
  nothingRented: 'nothing was rented',
  cancel: 'Cancel',
  renting: 'Renting …',
  continue: 'Continue there',
  releaseHint:
    'What the instance wrote since the last snapshot is lost. Do it when its host does not come back, or does not say that it is done.',
  releaseHintAt: (at: ComponentChildren) => (
    <>
      What the instance wrote since the last snapshot ({at}) is lost. Do it when its host does not come back, or does
      not say that it is done.
    </>
  ),
  wait: 'Wait for it',
  doRelease: 'Release it',
};
