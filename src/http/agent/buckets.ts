import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import { DomainError } from '../../domain/rules/errors.js';

/** Machines remembered at most; one that is forgotten begins with a full bucket. */
const REMEMBERED = 20_000;

/** So many requests of one machine at once, and so many a second after them; more are refused with rate_limited. */
export function createBuckets({ size, perSecond }: { size: number; perSecond: number }) {
  const buckets = new LRUCache<string, { left: number; atMs: number }>({ max: REMEMBERED });
  return {
    take: (machineId: string): void => {
      const now = performance.now();
      const bucket = buckets.get(machineId) ?? { left: size, atMs: now };
      bucket.left = Math.min(size, bucket.left + ((now - bucket.atMs) / 1_000) * perSecond);
      bucket.atMs = now;
      buckets.set(machineId, bucket);
      if (bucket.left < 1)
        throw new DomainError('rate_limited', 'this machine asks too often', { retryAfterSeconds: 1 });
      bucket.left -= 1;
    },
  };
}
