import type { texts as english } from '../en/instance-volumes.js';

export const texts: typeof english = {
  title: 'Volumes',
  move: 'Auf anderen Host umziehen',
  at: (name, path) => (
    <>
      {name} in {path}
    </>
  ),
  release: 'Freigeben',
  releaseThis: (name) => `${name} freigeben`,
  releaseQuestion: (name) => `${name} freigeben?`,
  deleted: 'gelöscht',
  lost: (since) => <>Änderungen nach {since} sind verloren</>,
  allSaved: 'alle Änderungen sind gesichert',
  noSnapshot: 'noch kein Snapshot',
  savedTo: (at) => <>zuletzt gesichert: {at}</>,
  saving: 'wird gesichert …',
  savingTo: (at) => <>wird gesichert …; zuletzt gesichert: {at}</>,
  moveHint: (count, model) =>
    `Mietet die beste freie Maschine mit ${count} × ${model} auf einem anderen Host und führt dort dasselbe mit denselben Volumes aus. Diese Instanz behält ihren eigenen Speicherplatz, bis Sie sie löschen.`,
  atMost: 'Höchstpreis (USD/h)',
  nothingRented: 'Es wurde nichts gemietet',
  cancel: 'Abbrechen',
  renting: 'Wird gemietet …',
  doMove: 'Umziehen',
  releaseHint:
    'Änderungen seit dem letzten Snapshot gehen verloren. Geben Sie ein Volume nur frei, wenn sein Host nicht wiederkommt oder nicht fertig wird.',
  releaseHintAt: (at) => (
    <>
      Änderungen seit dem letzten Snapshot ({at}) gehen verloren. Geben Sie ein Volume nur frei, wenn sein Host nicht
      wiederkommt oder nicht fertig wird.
    </>
  ),
  wait: 'Abwarten',
  doRelease: 'Freigeben',
};
