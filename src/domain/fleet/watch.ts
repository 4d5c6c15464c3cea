import { only } from '../../database/only.js';
import type { LedgerDeps } from '../billing/deps.js';
import { every, guarded, type Sweep, whenDue } from '../kernel/background.js';
import type { KernelDeps } from '../kernel/deps.js';
import { endInstances } from './ended-commands.js';
import { markUnreachableIfDue } from './heartbeats.js';
import { stopIdle } from './idle.js';
import { settleService } from './service-credits.js';

/** Maximum delay until an unreachable machine is withdrawn from the offers, in milliseconds. */
const CHECK_EVERY_MS = 500;
/** Interval for issuing credits that no report has triggered, for example because a process crashed. */
const SETTLE_EVERY_MS = 5_000;

/** Marks unreachable machines and issues service credits. Every gateway runs this, but none repeats another's work. */
export function startFleetWatch(deps: LedgerDeps, onFault: (error: unknown) => void): Sweep {
  const settling = guarded(() => settleService(deps), onFault);
  const ending = guarded(() => endInstances(deps), onFault);
  const stopping = guarded(() => stopIdle(deps), onFault);
  const runOpenWork = async () => {
    const open = await openWork(deps);
    if (open.toSettle) settling.run();
    if (open.haveExited) ending.run();
    if (open.areWatched) stopping.run();
  };
  const watches = [
    whenDue(deps, CHECK_EVERY_MS, () => markUnreachableIfDue(deps.db, deps.clock.now()), onFault),
    every(SETTLE_EVERY_MS, runOpenWork, onFault),
  ];
  return {
    stop: async () => {
      await Promise.all(watches.map(({ stop }) => stop()));
      await Promise.all([settling, ending, stopping].map(({ ended }) => ended()));
    },
  };
}

/**
 * Pending work, found by a single statement. On most gateways, the statements that do the actual work would find
 * nothing.
 */
interface OpenWork {
  toSettle: boolean;
  haveExited: boolean;
  areWatched: boolean;
}

async function openWork({ db }: Pick<KernelDeps, 'db'>): Promise<OpenWork> {
  const { rows } = await db.pool.query<OpenWork>({ name: 'open-fleet-work', text: OPEN_WORK });
  return only(rows);
}

const OPEN_WORK = `
  select exists (select from container_start where not settled) or exists (select from machine_outage where not settled)
      or exists (select from gpu_loss where not settled) as "toSettle",
    exists (select from container where phase = 'EXITED') as "haveExited",
    exists (select from idle_watch) as "areWatched"`;
