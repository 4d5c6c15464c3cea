/** The agent's only source of time. Tests replace it so that they don't have to wait. */
export interface AgentClock {
  /** Returns the Unix time in milliseconds. */
  now(): number;
  /** Resolves after `ms`, or immediately when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const hostClock: AgentClock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal?.addEventListener('abort', end, { once: true });
    }),
};

/** Returns the pause between attempts. It doubles with each try, from one second up to `maxMs`. `tries` starts at 0. */
export function pauseMs(tries: number, maxMs: number): number {
  return Math.min(1_000 * 2 ** Math.min(tries, 20), maxMs);
}
