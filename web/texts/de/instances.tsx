import { number } from '../../figures/number.js';
import type { texts as english } from '../en/instances.js';

export const texts: typeof english = {
  historyTitle: 'Mietverlauf',
  rent: 'Maschine mieten',
  tabs: 'Aktiv oder Verlauf',
  active: (count) => (count === null ? 'Aktiv' : `Aktiv (${number(count)})`),
  history: 'Verlauf',
  reading: 'Ihre Instanzen werden geladen …',
  activeOnes: 'Aktive Instanzen',
  none: 'Keine Instanzen',
  noneHint:
    'Wählen Sie eine Maschine und eine Vorlage: Die Instanz läuft nach wenigen Sekunden, wird sekundengenau abgerechnet und lässt sich jederzeit anhalten. Dann verbinden Sie sich über SSH oder im Browser.',
  fromTerminal: (command) => <>Oder im Terminal: {command}</>,
  seeMachines: 'Maschinen ansehen',
  columns: {
    selected: 'Ausgewählt',
    instance: 'Instanz',
    state: 'Zustand',
    where: 'Standort',
    rate: 'USD/h jetzt',
    cost: 'Bisher (USD)',
    actions: 'Aktionen',
  },
  select: (name) => `${name} auswählen`,
};
