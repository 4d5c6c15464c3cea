import { getGraphQLRateLimiter, Store } from 'graphql-rate-limit';
import { type Buckets, createMemoryBuckets, type Reservation } from './memory-buckets.js';

/** Whether a request may run, and what its RateLimit headers say. */
interface Admission {
  admitted: boolean;
  limit: number;
  /** Requests left after this one. */
  remaining: number;
  /** Whole seconds until the full limit is available again. */
  resetSeconds: number;
  /** Whole seconds until this request would pass; 0 when it was admitted. */
  retryAfterSeconds: number;
}

export interface RateLimiter {
  /** Takes `cost` requests, at least 1, of the account's `limit` in any 60 s: all of them or none. */
  admit(accountId: string, cost: number, limit: number): Promise<Admission>;
}

const IDENTITY_ARGS = ['cost', 'limit', 'ticket'];

/**
 * graphql-rate-limit awaits a read of its store, counts, and awaits a write: a burst would pass as one request. So this
 * store decides and takes in one step when it is read, shows the library a full or an empty count, and ignores the write.
 */
export function createRateLimiter(buckets: Buckets = createMemoryBuckets()): RateLimiter {
  const store = new ReservingStore(buckets);
  const limiter = getGraphQLRateLimiter({ store, identifyContext: (accountId: string) => accountId });
  let tickets = 0;
  return {
    async admit(accountId, cost, limit) {
      tickets += 1;
      const args = { cost, limit, ticket: tickets, calls: { length: cost } };
      const refusal = await limiter(
        { parent: undefined, args, context: accountId, info: { fieldName: 'request' } as never },
        { max: limit, window: '60s', identityArgs: IDENTITY_ARGS, arrayLengthField: 'calls' },
      );
      const { taken, resetMs, retryMs } = store.take(args.ticket);
      const admitted = refusal === undefined;
      return {
        admitted,
        limit,
        remaining: Math.max(limit - taken - (admitted ? cost : 0), 0),
        resetSeconds: wholeSeconds(resetMs),
        retryAfterSeconds: wholeSeconds(retryMs),
      };
    },
  };
}

class ReservingStore extends Store {
  readonly #buckets: Buckets;
  readonly #reservations = new Map<number, Reservation>();

  constructor(buckets: Buckets) {
    super();
    this.#buckets = buckets;
  }

  async getForIdentity(identity: { contextIdentity: string; fieldIdentity: string }): Promise<number[]> {
    const [, cost, limit, ticket] = identity.fieldIdentity.split(':').map(Number) as [number, number, number, number];
    const reservation = await this.#buckets.reserve(identity.contextIdentity, cost, limit);
    this.#reservations.set(ticket, reservation);
    // The library only needs to see whether there is room.
    return reservation.admitted ? [] : new Array<number>(limit).fill(Date.now());
  }

  setForIdentity(): void {}

  take(ticket: number): Reservation {
    const reservation = this.#reservations.get(ticket)!;
    this.#reservations.delete(ticket);
    return reservation;
  }
}

function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}
