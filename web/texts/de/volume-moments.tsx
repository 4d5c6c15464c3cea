import type { texts as english } from '../en/volume-moments.js';

export const texts: typeof english = {
  title: (name) => `Snapshots von ${name}`,
  what: 'Der letzte Snapshot aus jeder von 24 Stunden und von 7 Tagen bleibt. Ein Start beginnt mit dem neuesten.',
  none: 'Noch wurde nichts gesichert',
  noneHint: 'Der erste Snapshot entsteht, während eine Instanz damit läuft.',
  columns: { when: 'Wann', size: 'Größe', by: 'Von', snapshot: 'Snapshot', do: 'Tun' },
  unknown: 'unbekannt',
  ownRestic: 'Ihr eigenes restic',
  newVolume: 'Neues Volume daraus',
};
