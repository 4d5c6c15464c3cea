import { every, type Sweep, whenDue } from '../background.js';
import type { Deps } from '../deps.js';
import type { Instant } from '../rules/time.js';
import { pruneIdempotencyRecords } from './idempotency.js';
import { nextDueAt, settleDue } from './settlement.js';

/** What ends by itself shows within a second, though gateways die. */
const SETTLE_EVERY_MS = 500;
const FORGET_EVERY_MS = 600_000;

/** Settles due accounts in the background. When it runs changes no amount: each event keeps its own second. */
export function startSweep(deps: Deps, onFault: (error: unknown) => void): Sweep {
  const sweeps = [
    whenDue(deps, SETTLE_EVERY_MS, () => settleWhatIsDue(deps), onFault),
    every(FORGET_EVERY_MS, () => pruneIdempotencyRecords(deps), onFault),
  ];
  return { stop: async () => void (await Promise.all(sweeps.map(({ stop }) => stop()))) };
}

/** Returns when the next account is due: what is settled may leave some of it for the next look. */
async function settleWhatIsDue(deps: Deps): Promise<Instant | null> {
  const dueAt = await nextDueAt(deps);
  if (dueAt !== null && dueAt <= deps.clock.now()) await settleDue(deps);
  return dueAt;
}
