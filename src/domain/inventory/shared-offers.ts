import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { Offer } from '../rules/offer.js';
import type { Inventory } from './inventory.js';

/** More different lists are made anew for each that asks. */
const MAX_LISTS = 500;

/** A list of offers, and the different one that it took the place of. */
interface Shared {
  version: number;
  offers: Offer[];
  before: Offer[] | null;
}

/**
 * Lists of offers that many follow: made once for each change of the inventory, and the same object for as long as
 * nothing in it differs, so that what is made of it can be kept with it.
 */
export class SharedOffers {
  readonly #inventory: Inventory;
  readonly #lists = new LRUCache<string, Shared>({ max: MAX_LISTS });

  constructor(inventory: Inventory) {
    this.#inventory = inventory;
  }

  /** The list that `find` gives by now; `key` stands for it. */
  async get(key: string, find: () => Promise<Offer[]>): Promise<Offer[]> {
    await this.#inventory.current();
    const { version } = this.#inventory;
    const known = this.#lists.get(key);
    if (known?.version === version) return known.offers;
    const found = await find();
    const latest = this.#lists.get(key);
    if (latest !== undefined && isDeepStrictEqual(latest.offers, found)) {
      latest.version = version;
      return latest.offers;
    }
    this.#lists.set(key, { version, offers: found, before: latest?.offers ?? null });
    return found;
  }

  /** Whether two lists of one key differ. */
  differ(key: string, one: Offer[], other: Offer[]): boolean {
    if (one === other) return false;
    const known = this.#lists.get(key);
    const isStep = known?.offers === other && known.before === one;
    return isStep || !isDeepStrictEqual(one, other);
  }
}
