import type { ComponentChildren } from 'preact';

export const texts = {
  title: 'Deadlines',
  hint: '8h, 2d12h or 2026-11-23T18:00:00Z',
  names: { stopAt: 'Stop automatically after or at', destroyAt: 'Destroy automatically after or at' },
  idle: 'Stop when idle for (minutes)',
  idleHint: '5 to 1440',
  restored: 'Previous setting restored.',
  noLongerIdle: 'The instance no longer stops when idle.',
  noLongerStops: 'The instance no longer stops automatically at that time.',
  noLongerDestroyed: 'The instance is no longer destroyed automatically.',
  stops: (at: ComponentChildren) => <>Stops {at}</>,
  isDestroyed: (at: ComponentChildren) => <>Destroyed, with its disk, {at}</>,
  doNotStop: 'Don’t stop',
  doNotDestroy: 'Don’t destroy',
  stopsIdle: (minutes: number) => `Stops after ${minutes} minutes without a busy GPU or a connected client`,
  doNotStopIdle: 'Don’t stop when idle',
  never: 'No deadline: it runs until you stop it or your credit runs out.',
  set: 'Set',
};
