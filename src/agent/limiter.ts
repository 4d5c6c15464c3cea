/** Lets at most `limit` jobs run at once; the others wait in the order they came. */
export class Limiter {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Null, with nothing done, when the signal is aborted before the job's turn comes. */
  async run<T>(job: () => Promise<T>, signal?: AbortSignal): Promise<T | null> {
    if (this.#free > 0) this.#free -= 1;
    else if (!(await this.#turn(signal))) return null;
    try {
      return signal?.aborted ? null : await job();
    } finally {
      const [next] = this.#waiting;
      if (next === undefined) this.#free += 1;
      else next();
    }
  }

  #turn(signal: AbortSignal | undefined): Promise<boolean> {
    return new Promise((resolve) => {
      const leave = (taken: boolean) => {
        this.#waiting.delete(take);
        signal?.removeEventListener('abort', giveUp);
        resolve(taken);
      };
      const take = () => leave(true);
      const giveUp = () => leave(false);
      if (signal?.aborted) return resolve(false);
      this.#waiting.add(take);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }
}
