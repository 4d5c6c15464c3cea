import type { ComponentChildren } from 'preact';
import { number } from '../../figures/number.js';
import { plural } from '../plural.js';

export const texts = {
  chooseAll: 'Choose all',
  chosen: (count: number, all: number) => `${number(count)} of ${number(all)} chosen`,
  STOP: {
    button: (count: number) => plural(count, { one: 'Stop 1 instance', other: `Stop ${number(count)} instances` }),
    title: (count: number) => plural(count, { one: 'Stop 1 instance?', other: `Stop ${number(count)} instances?` }),
    busy: 'Stopping …',
    keep: 'Keep them running',
    done: (count: number) =>
      plural(count, {
        one: '1 instance stopped. Disks are kept.',
        other: `${number(count)} instances stopped. Disks are kept.`,
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
  which: 'Which instances',
  progress: (done: number, all: number) => `${done} of ${number(all)} done`,
  notDone: (left: number, all: number) => `${left} of ${number(all)} could not be done.`,
  close: 'Close',
  done: 'done',
  stops: (gpus: string, disks: ComponentChildren) => (
    <>
      GPU billing ends this second: {gpus} USD/h less. The disks are kept and keep costing {disks} together until you
      destroy the instances.
    </>
  ),
  mayBeTaken:
    'The machines may be taken by others meanwhile; then these instances cannot be started until they are free again.',
  ends: (saved: ComponentChildren) => <>All their billing ends this second: {saved} less.</>,
  erased: (gb: number) =>
    `Their disks, ${gb} GB in all, and all that is on them are erased. This cannot be undone. Volumes are kept.`,
  earlyExit: (usd: ComponentChildren) => (
    <>Reserved terms that are not over end with it: leaving them now costs {usd}, the discounts received so far.</>
  ),
};
