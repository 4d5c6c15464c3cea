import type { screens } from '../texts/en/screens.js';

/** A second view of the Instances screen, with its own command. */
export const HISTORY = '/instances?show=history';

type ScreenPath = Exclude<keyof typeof screens, '/deploy' | '/sign-in'>;
export type NavigationPath = ScreenPath | typeof HISTORY;
export type Screen = readonly [to: ScreenPath, icon: string];

/** Frequently used screens. On a phone, they are in the bar at the bottom. */
export const PRIMARY: readonly Screen[] = [
  ['/', 'house'],
  ['/machines', 'server'],
  ['/instances', 'square-terminal'],
  ['/billing', 'wallet'],
];

/** A screen that is opened from Machines and the palette. */
export const MODELS: Screen = ['/models', 'memory-stick'];

/** Other screens. On a phone, they are behind a button. */
export const SECONDARY: readonly Screen[] = [
  ['/volumes', 'hard-drive'],
  ['/keys', 'key-round'],
  ['/activity', 'activity'],
  ['/notifications', 'bell'],
];
