/** Who waits for a turn longer than this, or finds this many before him, is told to come again. */
const WAIT_MS = 5_000;
const MAX_WAITING = 200;

/** No turn came in time, or too many wait already. */
export class QueueTimeout extends Error {}

/**
 * One at a time for each key, in order of arrival, within this process. Writes of one account would wait for each
 * other in the database anyway; waiting here they hold no connection, so that one busy account can't starve the rest.
 */
export class KeyedQueue {
  /** The work that runs or waits for a key, the last one's end first in line for the next. */
  readonly #queues = new Map<string, { waiting: number; last: Promise<unknown> | null }>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(key) ?? { waiting: 0, last: null };
    if (queue.waiting >= MAX_WAITING) throw new QueueTimeout(`more than ${MAX_WAITING} wait for ${key}`);
    queue.waiting += 1;
    this.#queues.set(key, queue);
    const turn = queue.last === null ? work() : afterOrTimeout(queue.last, work);
    // Also the turns before: one that gave up waiting must not let the next ahead.
    queue.last = Promise.allSettled([queue.last, turn]);
    try {
      return await turn;
    } finally {
      queue.waiting -= 1;
      if (queue.waiting === 0) this.#queues.delete(key);
    }
  }
}

/** Runs `work` once `before` has ended; not at all when that takes too long. */
async function afterOrTimeout<T>(before: Promise<unknown>, work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new QueueTimeout(`no turn within ${WAIT_MS} ms`)), WAIT_MS);
  });
  try {
    await Promise.race([before, late]);
  } finally {
    clearTimeout(timer);
  }
  return work();
}
