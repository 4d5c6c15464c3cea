import type { Rate } from './rules/money.js';
import { type ModeRates, modeRates } from './rules/price-rule.js';

export interface Offer {
  machineId: string;
  gpu: string;
  numGpus: number;
  region: string;
  cpu: string;
  vcpus: number;
  ramGb: number;
  /** What is left for a new disk. */
  diskGb: number;
  netMbps: { down: number; up: number };
  ports: number;
  pcie: number;
  nvlink: boolean;
  cudaMax: string;
  reliability: number;
  preemptible: boolean;
  demo: boolean;
  /** The whole machine. */
  pricePerHour: ModeRates;
}

/** Offers of one price: machines of the same model, size and place. */
interface Shelf {
  gpu: string;
  region: string;
  numGpus: number;
  preemptible: boolean;
  /** Of the whole machine; one object for all its offers. */
  pricePerHour: ModeRates;
  /** More reliable first, then by machine id. */
  offers: Offer[];
}

export type OfferedMachine = Omit<Offer, 'pricePerHour'>;

/** Checked bounds; null asks for nothing. */
export interface WantedShelf {
  gpu: string | null;
  region: string | null;
  numMin: number;
  priceMax: Rate | null;
  includePreemptible: boolean;
}

/** Offers by price, so that the cheapest are found without looking at the rest. */
export class OfferIndex {
  readonly #rates: ReadonlyMap<string, Rate>;
  readonly #offers = new Map<string, Offer>();
  readonly #shelves = new Map<string, Shelf>();
  readonly #availableGpus = new Map<string, number>();
  /** Made when asked for: shelves are few and seldom new. */
  #byPrice: Map<string | null, Shelf[]> | null = null;

  /** GPUs of a model that can be deployed without stopping anything. */
  availableGpus(gpu: string): number {
    return this.#availableGpus.get(gpu) ?? 0;
  }

  /** `rates` are USD per GPU-hour on demand by model: a machine of a model without one is no offer. */
  constructor(rates: ReadonlyMap<string, Rate>, machines: Iterable<OfferedMachine> = []) {
    this.#rates = rates;
    for (const machine of machines) this.#add(machine, (offers) => offers.length);
    for (const { offers } of this.#shelves.values()) offers.sort(compareOffers);
  }

  /** Puts a machine in, or in its new place. */
  put(machine: OfferedMachine): void {
    this.remove(machine.machineId);
    this.#add(machine, placeOf);
  }

  remove(machineId: string): void {
    const offer = this.#offers.get(machineId);
    if (offer === undefined) return;
    const { offers } = this.#shelves.get(shelfKey(offer))!;
    offers.splice(placeOf(offers, offer), 1);
    this.#offers.delete(machineId);
    if (!offer.preemptible) this.#count(offer.gpu, -offer.numGpus);
  }

  /** Cheapest first, then more reliable, then by machine id. */
  cheapest(wanted: WantedShelf, limit: number): Offer[] {
    const found: Offer[] = [];
    let equal: Shelf[] = [];
    const takeEqual = () => {
      const offers = equal.flatMap((shelf) => shelf.offers.slice(0, limit - found.length));
      if (equal.length > 1) offers.sort(compareOffers);
      found.push(...offers.slice(0, limit - found.length));
      equal = [];
    };
    for (const shelf of this.#shelvesByPrice().get(wanted.gpu) ?? []) {
      if (shelf.offers.length === 0 || !fits(shelf, wanted)) continue;
      const price = shelf.pricePerHour.onDemand;
      if (equal.length > 0 && equal[0]!.pricePerHour.onDemand !== price) takeEqual();
      if (found.length === limit) return found;
      equal.push(shelf);
    }
    takeEqual();
    return found;
  }

  #add(machine: OfferedMachine, placeIn: typeof placeOf): void {
    const rate = this.#rates.get(machine.gpu);
    if (rate === undefined) return;
    const shelf = this.#shelfOf(machine, rate);
    const offer = { ...machine, pricePerHour: shelf.pricePerHour };
    shelf.offers.splice(placeIn(shelf.offers, offer), 0, offer);
    this.#offers.set(offer.machineId, offer);
    if (!offer.preemptible) this.#count(offer.gpu, offer.numGpus);
  }

  #shelfOf(machine: OfferedMachine, rate: Rate): Shelf {
    const key = shelfKey(machine);
    const known = this.#shelves.get(key);
    if (known !== undefined) return known;
    const { gpu, region, numGpus, preemptible } = machine;
    const pricePerHour = modeRates(rate * BigInt(numGpus));
    const shelf: Shelf = { gpu, region, numGpus, preemptible, pricePerHour, offers: [] };
    this.#shelves.set(key, shelf);
    this.#byPrice = null;
    return shelf;
  }

  /** The shelves of each model, and under null all, in order of price. */
  #shelvesByPrice(): Map<string | null, Shelf[]> {
    if (this.#byPrice !== null) return this.#byPrice;
    const sorted = [...this.#shelves.values()].sort((a, b) =>
      compare(a.pricePerHour.onDemand, b.pricePerHour.onDemand),
    );
    const groups = new Map<string | null, Shelf[]>([[null, sorted]]);
    for (const shelf of sorted) groups.set(shelf.gpu, [...(groups.get(shelf.gpu) ?? []), shelf]);
    this.#byPrice = groups;
    return groups;
  }

  #count(gpu: string, gpus: number): void {
    this.#availableGpus.set(gpu, this.availableGpus(gpu) + gpus);
  }
}

function fits(shelf: Shelf, { region, numMin, priceMax, includePreemptible }: WantedShelf): boolean {
  return (
    shelf.numGpus >= numMin &&
    (region === null || shelf.region === region) &&
    (priceMax === null || shelf.pricePerHour.onDemand <= priceMax) &&
    (includePreemptible || !shelf.preemptible)
  );
}

function shelfKey(offer: Pick<Offer, 'gpu' | 'region' | 'numGpus' | 'preemptible'>): string {
  return JSON.stringify([offer.gpu, offer.region, offer.numGpus, offer.preemptible]);
}

type Placed = Pick<Offer, 'reliability' | 'machineId'>;

function compareOffers(a: Placed, b: Placed): number {
  return b.reliability - a.reliability || compare(a.machineId, b.machineId);
}

function compare<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Where an offer stands, or would stand. */
function placeOf(offers: readonly Placed[], offer: Placed): number {
  let [low, high] = [0, offers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareOffers(offers[middle]!, offer) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
