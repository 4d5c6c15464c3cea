import { number } from '../../figures/number.js';
import type { texts as english } from '../en/instances.js';

export const texts: typeof english = {
  title: 'Instanzen',
  historyTitle: 'Verlauf der Instanzen',
  rent: 'Maschine mieten',
  which: 'Welche Instanzen',
  active: (count) => (count === null ? 'Aktiv' : `Aktiv (${number(count)})`),
  history: 'Frühere',
  reading: 'Ihre Instanzen werden gelesen …',
  activeOnes: 'Aktive Instanzen',
  none: 'Nichts ist gemietet',
  noneHint:
    'Wählen Sie eine Maschine und eine Vorlage: Sie läuft in Sekunden, wird nach Sekunden bezahlt und lässt sich jederzeit anhalten. Dann verbinden Sie sich mit SSH oder im Browser.',
  fromTerminal: (command) => <>Vom Terminal aus: {command}</>,
  seeMachines: 'Zu den Maschinen',
  columns: {
    chosen: 'Gewählt',
    instance: 'Instanz',
    state: 'Zustand',
    where: 'Wo',
    rate: 'USD/h jetzt',
    cost: 'Bisher, USD',
    actions: 'Aktionen',
  },
  choose: (name) => `${name} wählen`,
};
