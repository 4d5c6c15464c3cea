import { DomainError } from '../domain/rules/errors.js';

const BUSY_RETRY_SECONDS = 5;

export interface TransferLimits {
  /** Of one volume, or one instance, under way at once. */
  perTarget: number;
  /** Of one account: whoever takes his time leaves places to others. */
  perAccount: number;
  all: number;
  /** Those that wait for their turn, of one account and of all. */
  waitingPerAccount: number;
  waiting: number;
}

/** Whose bytes are moved. */
export interface Mover {
  /** Of the volume or the instance. */
  id: string;
  accountId: string;
}

interface Waiting {
  mover: Mover;
  begin(): void;
}

/** Bounds what is moved at once; the others wait, unread, in the order in which they came. */
export class Transfers {
  readonly #limits: TransferLimits;
  /** By target, and by account: their ids differ. */
  readonly #running = new Map<string, number>();
  #all = 0;
  #waiting: Waiting[] = [];

  constructor(limits: TransferLimits) {
    this.#limits = limits;
  }

  /** What is under way. */
  get size(): number {
    return this.#all;
  }

  /** Waits for its turn and works. Refuses with unavailable where too many wait, and rejects when the signal is aborted. */
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
      throw new DomainError('unavailable', 'too many objects are moved at once; try again', {
        retryAfterSeconds: BUSY_RETRY_SECONDS,
      });
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#waiting = this.#waiting.filter((each) => each !== mine);
        reject(signal.reason);
      };
      const mine: Waiting = {
        mover,
        begin: () => {
          signal.removeEventListener('abort', leave);
          resolve();
        },
      };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(mine);
    });
  }

  #next(): void {
    const next = this.#waiting.find(({ mover }) => this.#hasRoom(mover));
    if (next === undefined) return;
    this.#waiting = this.#waiting.filter((each) => each !== next);
    // Its place is taken before anybody else may ask.
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
