/**
 * Runs at most `limit` jobs concurrently, while the others wait in order of arrival. A job that takes longer than
 * `lentMs` continues, but the next job may start in addition to it.
 */
export class Limiter {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(
    limit: number,
    private readonly lentMs: number | null = null,
  ) {
    this.#free = limit;
  }

  /** Resolves to null, without running the job, if the signal is aborted before the job's turn. */
  async run<T>(job: () => Promise<T>, signal?: AbortSignal): Promise<T | null> {
    if (this.#free > 0) this.#free -= 1;
    else if (!(await this.#turn(signal))) return null;
    let isLent = true;
    const release = () => {
      if (!isLent) return;
      isLent = false;
      const [next] = this.#waiting;
      if (next === undefined) this.#free += 1;
      else next();
    };
    const timer = this.lentMs === null ? undefined : setTimeout(release, this.lentMs);
    try {
      return signal?.aborted ? null : await job();
    } finally {
      clearTimeout(timer);
      release();
    }
  }

  #turn(signal: AbortSignal | undefined): Promise<boolean> {
    return new Promise((resolve) => {
      const leave = (taken: boolean) => {
        this.#waiting.delete(take);
        signal?.removeEventListener('abort', cancel);
        resolve(taken);
      };
      const take = () => leave(true);
      const cancel = () => leave(false);
      if (signal?.aborted) return resolve(false);
      this.#waiting.add(take);
      signal?.addEventListener('abort', cancel, { once: true });
    });
  }
}
