import type { Deps } from '../deps.js';
import { forgetOldAnswers } from './idempotency.js';
import { settleDue } from './settlement.js';

/** What ends by itself shows within a second, though gateways die. */
const SETTLE_EVERY_MS = 500;
const FORGET_EVERY_MS = 600_000;

export interface Sweep {
  stop(): Promise<void>;
}

/** Settles due accounts in the background. When it runs changes no amount: each event keeps its own second. */
export function startSweep(deps: Deps, onFault: (error: unknown) => void): Sweep {
  const sweeps = [
    every(SETTLE_EVERY_MS, () => settleDue(deps), onFault),
    every(FORGET_EVERY_MS, () => forgetOldAnswers(deps), onFault),
  ];
  return { stop: async () => void (await Promise.all(sweeps.map(({ stop }) => stop()))) };
}

/** Runs `work` at the interval, but not while it is still running. */
export function every(intervalMs: number, work: () => Promise<unknown>, onFault: (error: unknown) => void): Sweep {
  let running: Promise<unknown> | undefined;
  const timer = setInterval(() => {
    running ??= work()
      .catch(onFault)
      .finally(() => {
        running = undefined;
      });
  }, intervalMs);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
