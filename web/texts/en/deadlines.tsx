import type { ComponentChildren } from 'preact';

export const texts = {
  title: 'When it ends by itself',
  hint: '8h, 2d12h or 2026-11-23T18:00:00Z',
  names: { stopAt: 'Stop it by itself after or at', destroyAt: 'Destroy it by itself after or at' },
  idle: 'Stop it when nothing has happened on it for (minutes)',
  idleHint: '5 to 1440',
  asBefore: 'It ends by itself as before.',
  noLongerIdle: 'It no longer stops when nothing happens on it.',
  noLongerStops: 'It no longer stops by itself then.',
  noLongerDestroyed: 'It is no longer destroyed by itself.',
  stops: (at: ComponentChildren) => <>It stops {at}</>,
  isDestroyed: (at: ComponentChildren) => <>It is destroyed, with its disk, {at}</>,
  doNotStop: 'Do not stop it',
  doNotDestroy: 'Do not destroy it',
  stopsIdle: (minutes: number) => `It stops after ${minutes} minutes in which no GPU is busy and nobody is connected`,
  doNotStopThen: 'Do not stop it then',
  never: 'Never, while its credit lasts.',
  set: 'Set',
};
