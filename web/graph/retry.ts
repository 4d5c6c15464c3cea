import { Refusal, Unreachable } from './send.js';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 8_000;

/**
 * What is read mends itself: it is asked again when the service said that it may be, and without an answer after growing
 * pauses, at once when the browser is back in a network.
 */
export class Retry {
  #pauseMs = FIRST_PAUSE_MS;
  #cancel = () => {};

  /** Waits after a fault, in place of an earlier wait. A refusal that will not pass by itself is not asked again. */
  after(fault: unknown, ask: () => void): void {
    this.#cancel();
    const isLost = fault instanceof Unreachable;
    if (!isLost && (!(fault instanceof Refusal) || fault.retryAt === null)) return;
    const again = () => {
      this.#cancel();
      ask();
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

  /** An answer came, or nobody waits for one any more. */
  end(): void {
    this.#cancel();
    this.#pauseMs = FIRST_PAUSE_MS;
  }
}
