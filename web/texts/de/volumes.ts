import { number } from '../../figures/number.js';
import type { texts as english } from '../en/volumes.js';

export const texts: typeof english = {
  create: 'Neues Volume',
  yours: 'Ihre Volumes',
  none: 'Noch keine Volumes',
  noneHint:
    'Ein Volume ist Ihr eigener Datenträger und überdauert die gemieteten Maschinen. Erstellen Sie eines und wählen Sie es beim Mieten aus.',

  totals: 'Alle Volumes',
  figures: { count: 'Volumes', size: 'Größe', stored: 'Gespeichert', cost: 'Aktuelle Kosten' },
  unusedOf: (unused) => (unused === 0 ? 'alle verbunden' : `${number(unused)} nicht verbunden`),
  perGb: (usd) => `${usd} USD je GB und Monat`,
  ofSize: (share) => `${share} der Größe`,
  nothingStored: 'noch nichts gesichert',
  perMonth: (usd) => `≈ ${usd} USD im Monat`,

  name: 'Name',
  stored: 'Gespeichert',
  storedOf: (stored, size) => `${stored} von ${size} GB`,
  rate: 'USD/h',
  monthlyRate: 'USD/Monat',
  monthlyHint: 'In 30 Tagen',
  usedBy: 'Genutzt von',
  lastSnapshot: 'Letzter Snapshot',
  actions: 'Aktionen',
  unused: 'nicht verbunden',
  noSnapshot: 'noch nicht gesichert',
  deploy: 'Damit mieten',
  deployWith: (volume) => `Damit mieten: ${volume}`,
  tasks: { moments: 'Snapshots', restic: 'Daten kopieren', grow: 'Vergrößern', delete: 'Löschen' },
  taskOf: (task, volume) => `${task}: ${volume}`,

  how: 'So funktionieren Volumes',
  points: [
    [
      'Automatisch gesichert',
      'Alle paar Minuten, während eine Instanz das Volume nutzt, und jedes Mal, wenn sie angehalten wird.',
    ],
    [
      'Auf jeder Maschine nutzbar',
      'Mieten Sie mit dem Volume eine beliebige Maschine, die Container ausführt. Die Dateien sind da, bevor Ihr Programm startet.',
    ],
    [
      'Snapshots zum Wiederherstellen',
      'Für jede der letzten 24 Stunden und jeden der letzten 7 Tage bleibt der letzte Snapshot erhalten. Aus jedem können Sie ein neues Volume erstellen.',
    ],
  ],
};
