import type { Deps } from './deps.js';
import type { Instant } from './rules/time.js';

/** Interval of looks without a reason, in case a write of due work sent no notice. */
const LOOK_ANYWAY_MS = 10_000;

/** Background work that repeats until it is stopped. */
export interface Sweep {
  /** Resolves when what was running has ended. */
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
 * Runs `look` at the interval, but only while something may be due. `look` does what is due and returns when it must
 * look again, null if unknown; the time may be in the past. Until then the database is queried only after a notice of
 * any kind: each write that makes something due earlier sends one (migration `due_work`).
 *
 * Nothing is done later than if `look` ran at each interval: a notice of another process, or a missed one, that arrives
 * after an interval without a look triggers one immediately. While notices do not arrive, `look` runs at each interval.
 * The due time is compared with the clock at each interval, so that changes of the clock are respected.
 */
export function whenDue(
  { db: { notices }, clock }: Pick<Deps, 'db' | 'clock'>,
  intervalMs: number,
  look: () => Promise<Instant | null>,
  onFault: (error: unknown) => void,
): Sweep {
  let dueAt: Instant | null = null;
  /** Whether something may have become due that the newest look did not see. */
  let isStale = true;
  let lookedAtMs = 0;
  /** Whether an interval has passed without a look since the newest one. */
  let hasSkipped = false;
  const work = guarded(async () => {
    lookedAtMs = performance.now();
    hasSkipped = false;
    // Notices missed before they arrive again are not repeated.
    isStale = !notices.isCurrent;
    try {
      dueAt = await look();
    } catch (error) {
      isStale = true;
      throw error;
    }
  }, onFault);
  const mayBeDue = () =>
    isStale ||
    !notices.isCurrent ||
    (dueAt !== null && dueAt <= clock.now()) ||
    performance.now() - lookedAtMs >= LOOK_ANYWAY_MS;
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

/** Work that does not run twice at the same time. */
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
