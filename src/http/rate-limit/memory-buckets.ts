import { performance } from 'node:perf_hooks';

/** Counts each account's requests over the last 60 s. */
export interface Buckets {
  /**
   * Decides and counts in one step, so that only one of two concurrent calls gets the last request. `cost` is at most
   * `limit`.
   */
  reserve(accountId: string, cost: number, limit: number): Reservation | Promise<Reservation>;
}

export interface Reservation {
  /** Whether all of `cost` was taken. If not, none of it was. */
  admitted: boolean;
  /** Number of requests in the 60 s before this one. */
  taken: number;
  /** Time until the newest request is 60 s old. */
  resetMs: number;
  /** Time until this request would be admitted, or 0 if it was. */
  retryMs: number;
}

export interface MemoryBuckets extends Buckets {
  reserve(accountId: string, cost: number, limit: number): Reservation;
  /** Counts requests that were admitted by another store. */
  record(accountId: string, cost: number): void;
  /** Number of accounts in memory. */
  readonly size: number;
}

/**
 * Times at which requests were admitted, oldest first. Entries before `first` have expired and are removed in batches.
 */
interface Bucket {
  times: number[];
  first: number;
}

export const WINDOW_MS = 60_000;

/**
 * Creates this process's counts. Their memory is bounded: an account has at most twice as many entries as its limit,
 * accounts idle for 60 s are removed, and only accounts with a valid key are counted.
 */
export function createMemoryBuckets(): MemoryBuckets {
  /** Accounts in order of last use, so that idle ones come first. */
  const buckets = new Map<string, Bucket>();

  const reserve = (accountId: string, cost: number, limit: number): Reservation => {
    const now = wholeNow();
    const { times, first } = bucketOf(accountId, now);
    const taken = times.length - first;
    const admitted = taken + cost <= limit;
    if (admitted) append(times, cost, now);
    return {
      admitted,
      taken,
      resetMs: times.at(-1)! + WINDOW_MS - now,
      retryMs: admitted ? 0 : times[first + taken + cost - limit - 1]! + WINDOW_MS - now,
    };
  };

  const bucketOf = (accountId: string, now: number): Bucket => {
    evictIdle(now);
    const bucket = buckets.get(accountId) ?? { times: [], first: 0 };
    const { times } = bucket;
    while (bucket.first < times.length && isOver(times[bucket.first]!, now)) bucket.first += 1;
    if (bucket.first > times.length / 2) {
      times.splice(0, bucket.first);
      bucket.first = 0;
    }
    buckets.delete(accountId);
    buckets.set(accountId, bucket);
    return bucket;
  };

  const evictIdle = (now: number) => {
    for (const [accountId, { times }] of buckets) {
      if (!isOver(times.at(-1)!, now)) return;
      buckets.delete(accountId);
    }
  };

  return {
    reserve,
    record: (accountId, cost) => {
      const now = wholeNow();
      append(bucketOf(accountId, now).times, cost, now);
    },
    get size() {
      return buckets.size;
    },
  };
}

/**
 * Returns the monotonic time, because setting the clock back must not keep buckets full forever. Whole milliseconds
 * keep sums exact.
 */
function wholeNow(): number {
  return Math.floor(performance.now());
}

function isOver(at: number, now: number): boolean {
  return at + WINDOW_MS <= now;
}

function append(times: number[], count: number, at: number): void {
  for (let index = 0; index < count; index += 1) times.push(at);
}
