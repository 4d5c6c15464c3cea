import type { Deps } from './deps.js';
import type { Instant } from './rules/time.js';

/** Maximum time between two checks, in case a write that made work due sent no notice. */
const MAX_UNCHECKED_MS = 10_000;

/** Background work that repeats until it is stopped. */
export interface Sweep {
  /** Resolves when the work in progress has ended. */
  stop(): Promise<void>;
}

/** Runs `work` at the interval, but not while it is still running. */
export function every(intervalMs: number, work: () => Promise<unknown>, onFault: (error: unknown) => void): Sweep {
  const { run, ended } = guarded(work, onFault);
  const timer = setInterval(run, intervalMs).unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await ended();
    },
  };
}

/**
 * Runs `check` at the interval, but only while something may be due. `check` does the due work and returns when it must
 * run again, null if unknown; the time may be in the past. Until then the database is queried only after a notice of
 * any kind: each write that makes something due earlier sends one (migration `due_work`).
 *
 * No work is done later than if `check` ran at each interval: a notice of another process, or a missed one, that
 * arrives after an interval without a check triggers one immediately. While notices do not arrive, `check` runs at each
 * interval. The due time is compared with the clock at each interval, so that changes of the clock are respected.
 */
export function whenDue(
  { db: { notices }, clock }: Pick<Deps, 'db' | 'clock'>,
  intervalMs: number,
  check: () => Promise<Instant | null>,
  onFault: (error: unknown) => void,
): Sweep {
  let dueAt: Instant | null = null;
  /** Whether something may have become due that the last check did not see. */
  let isStale = true;
  let checkedAtMs = 0;
  /** Whether an interval has passed without a check since the last one. */
  let hasSkipped = false;
  const work = guarded(async () => {
    checkedAtMs = performance.now();
    hasSkipped = false;
    // Notices missed before they arrive again are not repeated.
    isStale = !notices.isCurrent;
    try {
      dueAt = await check();
    } catch (error) {
      isStale = true;
      throw error;
    }
  }, onFault);
  const mayBeDue = () =>
    isStale ||
    !notices.isCurrent ||
    (dueAt !== null && dueAt <= clock.now()) ||
    performance.now() - checkedAtMs >= MAX_UNCHECKED_MS;
  const timer = setInterval(() => {
    if (mayBeDue()) work.run();
    else hasSkipped = true;
  }, intervalMs).unref();
  const change = (isOwn: boolean) => {
    isStale = true;
    if (hasSkipped && !isOwn) work.run();
  };
  const unsubscribe = notices.subscribe({
    onNotice: (_notice, isOwn) => change(isOwn),
    onLost: () => change(false),
  });
  return {
    stop: async () => {
      clearInterval(timer);
      unsubscribe();
      await work.ended();
    },
  };
}

/** Work of which at most one run is in progress. */
export interface Guarded {
  /** Has no effect while the work is still running. */
  run(): void;
  ended(): Promise<void>;
}

export function guarded(work: () => Promise<unknown>, onFault: (error: unknown) => void): Guarded {
  let running: Promise<unknown> | undefined;
  return {
    run: () => {
      running ??= work()
        .catch(onFault)
        .finally(() => {
          running = undefined;
        });
    },
    ended: async () => void (await running),
  };
}
