import type { texts as english } from '../en/timeline.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  title: 'Verlauf',
  label: 'Verlauf, neueste zuerst',
  none: 'Noch keine Ereignisse.',
  reading: 'Der Verlauf wird geladen …',
  older: 'Ältere anzeigen',
  filter: 'Einträge filtern',
  filters: { all: 'Alle', state: 'Zustand', changes: 'Änderungen', volumes: 'Volumes' },
  noneOfThese: (hasMore) => (hasMore ? 'Kein Treffer unter den neuesten Einträgen.' : 'Keine passenden Einträge.'),
  rented: (rate) => `Gemietet für ${rate} USD/h`,
  rentedMoved: (from, rate) => `Umgezogen von ${from}, für ${rate} USD/h`,
  started: (rate) => `Neu gestartet für ${rate} USD/h`,
  running: 'Container läuft',
  failed: (isHostFault) =>
    isHostFault
      ? 'Der Container konnte nicht gestartet werden: Es lag an der Maschine'
      : 'Der Container konnte nicht gestartet werden',
  unreachable: 'Maschine nicht erreichbar',
  reachable: 'Maschine wieder erreichbar',
  gpuMissing: 'Eine GPU fehlte: Keine Berechnung, bis sie wieder da ist',
  gpuBack: 'Alle GPUs wieder verfügbar',
  volumeSaved: (name) => `Volume ${name} gesichert`,
  volumeSavedTimes: (name, times) => `Volume ${name} ${times}-mal gesichert`,
  volumeSize: (size) => `insgesamt ${size}`,
  volumeLost: (name) => `Spätere Änderungen am Volume ${name} sind verloren`,
  idle: 'Leerlauf: Sie wurden benachrichtigt, dass die Instanz angehalten wird',
  limitReached: 'Ausgabenlimit erreicht',
  stopped: 'Angehalten',
  destroyed: 'Gelöscht, mit Speicherplatz',
  credited: (usd, time) => `${usd} USD erstattet für ${time}`,
  ran: (time, usd) => `lief ${time}, ${usd} USD für die GPUs`,
  refusedTimes: (times) => plural(times, { one: 'abgelehnt', other: `${times}-mal abgelehnt` }),
  movedTo: (id) => `nach ${id}`,
  byKey: (key) => `mit Schlüssel ${key}`,
  byConsole: (key) => `in der Konsole, mit Schlüssel ${key}`,
  from: (address) => `von ${address}`,
  which: 'Einzeln anzeigen',
  recent: 'Letzte Ereignisse',
  all: 'Alle Ereignisse',
};
