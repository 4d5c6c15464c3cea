import type { texts as english } from '../en/volumes.js';

export const texts: typeof english = {
  title: 'Volumes',
  create: 'Neues Volume',
  lead: 'Ein Volume ist Ihr eigener Speicher. Was eine Instanz darauf schreibt, wird alle paar Minuten und beim Anhalten gesichert: So geht die Arbeit auf jeder Maschine weiter.',
  yours: 'Ihre Volumes',
  none: 'Noch keine Volumes',
  noneHint: 'Legen Sie eines an und wählen Sie es aus, wenn Sie eine Maschine mieten.',
  name: 'Name',
  size: 'Größe',
  usedBy: 'Genutzt von',
  lastSnapshot: 'Letzter Snapshot',
  do: 'Aktionen',
  price: (perHour, in30Days) => `${perHour} USD/h, ${in30Days} in 30 Tagen`,
  nobody: 'niemandem',
  noSnapshot: 'noch keiner',
  stored: (size) => `${size} gesichert`,
  tasks: { moments: 'Snapshots', restic: 'Hinein- und herauskopieren', grow: 'Vergrößern', delete: 'Löschen' },
  taskOf: (task, volume) => `${task}: ${volume}`,
};
