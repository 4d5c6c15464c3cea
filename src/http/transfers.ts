import { DomainError } from '../domain/kernel/errors.js';

const BUSY_RETRY_SECONDS = 5;

export interface TransferLimits {
  /** Maximum concurrent transfers per volume or instance. */
  perTarget: number;
  /** Maximum concurrent transfers per account, so that one account's slow transfers leave slots for others. */
  perAccount: number;
  all: number;
  /** Maximum waiting transfers per account and in total. */
  waitingPerAccount: number;
  waiting: number;
}

/** The account and the volume or instance that a transfer counts for. */
export interface Mover {
  /** Id of the volume or instance. */
  id: string;
  accountId: string;
}

interface Waiting {
  mover: Mover;
  begin(): void;
}

/** Limits concurrent transfers. Further ones wait in order of arrival, and their data isn't read yet. */
export class Transfers {
  readonly #limits: TransferLimits;
  /** Number of running transfers by target and by account, whose ids never coincide. */
  readonly #running = new Map<string, number>();
  #all = 0;
  #waiting: Waiting[] = [];

  constructor(limits: TransferLimits) {
    this.#limits = limits;
  }

  /** Number of transfers in progress. */
  get size(): number {
    return this.#all;
  }

  /**
   * Waits for a slot and runs the work. Rejects with unavailable if too many transfers are waiting or the signal is
   * aborted.
   */
  async run<T>(mover: Mover, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#hasRoom(mover)) this.#add(mover, 1);
    else await this.#wait(mover, signal);
    try {
      return await work();
    } finally {
      this.#add(mover, -1);
      this.#next();
    }
  }

  async #wait(mover: Mover, signal: AbortSignal): Promise<void> {
    const ofAccount = this.#waiting.filter((each) => each.mover.accountId === mover.accountId).length;
    if (ofAccount >= this.#limits.waitingPerAccount || this.#waiting.length >= this.#limits.waiting)
      throw new DomainError('unavailable', 'too many concurrent transfers; try again', {
        retryAfterSeconds: BUSY_RETRY_SECONDS,
      });
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#waiting = this.#waiting.filter((each) => each !== entry);
        reject(signal.reason);
      };
      const entry: Waiting = {
        mover,
        begin: () => {
          signal.removeEventListener('abort', leave);
          resolve();
        },
      };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(entry);
    });
  }

  #next(): void {
    const next = this.#waiting.find(({ mover }) => this.#hasRoom(mover));
    if (next === undefined) return;
    this.#waiting = this.#waiting.filter((each) => each !== next);
    // The slot is taken before any other request can claim it.
    this.#add(next.mover, 1);
    next.begin();
  }

  #hasRoom({ id, accountId }: Mover): boolean {
    const { all, perTarget, perAccount } = this.#limits;
    return this.#all < all && this.#of(id) < perTarget && this.#of(accountId) < perAccount;
  }

  #add({ id, accountId }: Mover, change: 1 | -1): void {
    this.#all += change;
    for (const name of [id, accountId]) {
      const now = this.#of(name) + change;
      if (now > 0) this.#running.set(name, now);
      else this.#running.delete(name);
    }
  }

  #of(name: string): number {
    return this.#running.get(name) ?? 0;
  }
}
