import { number } from '../../figures/number.js';
import type { texts as english } from '../en/volumes.js';

export const texts: typeof english = {
  create: 'Neues Volume',
  lead: 'Ein Volume ist Ihr eigener Datenträger. Seine Daten werden alle paar Minuten und beim Anhalten einer Instanz gesichert, sodass Sie auf jeder Maschine weiterarbeiten können.',
  yours: 'Ihre Volumes',
  none: 'Noch keine Volumes',
  noneHint: 'Erstellen Sie eines und wählen Sie es aus, wenn Sie eine Maschine mieten.',
  name: 'Name',
  size: 'Größe (GB)',
  stored: 'Gesichert (GB)',
  rate: 'USD/h',
  usedBy: 'Genutzt von',
  lastSnapshot: 'Letzter Snapshot',
  actions: 'Aktionen',
  in30Days: (usd) => `${usd} USD in 30 Tagen`,
  total: (gb) => `${number(gb)} GB`,
  unused: 'nicht verwendet',
  noSnapshot: 'noch nicht gesichert',
  deploy: 'Mit diesem Volume mieten',
  deployWith: (volume) => `Mit ${volume} mieten`,
  tasks: { moments: 'Snapshots', restic: 'Daten kopieren', grow: 'Vergrößern', delete: 'Löschen' },
  taskOf: (task, volume) => `${task}: ${volume}`,
};
