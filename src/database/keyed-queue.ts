import AsyncLock from 'async-lock';

/** Maximum time that a task waits for its turn. */
const MAX_WAIT_MS = 5_000;
/** Maximum number of tasks waiting per key, excluding the one that is running. */
const MAX_WAITING = 200;

/** Thrown if a task did not run because its turn didn't come in time or too many tasks were waiting. */
export class QueueTimeout extends Error {}

/**
 * Runs one task at a time per key within this process, in order of arrival. Writes to the same account would wait for
 * each other in the database anyway. Here, they wait without occupying a connection, so that one busy account can't
 * starve the others.
 */
export class KeyedQueue {
  readonly #lock = new AsyncLock({ timeout: MAX_WAIT_MS, maxPending: MAX_WAITING });

  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    let hasStarted = false;
    const start = () => {
      hasStarted = true;
      return task();
    };
    return this.#lock.acquire(key, start).catch((error: Error) => {
      throw hasStarted ? error : new QueueTimeout(error.message, { cause: error });
    });
  }
}
