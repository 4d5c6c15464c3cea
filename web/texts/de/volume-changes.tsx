import type { texts as english } from '../en/volume-changes.js';

export const texts: typeof english = {
  new: 'Neues Volume',
  create: 'Volume erstellen',
  begins: (snapshot, name) => (
    <>
      Es beginnt mit dem Inhalt des Snapshots {snapshot} von {name}, das unverändert bleibt.
    </>
  ),
  name: 'Name',
  size: 'Größe (GB)',
  billed:
    'Wird sekundengenau abgerechnet, bis Sie es löschen. Es lässt sich später vergrößern, aber nicht verkleinern.',
  price: (rate) =>
    `${rate} USD pro Stunde, sekundengenau abgerechnet, bis Sie es löschen. Es lässt sich später vergrößern, aber nicht verkleinern.`,
  growThis: (name) => `${name} vergrößern`,
  grow: 'Vergrößern',
  has: (gb) => `Zurzeit ${gb} GB. Eine Instanz, die das Volume nutzt, erhält die neue Größe bei ihrem nächsten Start.`,
  hasThen: (gb, rate) =>
    `Zurzeit ${gb} GB. Es kostet dann ${rate} USD pro Stunde. Eine Instanz, die das Volume nutzt, erhält die neue Größe bei ihrem nächsten Start.`,
  deleteThis: (name) => `${name} löschen?`,
  delete: 'Endgültig löschen',
  erased: 'Alle Daten und Snapshots werden gelöscht. Das lässt sich nicht rückgängig machen.',
  inUse: (instance) => (
    <>Die Instanz {instance} nutzt es gerade: Halten Sie die Instanz zuerst an, oder löschen Sie sie.</>
  ),
};
