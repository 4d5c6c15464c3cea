import type { ComponentChildren } from 'preact';

export const texts = {
  hint: '8h, 2d12h or 2026-11-23T18:00:00Z',
  names: { stopAt: 'Stop automatically after or at', destroyAt: 'Destroy automatically after or at' },
  idle: 'Stop when idle for (minutes)',
  idleHint: '5 to 1440',
  stops: (at: ComponentChildren) => <>Stops {at}</>,
  isDestroyed: (at: ComponentChildren) => <>Destroyed, with its disk, {at}</>,
  stopsIdle: (minutes: number) => `Stops after ${minutes} minutes without a busy GPU or a connected client`,
};
