import type { ComponentChildren } from 'preact';
import { number } from '../../figures/number.js';

export const texts = {
  historyTitle: 'Rental history',
  rent: 'Rent a machine',
  tabs: 'Active or past',
  active: (count: number | null) => (count === null ? 'Active' : `Active (${number(count)})`),
  history: 'History',
  reading: 'Loading your instances …',
  activeOnes: 'Active instances',
  none: 'No instances',
  noneHint:
    'Choose a machine and a template: the instance runs within seconds, is billed by the second, and can be stopped at any time. Then connect by SSH or in the browser.',
  fromTerminal: (command: ComponentChildren) => <>Or from a terminal: {command}</>,
  seeMachines: 'See machines',
  columns: {
    selected: 'Selected',
    instance: 'Instance',
    state: 'State',
    where: 'Location',
    rate: 'USD/h now',
    cost: 'Cost so far (USD)',
    actions: 'Actions',
  },
  select: (name: string) => `Select ${name}`,
};
