import type { texts as english } from '../en/volume-changes.js';

export const texts: typeof english = {
  cancel: 'Abbrechen',
  new: 'Neues Volume',
  make: 'Anlegen',
  begins: (snapshot, name) => (
    <>
      Es beginnt mit dem Snapshot {snapshot} von {name}, das bleibt, wie es ist.
    </>
  ),
  name: 'Name',
  size: 'Größe, GB',
  billed: 'Es wird nach Sekunden berechnet, bis Sie es löschen. Es kann später wachsen, aber nie schrumpfen.',
  price: (rate) =>
    `${rate} USD je Stunde, nach Sekunden berechnet, bis Sie es löschen. Es kann später wachsen, aber nie schrumpfen.`,
  growThis: (name) => `${name} vergrößern`,
  grow: 'Vergrößern',
  has: (gb) => `Es hat ${gb} GB. Eine Instanz, die es nutzt, sieht die neue Größe bei ihrem nächsten Start.`,
  hasThen: (gb, rate) =>
    `Es hat ${gb} GB. Dann kostet es ${rate} USD je Stunde. Eine Instanz, die es nutzt, sieht die neue Größe bei ihrem nächsten Start.`,
  deleteThis: (name) => `${name} löschen?`,
  delete: 'Endgültig löschen',
  erased: 'Alles darauf und alle seine Snapshots werden gelöscht. Niemand kann sie zurückholen.',
  inUse: (instance) => <>Die Instanz {instance} hat es gerade: Halten Sie sie zuerst an, oder löschen Sie sie.</>,
};
