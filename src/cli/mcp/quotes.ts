import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** A quoted rental, as the deploy tool accepts it. */
export interface Quoted {
  machineId: string;
  template: string;
  diskGb: number;
  mode: string;
  launch: object | undefined;
  /** When it ends automatically; a duration counts from the deploy. */
  stopAt: string | undefined;
  destroyAt: string | undefined;
  /** Spending limit in total, in USD. */
  spendLimit: number | undefined;
  /** Idle time in minutes. */
  stopWhenIdle: number | undefined;
  volumes: readonly { id: string; path: string }[] | undefined;
  /** Price of the whole machine, in USD per hour. */
  priceHr: number;
  /** Price of machine and disk. */
  totalPriceHr: number;
}

const MAX_QUOTES = 1_000;
/** Far below the 24 hours that the service keeps a key, so that a repeated deploy of a quote never rents again. */
const LIFETIME_MS = 3_600_000;

/**
 * Quotes by id. The id is the idempotency key of the deploy, so that a quote rents only once, however often it is
 * deployed.
 */
export class Quotes {
  readonly #kept = new LRUCache<string, Quoted>({ max: MAX_QUOTES, ttl: LIFETIME_MS });

  /** Keeps a quote and returns its id. */
  keep(quoted: Quoted): string {
    const id = randomUUID();
    this.#kept.set(id, quoted);
    return id;
  }

  /** Returns a quote; null if it is unknown or older than an hour. */
  find(id: string): Quoted | null {
    return this.#kept.get(id) ?? null;
  }
}
