import { isIPv6 } from 'node:net';
import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import { DomainError } from '../../domain/rules/errors.js';

/** Addresses remembered at most; one that is forgotten begins anew. */
const REMEMBERED = 20_000;
/** Groups of an IPv6 address that belong to one subscriber: a /64. */
const OWN_GROUPS = 4;

export interface Attempts {
  /** Refuses with rate_limited. */
  take(address: string): void;
}

/** So many attempts of one address at once, and another each `everySeconds` after them. */
export function createAttempts(what: string, { size, everySeconds }: { size: number; everySeconds: number }): Attempts {
  const buckets = new LRUCache<string, { left: number; atMs: number }>({ max: REMEMBERED });
  return {
    take: (address) => {
      const now = performance.now();
      const key = subscriberOf(address);
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

/** An IPv4 address as it is, of an IPv6 address the network: its owner has all the others in it. */
export function subscriberOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [plain] = address.split('%', 1);
  if (!isIPv6(plain!)) return address;
  const [head = '', tail] = plain!.split('::', 2) as [string, string?];
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  // A tail in the form of an IPv4 address stands for two groups; it lies beyond the network.
  const zeros = tail === undefined ? 0 : Math.max(8 - groups.length - after.length, 0);
  const all = [...groups, ...new Array<string>(zeros).fill('0'), ...after];
  return all
    .slice(0, OWN_GROUPS)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
