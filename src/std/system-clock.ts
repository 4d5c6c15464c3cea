import { type Clock, instantOf } from '../domain/kernel/time.js';

/** The machine's clock. */
export const systemClock: Clock = { now: () => instantOf(new Date()), nowMs: () => Date.now() };
