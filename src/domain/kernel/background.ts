import type { Database } from '../../database/database.js';
import type { Clock, Instant } from './time.js';

/** Maximum time between two checks, as a safety net for writes that made something due without sending a notice. */
const MAX_UNCHECKED_MS = 10_000;

/** Background work that repeats until stopped. */
export interface Sweep {
  /** Resolves once the work in progress has finished. */
  stop(): Promise<void>;
}

/** Runs `work` at each interval, skipping it if the previous run hasn't finished. */
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
 * Runs `check` at each interval, but only if something may be due. `check` does the work that is due and returns when
 * it must run again, or null if that is unknown. The returned time may be in the past. Until then, the database is
 * queried only after a notice of any kind, because every write that makes something due earlier sends one (migration
 * `due_work`).
 *
 * Work is never done later than it would be if `check` ran at every interval. Once an interval has passed without a
 * check, a notice from another process or the loss of the notice connection triggers one immediately. While notices
 * can't be received, `check` runs at every interval. The due time is compared with the clock at every interval, so
 * clock changes take effect.
 */
export function whenDue(
  { db: { notices }, clock }: { db: Pick<Database, 'notices'>; clock: Clock },
  intervalMs: number,
  check: () => Promise<Instant | null>,
  onFault: (error: unknown) => void,
): Sweep {
  let dueAt: Instant | null = null;
  /** Whether something may have become due since the last check read the database. */
  let isStale = true;
  let checkedAtMs = 0;
  /** Whether an interval has passed without a check since the last check. */
  let hasSkipped = false;
  const work = guarded(async () => {
    checkedAtMs = performance.now();
    hasSkipped = false;
    // Notices missed while the connection was down are not resent.
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

/** Work that never runs concurrently with itself. */
export interface Guarded {
  /** Starts the work. Has no effect while it is still running. */
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
