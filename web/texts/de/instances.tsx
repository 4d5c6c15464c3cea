import { number } from '../../figures/number.js';
import type { texts as english } from '../en/instances.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  historyTitle: 'Mietverlauf',
  tabs: 'Ansichten',
  all: 'Alle',
  running: 'Laufend',
  stopped: 'Angehalten',
  history: 'Verlauf',
  reading: 'Ihre Instanzen werden geladen …',
  activeOnes: 'Aktive Instanzen',
  none: 'Keine Instanzen',
  noneHint:
    'Wählen Sie eine Maschine und eine Vorlage: Die Instanz läuft nach wenigen Sekunden, wird sekundengenau abgerechnet und lässt sich jederzeit anhalten. Dann verbinden Sie sich über SSH oder im Browser.',
  fromTerminal: (command) => <>Oder im Terminal: {command}</>,

  filter: 'Instanzen filtern',
  search: 'Suchen nach Name, ID, Vorlage oder Label',
  searchShort: 'Suchen',
  any: { status: 'Alle Zustände', model: 'Alle Modelle', labels: 'Alle Labels' },
  labels: 'Label',
  model: 'Modell',
  sort: 'Reihenfolge',
  newest: 'Laufende zuerst',
  filters: 'Filter',
  clear: 'Filter entfernen',
  withCount: (name, count) => `${name} (${number(count)})`,
  summary: (found, all, runningGpus) => {
    const count =
      found < all
        ? `${number(found)} von ${number(all)} Instanzen`
        : plural(all, { one: '1 Instanz', other: `${number(all)} Instanzen` });
    const gpus = plural(runningGpus, { one: '1 laufende GPU', other: `${number(runningGpus)} laufende GPUs` });
    return runningGpus === 0 ? count : `${count} · ${gpus}`;
  },
  noneFound: 'Keine passenden Instanzen',
  noneFoundHint: 'Entfernen Sie einen Filter oder suchen Sie nach etwas anderem.',

  columns: {
    name: 'Name',
    status: 'Zustand',
    gpus: 'GPUs',
    load: 'Auslastung',
    uptime: 'Laufzeit',
    location: 'Standort',
    rate: 'USD/h',
    cost: 'Kosten (USD)',
    actions: 'Aktionen',
  },
  select: (name) => `${name} auswählen`,
  startSelecting: 'Auswählen',
  list: 'diese Liste',
  totalWithoutVolumes: 'Summe ohne Volumes',
  gpusOf: (count) => plural(count, { one: '1 GPU', other: `${number(count)} GPUs` }),
  uptimeMeans: 'Seit dem letzten Start',
  runningSince: (time) => `Läuft seit ${time}`,
  open: (service) => `${service} öffnen`,
  terminal: 'Terminal',
  actionOf: (action, name) => `${action}: ${name}`,
  noAgent: 'Kein Host-Agent: Die Maschine meldet keine Auslastung',
};
