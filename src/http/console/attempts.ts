import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import { DomainError } from '../../domain/rules/errors.js';
import { customerOf } from '../customer.js';

/** Addresses remembered at most; one that is forgotten begins anew. */
const REMEMBERED = 20_000;

export interface Attempts {
  /** Refuses with rate_limited. */
  take(address: string | undefined): void;
}

/** So many attempts of one address at once, and another each `everySeconds` after them. */
export function createAttempts(what: string, { size, everySeconds }: { size: number; everySeconds: number }): Attempts {
  const buckets = new LRUCache<string, { left: number; atMs: number }>({ max: REMEMBERED });
  return {
    take: (address) => {
      const now = performance.now();
      const key = customerOf(address);
      const bucket = buckets.get(key) ?? { left: size, atMs: now };
      bucket.left = Math.min(size, bucket.left + (now - bucket.atMs) / 1_000 / everySeconds);
      bucket.atMs = now;
      buckets.set(key, bucket);
      if (bucket.left < 1) {
        const retryAfterSeconds = Math.ceil((1 - bucket.left) * everySeconds);
        throw new DomainError(
          'rate_limited',
          `too many ${what} from this address; try again in ${retryAfterSeconds} s`,
          {
            retryAfterSeconds,
          },
        );
      }
      bucket.left -= 1;
    },
  };
}
