import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** What was quoted, as deploy takes it. */
export interface Quoted {
  machineId: string;
  template: string;
  diskGb: number;
  mode: string;
  launch: object | undefined;
  /** When it ends by itself, from the deploy on where it is a time from now. */
  stopAt: string | undefined;
  destroyAt: string | undefined;
  /** What it may cost in all, in USD. */
  spendLimit: number | undefined;
  /** In minutes. */
  stopWhenIdle: number | undefined;
  volumes: readonly { id: string; path: string }[] | undefined;
  /** The whole machine, in USD per hour. */
  priceHr: number;
  /** Machine and disk. */
  totalPriceHr: number;
}

const MAX_QUOTES = 1_000;
/** Well below the 24 hours that the service keeps a key for: a quote that is deployed again never rents again. */
const LASTS_MS = 3_600_000;

/**
 * Quotes that were given, by id. The id is the idempotency key of the deploy, so that one quote rents once, however often it is
 * deployed.
 */
export class Quotes {
  readonly #kept = new LRUCache<string, Quoted>({ max: MAX_QUOTES, ttl: LASTS_MS });

  /** Returns the id. */
  keep(quoted: Quoted): string {
    const id = randomUUID();
    this.#kept.set(id, quoted);
    return id;
  }

  /** Null when it is unknown or older than an hour. */
  find(id: string): Quoted | null {
    return this.#kept.get(id) ?? null;
  }
}
