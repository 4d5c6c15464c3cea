import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { Inventory } from './inventory.js';

/** Maximum number of shared results. Beyond that, each reader gets its own. */
const MAX_RESULTS = 500;

/** A result, along with the different result that it replaced. */
interface Shared<Result> {
  version: number;
  result: Result;
  before: Result | null;
}

/**
 * Public results shared by many streams. Each one is computed once per inventory change. As long as its content is
 * unchanged, it also remains the same object, so derived values can be cached with it.
 */
export class SharedResults<Result extends object> {
  readonly #inventory: Inventory;
  /** Results currently being computed, by key. */
  readonly #inProgress = new Map<string, { version: number; result: Promise<Result> }>();
  readonly #results = new LRUCache<string, Shared<Result>>({ max: MAX_RESULTS });

  constructor(inventory: Inventory) {
    this.#inventory = inventory;
  }

  /** Returns the current result of `find`. `key` identifies the result. */
  async get(key: string, find: () => Promise<Result>): Promise<Result> {
    await this.#inventory.current();
    const { version } = this.#inventory;
    const known = this.#results.get(key);
    if (known?.version === version) return known.result;
    const running = this.#inProgress.get(key);
    if (running?.version === version) return running.result;
    const result = this.#make(key, version, find);
    this.#inProgress.set(key, { version, result });
    try {
      return await result;
    } finally {
      if (this.#inProgress.get(key)?.result === result) this.#inProgress.delete(key);
    }
  }

  async #make(key: string, version: number, find: () => Promise<Result>): Promise<Result> {
    const found = await find();
    const latest = this.#results.get(key);
    if (latest !== undefined && isDeepStrictEqual(latest.result, found)) {
      latest.version = version;
      return latest.result;
    }
    this.#results.set(key, { version, result: found, before: latest?.result ?? null });
    return found;
  }

  /** Whether two results with the same key differ. */
  differ(key: string, one: Result, other: Result): boolean {
    if (one === other) return false;
    const known = this.#results.get(key);
    const isStep = known?.result === other && known.before === one;
    return isStep || !isDeepStrictEqual(one, other);
  }
}
