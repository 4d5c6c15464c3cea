import type { ComponentChildren } from 'preact';
import { number } from '../../figures/number.js';
import { plural } from '../plural.js';

export const texts = {
  historyTitle: 'Rental history',
  tabs: 'Views',
  all: 'All',
  running: 'Running',
  stopped: 'Stopped',
  history: 'History',
  reading: 'Loading your instances …',
  activeOnes: 'Active instances',
  none: 'No instances',
  noneHint:
    'Choose a machine and a template: the instance runs within seconds, is billed by the second, and can be stopped at any time. Then connect by SSH or in the browser.',
  fromTerminal: (command: ComponentChildren) => <>Or from a terminal: {command}</>,

  // Filters.
  filter: 'Filter instances',
  search: 'Search by name, id, template or label',
  searchShort: 'Search',
  any: { status: 'Any status', model: 'Any model', labels: 'Any label' },
  labels: 'Label',
  model: 'Model',
  sort: 'Order',
  newest: 'Running first',
  filters: 'Filters',
  clear: 'Clear filters',
  withCount: (name: string, count: number) => `${name} (${number(count)})`,
  summary: (found: number, all: number, runningGpus: number): string => {
    const count =
      found < all
        ? `${number(found)} of ${number(all)} instances`
        : plural(all, { one: '1 instance', other: `${number(all)} instances` });
    return runningGpus === 0 ? count : `${count} · ${texts.gpusOf(runningGpus)} running`;
  },
  noneFound: 'No matching instances',
  noneFoundHint: 'Remove a filter or search for something else.',

  columns: {
    name: 'Name',
    status: 'Status',
    gpus: 'GPUs',
    load: 'Load',
    uptime: 'Uptime',
    location: 'Location',
    rate: 'USD/h',
    cost: 'Cost (USD)',
    actions: 'Actions',
  },
  select: (name: string) => `Select ${name}`,
  startSelecting: 'Select',
  list: 'this list',
  totalWithoutVolumes: 'Total, without volumes',
  gpusOf: (count: number) => plural(count, { one: '1 GPU', other: `${number(count)} GPUs` }),
  uptimeMeans: 'Since the last start',
  runningSince: (time: string) => `Running since ${time}`,
  open: (service: string) => `Open ${service}`,
  terminal: 'Terminal',
  actionOf: (action: string, name: string) => `${action}: ${name}`,
  noAgent: 'No host agent: the machine reports no load',
};
