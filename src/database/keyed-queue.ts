import AsyncLock from 'async-lock';

/** A task that waits longer than this for its turn is refused. */
const MAX_WAIT_MS = 5_000;
/** Tasks that wait for one key at most, beside the one that runs. */
const MAX_WAITING = 200;

/** The task did not run: its turn did not come in time, or too many tasks were waiting. */
export class QueueTimeout extends Error {}

/**
 * Runs one task at a time for each key, in order of arrival, within this process. Writes of one account would wait for
 * each other in the database anyway; here they wait without a connection, so one busy account can't starve the others.
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
