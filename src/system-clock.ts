import { type Clock, instantOf } from './domain/rules/time.js';

/** The machine's clock, cut to the second. */
export const systemClock: Clock = { now: () => instantOf(new Date()) };
