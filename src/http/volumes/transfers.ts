import { DomainError } from '../../domain/rules/errors.js';

const BUSY_RETRY_SECONDS = 5;

export interface TransferLimits {
  /** Objects of one volume under way at once. */
  perVolume: number;
  /** Of all volumes. */
  all: number;
  /** Those that wait for their turn, of one volume and of all. */
  waitingPerVolume: number;
  waiting: number;
}

interface Waiting {
  volume: string;
  begin(): void;
}

/** Lets so many objects be moved at once; the others wait, unread, in the order in which they came. */
export class Transfers {
  readonly #limits: TransferLimits;
  readonly #running = new Map<string, number>();
  #all = 0;
  #waiting: Waiting[] = [];

  constructor(limits: TransferLimits) {
    this.#limits = limits;
  }

  /** Objects under way. */
  get size(): number {
    return this.#all;
  }

  /** Waits for its turn and works. Refuses with unavailable where too many wait, and rejects when the signal is aborted. */
  async run<T>(volume: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (!this.#hasRoom(volume)) await this.#wait(volume, signal);
    this.#all += 1;
    this.#running.set(volume, this.#of(volume) + 1);
    try {
      return await work();
    } finally {
      this.#all -= 1;
      const left = this.#of(volume) - 1;
      if (left > 0) this.#running.set(volume, left);
      else this.#running.delete(volume);
      this.#next();
    }
  }

  async #wait(volume: string, signal: AbortSignal): Promise<void> {
    const ofVolume = this.#waiting.filter((each) => each.volume === volume).length;
    if (ofVolume >= this.#limits.waitingPerVolume || this.#waiting.length >= this.#limits.waiting)
      throw new DomainError('unavailable', 'too many objects are moved at once; try again', {
        retryAfterSeconds: BUSY_RETRY_SECONDS,
      });
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#waiting = this.#waiting.filter((each) => each !== mine);
        reject(signal.reason);
      };
      const mine: Waiting = {
        volume,
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
    const next = this.#waiting.find(({ volume }) => this.#hasRoom(volume));
    if (next === undefined) return;
    this.#waiting = this.#waiting.filter((each) => each !== next);
    next.begin();
  }

  #hasRoom(volume: string): boolean {
    return this.#all < this.#limits.all && this.#of(volume) < this.#limits.perVolume;
  }

  #of(volume: string): number {
    return this.#running.get(volume) ?? 0;
  }
}
