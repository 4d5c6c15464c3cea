import type { ComponentChildren } from 'preact';
import { number } from '../../figures/number.js';

export const texts = {
  title: 'Instances',
  historyTitle: 'History of instances',
  rent: 'Rent a machine',
  which: 'Which instances',
  active: (count: number | null) => (count === null ? 'Active' : `Active (${number(count)})`),
  history: 'History',
  reading: 'Reading your instances …',
  activeOnes: 'Active instances',
  none: 'Nothing is rented',
  noneHint:
    'Choose a machine and a template: it runs within seconds, is paid for by the second, and can be stopped at any moment. Then connect by SSH or in the browser.',
  fromTerminal: (command: ComponentChildren) => <>From a terminal: {command}</>,
  seeMachines: 'See the machines',
  columns: {
    chosen: 'Chosen',
    instance: 'Instance',
    state: 'State',
    where: 'Where',
    rate: 'USD/h now',
    cost: 'Cost so far, USD',
    actions: 'Actions',
  },
  choose: (name: string) => `Choose ${name}`,
};
