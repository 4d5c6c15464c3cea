import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** A quoted rental in the form that the deploy tool accepts. */
export interface Quoted {
  machineId: string;
  template: string;
  diskGb: number;
  mode: string;
  /** The launch and the optional terms, as given to the quote tool. A duration is counted from the deploy. */
  terms: object;
  /** Price of the whole machine, in USD per hour. */
  priceHr: number;
  /** Price including the disk, in USD per hour. */
  totalPriceHr: number;
}

const MAX_QUOTES = 1_000;
/**
 * Lifetime of a quote. It is far shorter than the 24 hours that the service remembers an idempotency key, so that
 * deploying a quote repeatedly never rents a second instance.
 */
const LIFETIME_MS = 3_600_000;

/**
 * Stores quotes by id. The id is the deploy's idempotency key, so that a quote rents only one instance, however often
 * it is deployed.
 */
export class Quotes {
  readonly #kept = new LRUCache<string, Quoted>({ max: MAX_QUOTES, ttl: LIFETIME_MS });

  /** Stores a quote and returns its id. */
  keep(quoted: Quoted): string {
    const id = randomUUID();
    this.#kept.set(id, quoted);
    return id;
  }

  /** Returns a quote, or null if it is unknown or more than an hour old. */
  find(id: string): Quoted | null {
    return this.#kept.get(id) ?? null;
  }
}
