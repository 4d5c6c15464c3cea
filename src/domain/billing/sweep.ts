import { every, type Sweep, whenDue } from '../background.js';
import type { Deps } from '../deps.js';
import type { Instant } from '../rules/time.js';
import { pruneIdempotencyRecords } from './idempotency.js';
import { nextDueAt, settleDue } from './settlement.js';

/** Short enough that automatic ends appear within a second, even if a gateway crashes. */
const SETTLE_EVERY_MS = 500;
const PRUNE_EVERY_MS = 600_000;

/** Settles due accounts in the background. Its timing affects no amount: each event keeps its own second. */
export function startSweep(deps: Deps, onFault: (error: unknown) => void): Sweep {
  const sweeps = [
    whenDue(deps, SETTLE_EVERY_MS, () => settleIfDue(deps), onFault),
    every(PRUNE_EVERY_MS, () => pruneIdempotencyRecords(deps), onFault),
  ];
  return { stop: async () => void (await Promise.all(sweeps.map(({ stop }) => stop()))) };
}

/** Returns when the first account was or will be due: one batch may leave accounts for the next call. */
async function settleIfDue(deps: Deps): Promise<Instant | null> {
  const dueAt = await nextDueAt(deps);
  if (dueAt !== null && dueAt <= deps.clock.now()) await settleDue(deps);
  return dueAt;
}
