import { every, type Sweep } from '../billing/sweep.js';
import type { Deps } from '../deps.js';
import { markUnreachable } from './heartbeats.js';
import { settleService } from './service-credits.js';

/** A machine that is away leaves the offers this much after its time at most. */
const LOOK_EVERY_MS = 500;
/** What was booked neither by a report nor before a process ended. */
const SETTLE_EVERY_MS = 5_000;

/** Notes which machines are away, and gives back what is due. Every gateway does; what one did the others find done. */
export function startFleetWatch(deps: Deps, onFault: (error: unknown) => void): Sweep {
  const watches = [
    every(LOOK_EVERY_MS, () => markUnreachable(deps.db, deps.clock.now()), onFault),
    every(SETTLE_EVERY_MS, () => settleService(deps), onFault),
  ];
  return { stop: async () => void (await Promise.all(watches.map(({ stop }) => stop()))) };
}
