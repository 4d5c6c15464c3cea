import { LRUCache } from 'lru-cache';
import type { LayoutBlock } from './rules/layout.js';
import { type GroupTraits, type Offer, type OfferedHost, offerOf } from './rules/offer.js';

/**
 * Identifies a block on a stored host. It is a single number to save memory, because 100,000 hosts with eight GPUs each
 * have 1.5 million blocks.
 */
export type Entry = number;

/** Number of bits in a block's index. This is more than enough for all blocks on a host with eight GPUs. */
const BLOCKS_BITS = 5;
const BLOCK = (1 << BLOCKS_BITS) - 1;

/** Maximum number of cached offers. Other offers are rebuilt when needed. */
const MAX_OFFERS = 5_000;

/** Hosts by id. Each stored host has a unique number. */
export class HostTable {
  readonly #hosts: OfferedHost[] = [];
  readonly #numbers = new Map<string, number>();
  /** Numbers of removed hosts, available for reuse. */
  readonly #free: number[] = [];
  readonly #offers = new LRUCache<Entry, Offer>({ max: MAX_OFFERS });

  get(hostId: string): OfferedHost | null {
    const number = this.#numbers.get(hostId);
    return number === undefined ? null : this.hostAt(number << BLOCKS_BITS);
  }

  ids(): Iterable<string> {
    return this.#numbers.keys();
  }

  /** Adds a host. Returns the entry of its first block, which is followed by the entries of its other blocks. */
  add(host: OfferedHost): Entry {
    const number = this.#free.pop() ?? this.#hosts.length;
    this.#hosts[number] = host;
    this.#numbers.set(host.hostId, number);
    return number << BLOCKS_BITS;
  }

  /** Returns the entry of a host's first block, or null if the host isn't stored. */
  entryOf(hostId: string): Entry | null {
    const number = this.#numbers.get(hostId);
    return number === undefined ? null : number << BLOCKS_BITS;
  }

  /** Removes a host. Its number may be reused. */
  remove(hostId: string): void {
    const number = this.#numbers.get(hostId);
    if (number === undefined) return;
    const first = number << BLOCKS_BITS;
    this.hostAt(first).layout.blocks.forEach((_block, place) => {
      this.#offers.delete(first + place);
    });
    this.#free.push(number);
    this.#numbers.delete(hostId);
  }

  hostAt(entry: Entry): OfferedHost {
    return this.#hosts[entry >>> BLOCKS_BITS]!;
  }

  blockAt(entry: Entry): LayoutBlock {
    return this.hostAt(entry).layout.blocks[entry & BLOCK]!;
  }

  /**
   * Returns a block's offer. The object stays the same until the host or its price changes, so derived data can be
   * cached with it.
   */
  offerAt(entry: Entry, { preemptible, pricePerHour }: GroupTraits): Offer {
    const known = this.#offers.get(entry);
    if (known?.pricePerHour === pricePerHour && known.preemptible === preemptible) return known;
    const offer = offerOf(this.hostAt(entry), this.blockAt(entry), preemptible, pricePerHour);
    this.#offers.set(entry, offer);
    return offer;
  }
}
