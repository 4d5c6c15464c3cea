import type { ComponentChildren } from 'preact';

export const texts = {
  START: {
    name: 'Start',
    label: (name: string) => `Start ${name}`,
    title: (name: string) => `Start ${name}?`,
    busy: 'Starting …',
    keep: 'Not now',
    done: (name: string) => `${name} starts.`,
  },
  STOP: {
    name: 'Stop',
    label: (name: string) => `Stop ${name}`,
    title: (name: string) => `Stop ${name}?`,
    busy: 'Stopping …',
    keep: 'Keep it running',
    done: (name: string) => `${name} is stopped. Its disk is kept.`,
  },
  DESTROY: {
    name: 'Destroy',
    label: (name: string) => `Destroy ${name}`,
    title: (name: string) => `Destroy ${name}?`,
    busy: 'Destroying …',
    keep: 'Keep it',
    done: (name: string) => `${name} is destroyed.`,
  },
  what: (count: number, model: string, template: string, cost: ComponentChildren) => (
    <>
      {count} × {model}, {template}. Cost so far: {cost}.
    </>
  ),
  nothingChanged: 'nothing was changed',
  starts: (all: ComponentChildren, gpu: string, disk: string) => (
    <>
      From then on it costs {all}: {gpu} for the GPUs and {disk} for the disk, which costs now already.
    </>
  ),
  stops: (gpu: string, gb: number, disk: ComponentChildren) => (
    <>
      GPU billing ends this second: {gpu} USD/h less. The disk of {gb} GB is kept and keeps costing {disk} until you
      destroy the instance.
    </>
  ),
  mayBeTaken:
    'The machine may be taken by others meanwhile; then this instance cannot be started until it is free again.',
  ends: (nothing: ComponentChildren) => <>All billing ends this second: from then on it costs {nothing}.</>,
  nothing: 'nothing',
  erased: (gb: number) => `The disk of ${gb} GB and all that is on it is erased. This cannot be undone.`,
  earlyExit: (usd: ComponentChildren) => (
    <>The reserved term is not over: leaving it now costs {usd}, the discount received so far.</>
  ),
};
