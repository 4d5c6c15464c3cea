import type { PullProgress } from './engine/engine.js';

/** Over which the speed of a pull is looked at. */
const WINDOW_MS = 60_000;
const BYTES_PER_KB = 1_000;

/** How long a start's pulls may take in all, and how slow they may be: the registry is the renter's, the machine waits. */
export interface PullLimits {
  /** Seconds of all tries of a start together. */
  seconds: number;
  /** Over any minute in which something is still to come; 0 for none. */
  kbPerSecond: number;
}

/** Of the pulls of one start. Times are in milliseconds. */
export class PullPace {
  readonly #limits: PullLimits;
  readonly #begunAt: number;
  #windowAt: number;
  #windowBytes = 0;
  #last: PullProgress = { pulledBytes: 0, totalBytes: 0 };

  constructor(limits: PullLimits, now: number) {
    this.#limits = limits;
    this.#begunAt = now;
    this.#windowAt = now;
  }

  note(progress: PullProgress): void {
    this.#last = progress;
  }

  /** A new try counts its bytes from nothing. */
  again(now: number): void {
    this.#last = { pulledBytes: 0, totalBytes: 0 };
    this.#windowBytes = 0;
    this.#windowAt = now;
  }

  /** What is wrong with it; null while nothing is. */
  fault(now: number): string | null {
    const { seconds, kbPerSecond } = this.#limits;
    if (now - this.#begunAt >= seconds * 1_000) return `the image was not pulled within ${seconds} s`;
    const { pulledBytes, totalBytes } = this.#last;
    // All is there, and is being unpacked: that is the host's work.
    if (totalBytes > 0 && pulledBytes >= totalBytes) this.#begin(now);
    if (now - this.#windowAt < WINDOW_MS) return null;
    const kb = (pulledBytes - this.#windowBytes) / BYTES_PER_KB;
    if (kb < (kbPerSecond * (now - this.#windowAt)) / 1_000)
      return `the image comes slower than ${kbPerSecond} kB a second`;
    this.#begin(now);
    return null;
  }

  #begin(now: number): void {
    this.#windowAt = now;
    this.#windowBytes = this.#last.pulledBytes;
  }
}
