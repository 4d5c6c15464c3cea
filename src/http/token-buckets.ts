import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import { DomainError } from '../domain/kernel/errors.js';

/** Maximum number of remembered callers. A forgotten caller starts with a full bucket. */
const MAX_CALLERS = 20_000;

export interface TokenBucketOptions {
  /** Maximum number of requests in a burst. */
  size: number;
  /** Seconds until one more request is admitted after a burst. */
  everySeconds: number;
  refusal(retryAfterSeconds: number): string;
}

export interface TokenBuckets {
  /** Takes one request from the caller's bucket. Throws rate_limited if it is empty. */
  take(caller: string): void;
}

/** Creates buckets for the callers of a route that isn't covered by the accounts' rate limit. */
export function createTokenBuckets({ size, everySeconds, refusal }: TokenBucketOptions): TokenBuckets {
  const buckets = new LRUCache<string, { left: number; atMs: number }>({ max: MAX_CALLERS });
  return {
    take: (caller) => {
      const now = performance.now();
      const bucket = buckets.get(caller) ?? { left: size, atMs: now };
      bucket.left = Math.min(size, bucket.left + (now - bucket.atMs) / 1_000 / everySeconds);
      bucket.atMs = now;
      buckets.set(caller, bucket);
      if (bucket.left < 1) {
        const retryAfterSeconds = Math.ceil((1 - bucket.left) * everySeconds);
        throw new DomainError('rate_limited', refusal(retryAfterSeconds), { retryAfterSeconds });
      }
      bucket.left -= 1;
    },
  };
}
