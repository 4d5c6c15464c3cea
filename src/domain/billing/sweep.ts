import { every, type Sweep, whenDue } from '../kernel/background.js';
import type { Instant } from '../kernel/time.js';
import type { SettlingDeps } from './deps.js';
import { pruneIdempotencyRecords } from './idempotency.js';
import { nextDueAt, settleDue } from './settlement.js';

/** Short enough for automatic stops and deletions to become visible within a second, even if a gateway crashes. */
const SETTLE_EVERY_MS = 500;
const PRUNE_EVERY_MS = 600_000;

/**
 * Settles due accounts in the background. The timing of the sweep doesn't affect any amount, because each event takes
 * effect at its own second.
 */
export function startSweep(deps: SettlingDeps, onFault: (error: unknown) => void): Sweep {
  const sweeps = [
    whenDue(deps, SETTLE_EVERY_MS, () => settleIfDue(deps), onFault),
    every(PRUNE_EVERY_MS, () => pruneIdempotencyRecords(deps), onFault),
  ];
  return { stop: async () => void (await Promise.all(sweeps.map(({ stop }) => stop()))) };
}

/**
 * Settles accounts and returns when the next one is due. This may be in the past, because a batch can leave accounts
 * for the next run.
 */
async function settleIfDue(deps: SettlingDeps): Promise<Instant | null> {
  const dueAt = await nextDueAt(deps);
  if (dueAt !== null && dueAt <= deps.clock.now()) await settleDue(deps);
  return dueAt;
}
