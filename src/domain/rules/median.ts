import type { Micro } from './money.js';

/** A listing's price per GPU-hour is a fraction: `priceMicro` for `numGpus` GPUs. */
export interface Listing {
  priceMicro: Micro;
  numGpus: bigint;
}

/** Prices above what a number holds exactly would be mixed up. */
const MAX_EXACT = BigInt(Number.MAX_SAFE_INTEGER);
/** Above any number of GPUs of a listing, so that a price and it make one number. */
const GPUS_BELOW = 2_048;
/** Listings are kept in pieces, so that there are never two copies of them. */
const PIECE = 512;

/**
 * Prices per GPU-hour of any number of listings, and those in their middle. Two million take a tenth of a second:
 * sorting fractions would block the process for seconds.
 */
export class ListingPrices {
  readonly #prices: Float64Array[] = [];
  readonly #gpus: Uint16Array[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** A price up to 1,000,000 USD, in micro-USD, for up to 1,024 GPUs. */
  add({ priceMicro, numGpus }: Listing): void {
    if (priceMicro * BigInt(GPUS_BELOW) > MAX_EXACT || numGpus >= BigInt(GPUS_BELOW))
      throw new RangeError('no listing');
    const place = this.#count % PIECE;
    if (place === 0) {
      this.#prices.push(new Float64Array(PIECE));
      this.#gpus.push(new Uint16Array(PIECE));
    }
    this.#prices.at(-1)![place] = Number(priceMicro);
    this.#gpus.at(-1)![place] = Number(numGpus);
    this.#count += 1;
  }

  /** The listing in the middle, or the two beside it. There must be one. */
  middle(): [low: Listing, high: Listing] {
    // Rounding keeps the order of fractions: only those that are rounded to the same number need a closer look.
    const rounded = new Float64Array(this.#count);
    for (let index = 0; index < this.#count; index += 1) rounded[index] = this.#priceOf(index) / this.#gpusOf(index);
    const [low, high] = [(this.count - 1) >> 1, this.count >> 1];
    return [this.#at(low, selected(rounded, low)), this.#at(high, selected(rounded, high))];
  }

  #priceOf(index: number): number {
    return this.#prices[Math.floor(index / PIECE)]![index % PIECE]!;
  }

  #gpusOf(index: number): number {
    return this.#gpus[Math.floor(index / PIECE)]![index % PIECE]!;
  }

  /** The listing at a place of the order, which is rounded to `value`. */
  #at(place: number, value: number): Listing {
    let before = 0;
    const alike = new Map<number, number>();
    for (let index = 0; index < this.count; index += 1) {
      const [price, gpus] = [this.#priceOf(index), this.#gpusOf(index)];
      const found = price / gpus;
      if (found < value) before += 1;
      if (found !== value) continue;
      const key = price * GPUS_BELOW + gpus;
      alike.set(key, (alike.get(key) ?? 0) + 1);
    }
    const sorted = Array.from(alike, ([key, times]) => ({ listing: listingOf(key), times }));
    sorted.sort((one, other) => compare(one.listing, other.listing));
    for (const { listing, times } of sorted) {
      before += times;
      if (place < before) return listing;
    }
    throw new RangeError('no such place');
  }
}

function listingOf(key: number): Listing {
  const gpus = key % GPUS_BELOW;
  return { priceMicro: BigInt((key - gpus) / GPUS_BELOW), numGpus: BigInt(gpus) };
}

function compare(one: Listing, other: Listing): number {
  const difference = one.priceMicro * other.numGpus - other.priceMicro * one.numGpus;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** The value that sorting would put at `place`. Rearranges the values (Hoare's selection, from the middle). */
function selected(values: Float64Array, place: number): number {
  let [left, right] = [0, values.length - 1];
  while (left < right) {
    const pivot = values[(left + right) >>> 1]!;
    let [low, high] = [left, right];
    while (low <= high) {
      while (values[low]! < pivot) low += 1;
      while (values[high]! > pivot) high -= 1;
      if (low > high) break;
      const swapped = values[low]!;
      values[low] = values[high]!;
      values[high] = swapped;
      low += 1;
      high -= 1;
    }
    if (place <= high) right = high;
    else if (place >= low) left = low;
    else break;
  }
  return values[place]!;
}
