import type { texts as english } from '../en/instance-volumes.js';

export const texts: typeof english = {
  title: 'Volumes',
  elsewhere: 'Anderswo fortsetzen',
  at: (name, path) => (
    <>
      {name} in {path}
    </>
  ),
  release: 'Freigeben',
  releaseThis: (name) => `${name} freigeben`,
  releaseAsk: (name) => `${name} freigeben?`,
  deleted: 'gelöscht',
  lost: (since) => <>was sie nach {since} schrieb, ist verloren</>,
  allStored: 'alles, was sie schrieb, ist gesichert',
  noSnapshot: 'noch kein Snapshot',
  storedTo: (at) => <>gesichert bis {at}</>,
  storing: 'wird gesichert',
  storingTo: (at) => <>wird gesichert; bisher bis {at}</>,
  moveHint: (count, model) =>
    `Mietet die beste freie Maschine mit ${count} × ${model} auf einem anderen Host und führt dort dasselbe aus, mit denselben Volumes. Diese Instanz behält ihren eigenen Speicher, bis Sie sie löschen.`,
  atMost: 'Höchstens, USD je Stunde',
  nothingRented: 'nichts wurde gemietet',
  cancel: 'Abbrechen',
  renting: 'Wird gemietet …',
  continue: 'Dort fortsetzen',
  releaseHint:
    'Was die Instanz seit dem letzten Snapshot schrieb, ist verloren. Tun Sie es, wenn ihr Host nicht wiederkommt oder nicht meldet, dass er fertig ist.',
  releaseHintAt: (at) => (
    <>
      Was die Instanz seit dem letzten Snapshot ({at}) schrieb, ist verloren. Tun Sie es, wenn ihr Host nicht
      wiederkommt oder nicht meldet, dass er fertig ist.
    </>
  ),
  wait: 'Abwarten',
  doRelease: 'Freigeben',
};
