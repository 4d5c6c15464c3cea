import { DomainError } from '../rules/errors.js';

const RETRY_AFTER_SECONDS = 5;

/** Runs at most `atOnce` jobs concurrently and queues up to `maxWaiting`; refuses more with unavailable. */
export class Slots {
  #free: number;
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];

  constructor({ atOnce, maxWaiting }: { atOnce: number; maxWaiting: number }) {
    this.#free = atOnce;
    this.#maxWaiting = maxWaiting;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else if (this.#waiting.length < this.#maxWaiting) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else
      throw new DomainError('unavailable', 'too many concurrent writes; retry later', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    try {
      return await work();
    } finally {
      // The slot goes straight to the next job and is never free in between.
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
