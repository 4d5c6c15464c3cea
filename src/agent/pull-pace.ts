import type { PullProgress } from './engine/engine.js';

/** Period over which a pull's speed is measured. */
const WINDOW_MS = 60_000;
const BYTES_PER_KB = 1_000;

/**
 * Maximum duration and minimum speed of a start's pulls. They apply because the registry is the renter's, and the
 * machine is blocked in the meantime.
 */
export interface PullLimits {
  /** Total seconds for all attempts of a start. */
  seconds: number;
  /** Minimum speed over any minute while data is still missing. 0 means that there is no minimum. */
  kbPerSecond: number;
}

/** Measures a start's pulls. Times are in milliseconds. */
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

  record(progress: PullProgress): void {
    this.#last = progress;
  }

  /** Begins a new attempt, whose bytes are counted from 0. */
  again(now: number): void {
    this.#last = { pulledBytes: 0, totalBytes: 0 };
    this.#windowBytes = 0;
    this.#windowAt = now;
  }

  /** Returns which limit is exceeded, or null if none is. */
  fault(now: number): string | null {
    const { seconds, kbPerSecond } = this.#limits;
    if (now - this.#begunAt >= seconds * 1_000) return `the image was not pulled within ${seconds} s`;
    const { pulledBytes, totalBytes } = this.#last;
    // Everything has been downloaded and is being unpacked, which depends only on the host.
    if (totalBytes > 0 && pulledBytes >= totalBytes) this.#begin(now);
    if (now - this.#windowAt < WINDOW_MS) return null;
    const kb = (pulledBytes - this.#windowBytes) / BYTES_PER_KB;
    if (kb < (kbPerSecond * (now - this.#windowAt)) / 1_000)
      return `the image was pulled at less than ${kbPerSecond} kB per second`;
    this.#begin(now);
    return null;
  }

  #begin(now: number): void {
    this.#windowAt = now;
    this.#windowBytes = this.#last.pulledBytes;
  }
}
