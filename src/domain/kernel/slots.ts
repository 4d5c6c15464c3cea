import { DomainError } from './errors.js';

const RETRY_AFTER_SECONDS = 5;

/**
 * Runs up to `maxConcurrent` jobs at a time and queues up to `maxWaiting` more. An account can have up to
 * `maxOfAccount` jobs running or waiting. Rejects further jobs with unavailable.
 */
export class Slots {
  #free: number;
  readonly #maxWaiting: number;
  readonly #maxOfAccount: number;
  readonly #waiting: (() => void)[] = [];
  readonly #ofAccount = new Map<string, number>();

  constructor({
    maxConcurrent,
    maxWaiting,
    maxOfAccount = Number.POSITIVE_INFINITY,
  }: {
    maxConcurrent: number;
    maxWaiting: number;
    maxOfAccount?: number;
  }) {
    this.#free = maxConcurrent;
    this.#maxWaiting = maxWaiting;
    this.#maxOfAccount = maxOfAccount;
  }

  /** Like `run`, but also enforces the account's limit. */
  async runFor<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const count = this.#ofAccount.get(accountId) ?? 0;
    if (count >= this.#maxOfAccount) throw tooMany();
    this.#ofAccount.set(accountId, count + 1);
    try {
      return await this.run(work);
    } finally {
      this.#leave(accountId);
    }
  }

  #leave(accountId: string): void {
    const left = (this.#ofAccount.get(accountId) ?? 0) - 1;
    if (left > 0) this.#ofAccount.set(accountId, left);
    else this.#ofAccount.delete(accountId);
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else if (this.#waiting.length < this.#maxWaiting) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else throw tooMany();
    try {
      return await work();
    } finally {
      // The slot passes directly to the next job and is never free in between.
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

function tooMany(): DomainError {
  return new DomainError('unavailable', 'too many concurrent writes; retry later', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
