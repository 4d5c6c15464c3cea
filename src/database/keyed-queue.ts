import AsyncLock from 'async-lock';

/** Maximum wait of a task for its turn. */
const MAX_WAIT_MS = 5_000;
/** Maximum tasks waiting for one key, in addition to the running one. */
const MAX_WAITING = 200;

/** The task did not run: its turn did not come in time, or too many tasks were waiting. */
export class QueueTimeout extends Error {}

/**
 * Runs one task at a time per key, in order of arrival, within this process. Writes of one account would wait for each
 * other in the database anyway. Here they wait without a connection, so that one busy account can't starve the others.
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
