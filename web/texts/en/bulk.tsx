import type { ComponentChildren } from 'preact';
import { number } from '../../figures/number.js';
import { plural } from '../plural.js';

export const texts = {
  selectAll: 'Select all',
  selected: (count: number, all: number) => `${number(count)} of ${number(all)} selected`,
  STOP: {
    button: (count: number) => plural(count, { one: 'Stop 1 instance', other: `Stop ${number(count)} instances` }),
    title: (count: number) => plural(count, { one: 'Stop 1 instance?', other: `Stop ${number(count)} instances?` }),
    busy: 'Stopping …',
    keep: 'Keep them running',
    done: (count: number) =>
      plural(count, {
        one: '1 instance stopped. Its disk is kept.',
        other: `${number(count)} instances stopped. Their disks are kept.`,
      }),
  },
  DESTROY: {
    button: (count: number) =>
      plural(count, { one: 'Destroy 1 instance', other: `Destroy ${number(count)} instances` }),
    title: (count: number) =>
      plural(count, { one: 'Destroy 1 instance?', other: `Destroy ${number(count)} instances?` }),
    busy: 'Destroying …',
    keep: 'Keep them',
    done: (count: number) =>
      plural(count, { one: '1 instance destroyed.', other: `${number(count)} instances destroyed.` }),
  },
  list: 'Selected instances',
  selection: 'the selection',
  clear: 'Clear selection',
  addLabel: 'Add label',
  addLabels: (count: number) => `Add labels to ${number(count)} instances`,
  labelled: (count: number) => `Labels added to ${number(count)} instances.`,
  progress: (done: number, all: number) => `${done} of ${number(all)} done`,
  notDone: (left: number, all: number) => `${left} of ${number(all)} failed.`,
  close: 'Close',
  done: 'done',
  stops: (gpus: string, disks: ComponentChildren) => (
    <>
      GPU billing stops immediately: {gpus} USD/h less. The disks are kept and cost {disks} in total until you destroy
      the instances.
    </>
  ),
  mayBeTaken:
    'Others can rent the machines in the meantime. You can then start these instances only once their machines are free again.',
  ends: (saved: ComponentChildren) => <>All their billing stops immediately: {saved} less.</>,
  erased: (gb: number) =>
    `Their disks, ${number(gb)} GB in total, and everything on them will be erased. This can’t be undone. Volumes are kept.`,
  earlyExit: (usd: ComponentChildren) => (
    <>Some reserved terms aren’t over. Destroying the instances now costs {usd}, the discounts received so far.</>
  ),
};
