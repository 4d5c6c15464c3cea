import type { texts as english } from '../en/volumes.js';

export const texts: typeof english = {
  create: 'Neues Volume',
  lead: 'Ein Volume ist Ihr eigener Datenträger. Seine Daten werden alle paar Minuten und beim Anhalten einer Instanz gesichert, sodass Sie auf jeder Maschine weiterarbeiten können.',
  yours: 'Ihre Volumes',
  none: 'Noch keine Volumes',
  noneHint: 'Erstellen Sie eines und wählen Sie es aus, wenn Sie eine Maschine mieten.',
  name: 'Name',
  size: 'Größe',
  usedBy: 'Genutzt von',
  lastSnapshot: 'Letzter Snapshot',
  actions: 'Aktionen',
  price: (perHour, in30Days) => `${perHour} USD/h, ${in30Days} in 30 Tagen`,
  unused: 'keiner Instanz',
  noSnapshot: 'noch keiner',
  saved: (size) => `${size} gesichert`,
  tasks: { moments: 'Snapshots', restic: 'Daten kopieren', grow: 'Vergrößern', delete: 'Löschen' },
  taskOf: (task, volume) => `${task}: ${volume}`,
};
