import type { texts as english } from '../en/volume-moments.js';

export const texts: typeof english = {
  title: (name) => `Snapshots von ${name}`,
  what: 'Der letzte Snapshot jeder der letzten 24 Stunden und jedes der letzten 7 Tage bleibt erhalten. Instanzen starten mit dem neuesten.',
  none: 'Noch keine Snapshots',
  noneHint: 'Der erste Snapshot entsteht, während eine Instanz das Volume nutzt.',
  columns: { when: 'Zeit', size: 'Größe', by: 'Erstellt von', snapshot: 'Snapshot', actions: 'Aktionen' },
  unknown: 'unbekannt',
  ownRestic: 'Ihr eigenes restic',
  newVolume: 'Volume daraus erstellen',
};
