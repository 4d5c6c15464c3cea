import { every, type Sweep } from '../billing/sweep.js';
import type { Deps } from '../deps.js';
import { endInstances } from './ended-commands.js';
import { markUnreachable } from './heartbeats.js';
import { stopIdle } from './idle.js';
import { settleService } from './service-credits.js';

/** A machine that is away leaves the offers at most this late. */
const LOOK_EVERY_MS = 500;
/** Books what neither a report nor a process that ended has booked. */
const SETTLE_EVERY_MS = 5_000;

/**
 * Notes which machines are away, and books service credits. Every gateway does it; work that one has done, the others
 * find done.
 */
export function startFleetWatch(deps: Deps, onFault: (error: unknown) => void): Sweep {
  const watches = [
    every(LOOK_EVERY_MS, () => markUnreachable(deps.db, deps.clock.now()), onFault),
    every(SETTLE_EVERY_MS, () => settleService(deps), onFault),
    every(SETTLE_EVERY_MS, () => endInstances(deps), onFault),
    every(SETTLE_EVERY_MS, () => stopIdle(deps), onFault),
  ];
  return { stop: async () => void (await Promise.all(watches.map(({ stop }) => stop()))) };
}
