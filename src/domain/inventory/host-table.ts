import { LRUCache } from 'lru-cache';
import type { LaidBlock } from '../rules/layout.js';
import { type GroupTraits, type Offer, type OfferedHost, offerOf } from '../rules/offer.js';

/** A block of a kept host as one number: 100,000 hosts of eight have 1.5 million of them. */
export type Entry = number;

/** More than a host of eight GPUs has blocks. */
const BLOCKS_BITS = 5;
const BLOCK = (1 << BLOCKS_BITS) - 1;

/** Offers that are kept: they are made again where there are more. */
const MAX_OFFERS = 5_000;

/** Hosts by id, each with a number that is its own while it is kept. */
export class HostTable {
  readonly #hosts: OfferedHost[] = [];
  readonly #numbers = new Map<string, number>();
  /** Numbers of hosts that are gone. */
  readonly #free: number[] = [];
  readonly #offers = new LRUCache<Entry, Offer>({ max: MAX_OFFERS });

  get(hostId: string): OfferedHost | null {
    const number = this.#numbers.get(hostId);
    return number === undefined ? null : this.#hosts[number]!;
  }

  ids(): Iterable<string> {
    return this.#numbers.keys();
  }

  /** Returns the entry of the host's first block; those of the others follow. */
  add(host: OfferedHost): Entry {
    const number = this.#free.pop() ?? this.#hosts.length;
    this.#hosts[number] = host;
    this.#numbers.set(host.hostId, number);
    return number << BLOCKS_BITS;
  }

  /** The entry of its first block; null when it is not kept. */
  entryOf(hostId: string): Entry | null {
    const number = this.#numbers.get(hostId);
    return number === undefined ? null : number << BLOCKS_BITS;
  }

  /** Its number may be another's from now on. */
  remove(hostId: string): void {
    const first = this.entryOf(hostId)!;
    this.hostAt(first).layout.blocks.forEach((_block, place) => {
      this.#offers.delete(first + place);
    });
    this.#free.push(this.#numbers.get(hostId)!);
    this.#numbers.delete(hostId);
  }

  hostAt(entry: Entry): OfferedHost {
    return this.#hosts[entry >>> BLOCKS_BITS]!;
  }

  blockAt(entry: Entry): LaidBlock {
    return this.hostAt(entry).layout.blocks[entry & BLOCK]!;
  }

  /** The same object again while neither its host nor its price has changed: what is made of it can be kept with it. */
  offerAt(entry: Entry, { preemptible, pricePerHour }: GroupTraits): Offer {
    const known = this.#offers.get(entry);
    if (known?.pricePerHour === pricePerHour && known.preemptible === preemptible) return known;
    const offer = offerOf(this.hostAt(entry), this.blockAt(entry), preemptible, pricePerHour);
    this.#offers.set(entry, offer);
    return offer;
  }
}
