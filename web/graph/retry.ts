import { Refusal, Unreachable } from './send.js';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 8_000;

/**
 * Retries failed reads automatically: when the service allows it, after increasing pauses if there was no response, and
 * immediately once the browser is back online.
 */
export class Retry {
  #pauseMs = FIRST_PAUSE_MS;
  #cancel = () => {};

  /** Schedules a retry after a fault, replacing any earlier one. Permanent refusals are not retried. */
  after(fault: unknown, read: () => void): void {
    this.#cancel();
    const isLost = fault instanceof Unreachable;
    if (!isLost && (!(fault instanceof Refusal) || fault.retryAt === null)) return;
    const again = () => {
      this.#cancel();
      read();
    };
    const waitMs = isLost ? this.#pauseMs * (0.75 + Math.random() / 2) : fault.retryAt! - performance.now();
    const timer = setTimeout(again, Math.max(0, waitMs));
    if (isLost) {
      this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
      addEventListener('online', again);
    }
    this.#cancel = () => {
      clearTimeout(timer);
      removeEventListener('online', again);
    };
  }

  /** Cancels the retry, because a response has arrived or is no longer needed. */
  end(): void {
    this.#cancel();
    this.#pauseMs = FIRST_PAUSE_MS;
  }
}
