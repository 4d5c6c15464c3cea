import type { ComponentChildren } from 'preact';

export const texts = {
  START: {
    name: 'Start',
    label: (name: string) => `Start ${name}`,
    title: (name: string) => `Start ${name}?`,
    busy: 'Starting …',
    keep: 'Not now',
    done: (name: string) => `${name} is starting.`,
  },
  STOP: {
    name: 'Stop',
    label: (name: string) => `Stop ${name}`,
    title: (name: string) => `Stop ${name}?`,
    busy: 'Stopping …',
    keep: 'Keep it running',
    done: (name: string) => `${name} stopped. Its disk is kept.`,
  },
  DESTROY: {
    name: 'Destroy',
    label: (name: string) => `Destroy ${name}`,
    title: (name: string) => `Destroy ${name}?`,
    busy: 'Destroying …',
    keep: 'Keep it',
    done: (name: string) => `${name} destroyed.`,
  },
  summary: (count: number, model: string, template: string, cost: ComponentChildren) => (
    <>
      {count} × {model}, {template}. Cost so far: {cost}.
    </>
  ),
  nothingChanged: 'nothing was changed',
  starts: (all: ComponentChildren, gpu: string, disk: string) => (
    <>
      It will cost {all}: {gpu} for the GPUs and {disk} for the disk, which you already pay.
    </>
  ),
  stops: (gpu: string, gb: number, disk: ComponentChildren) => (
    <>
      GPU billing stops immediately: {gpu} USD/h less. The {gb} GB disk is kept and costs {disk} until you destroy the
      instance.
    </>
  ),
  mayBeTaken:
    'Others can rent the machine in the meantime. You can then start this instance only once the machine is free again.',
  ends: (nothing: ComponentChildren) => <>All billing stops immediately: afterwards it costs {nothing}.</>,
  nothing: 'nothing',
  erased: (gb: number) => `The ${gb} GB disk and everything on it will be erased. This can’t be undone.`,
  earlyExit: (usd: ComponentChildren) => (
    <>The reserved term isn’t over. Destroying it now costs {usd}, the discount received so far.</>
  ),
};
