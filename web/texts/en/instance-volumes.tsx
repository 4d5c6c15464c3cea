import type { ComponentChildren } from 'preact';

export const texts = {
  title: 'Volumes',
  move: 'Move to another host',
  at: (name: ComponentChildren, path: ComponentChildren) => (
    <>
      {name} at {path}
    </>
  ),
  release: 'Release',
  releaseThis: (name: string) => `Release ${name}`,
  releaseQuestion: (name: string) => `Release ${name}?`,
  deleted: 'deleted',
  lost: (since: ComponentChildren) => <>changes after {since} are lost</>,
  allSaved: 'all changes are saved',
  noSnapshot: 'no snapshot yet',
  savedTo: (at: ComponentChildren) => <>last saved {at}</>,
  saving: 'saving …',
  savingTo: (at: ComponentChildren) => <>saving …; last saved {at}</>,
  moveHint: (count: number, model: string) =>
    `Rents the best free machine with ${count} × ${model} on another host, and runs the same workload there with the same volumes. This instance keeps its own disk until you destroy it.`,
  atMost: 'Maximum price (USD/h)',
  nothingRented: 'nothing was rented',
  cancel: 'Cancel',
  renting: 'Deploying …',
  doMove: 'Move',
  releaseHint:
    'Changes since the last snapshot will be lost. Release a volume only if its host doesn’t come back or doesn’t finish.',
  releaseHintAt: (at: ComponentChildren) => (
    <>
      Changes since the last snapshot ({at}) will be lost. Release a volume only if its host doesn’t come back or
      doesn’t finish.
    </>
  ),
  wait: 'Wait',
  doRelease: 'Release',
};
