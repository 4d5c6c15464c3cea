import type { texts as english } from '../en/timeline.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  title: 'Verlauf',
  label: 'Verlauf, das Neueste zuerst',
  none: 'Noch ist nichts bekannt.',
  reading: 'Der Verlauf wird gelesen …',
  older: 'Ältere zeigen',
  all: 'Das ist alles.',
  filter: 'Welche Einträge',
  filters: { all: 'Alle', state: 'Zustand', asked: 'Änderungen', stored: 'Volumes' },
  noneOfThese: (hasMore) => (hasMore ? 'Keine unter den neuesten.' : 'Keine.'),
  rented: (rate) => `Gemietet für ${rate} USD/h`,
  rentedMoved: (from, rate) => `Setzt ${from} fort, für ${rate} USD/h`,
  started: (rate) => `Wieder gestartet für ${rate} USD/h`,
  running: 'Der Container läuft',
  failed: (isHostFault) =>
    isHostFault
      ? 'Der Container konnte nicht gestartet werden: Es lag an der Maschine'
      : 'Der Container konnte nicht gestartet werden',
  unreachable: 'Die Maschine meldete sich nicht mehr',
  reachable: 'Die Maschine meldete sich wieder',
  gpuMissing: 'Eine GPU fehlte: Bis sie zurück ist, wird nichts berechnet',
  gpuBack: 'Alle GPUs waren wieder da',
  volumeStored: (name) => `Volume ${name} gesichert`,
  volumeStoredTimes: (name, times) => `Volume ${name} ${times}-mal gesichert`,
  volumeSize: (size) => `zusammen ${size}`,
  volumeLost: (name) => `Was von da an auf Volume ${name} geschrieben wurde, ist verloren`,
  idle: 'Leerlauf: Sie wurden gewarnt, dass die Instanz anhält',
  limitReached: 'Das Kostenlimit war erreicht',
  stopped: 'Angehalten',
  destroyed: 'Gelöscht, samt ihrem Speicher',
  credited: (usd, time) => `${usd} USD erstattet für ${time}`,
  ran: (time, usd) => `lief ${time}, ${usd} USD für die GPUs`,
  refusedTimes: (times) => plural(times, { one: 'abgelehnt', other: `${times}-mal abgelehnt` }),
  movedTo: (id) => `nach ${id}`,
  byKey: (key) => `mit Schlüssel ${key}`,
  byConsole: (key) => `in der Konsole, mit Schlüssel ${key}`,
  from: (address) => `von ${address}`,
  which: 'Einzeln zeigen',
};
