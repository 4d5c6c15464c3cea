import { LRUCache } from 'lru-cache';
import TinyQueue from 'tinyqueue';
import type { Rate } from '../kernel/money.js';
import { hostIdOf } from '../kernel/slices.js';
import { GroupSet, type Priced } from './group-set.js';
import { type Entry, HostTable } from './host-table.js';
import { countLeading, OfferGroup, ownGpusOf, RankedGroup } from './offer-group.js';
import {
  type GroupKey,
  type GroupTraits,
  groupKeyOf,
  type Offer,
  type OfferedHost,
  offerOf,
  type PricedModel,
  smallerOf,
  traitsOf,
} from './rules/offer.js';
import type { OfferCriteria } from './rules/offer-filter.js';
import {
  BY_PRICE,
  compareRanked,
  type GroupPrice,
  type OfferOrder,
  type OfferPosition,
  type Ranked,
} from './rules/offer-order.js';

/**
 * Selects up to `limit` offers strictly between two positions. A null position stands for the start or the end of the
 * list.
 */
export interface OfferRange {
  after: OfferPosition | null;
  before: OfferPosition | null;
  limit: number;
  /** Whether to take the last `limit` offers instead of the first. */
  fromEnd: boolean;
}

/** The offers [from, to) of a group, not all of which have to match. The range shrinks as offers are taken from it. */
interface GroupSlice<Group extends RankedGroup = RankedGroup> {
  group: Priced<Group>;
  from: number;
  to: number;
}

/**
 * Maximum number of cached lists of cheapest offers, and maximum number of offers in all of these lists combined. An
 * empty list counts as one offer.
 */
const MAX_LISTS = 2_000;
const MAX_LISTED = 20_000;

/** A machine's entry in one of its groups. */
interface Place {
  group: RankedGroup;
  entry: Entry;
}

/**
 * An index of machines by group. All machines in a group have the same price. The cost of a search depends on the
 * number of groups (models × sizes × regions), of which there are about a thousand for a hundred thousand machines.
 * Hosts are stored as objects and their blocks as numbers. Offers are built only when needed and never change.
 */
export class OfferIndex {
  #models: ReadonlyMap<string, PricedModel>;
  readonly #hosts = new HostTable();
  readonly #groups = new GroupSet<OfferGroup>();
  /**
   * The same machines, additionally grouped by the size of the block that a rental would split. Only `best` needs this
   * order. Other searches use `#groups`, which has only a third as many groups. Groups of hosts that are rented as a
   * whole are shared with `#groups`, because such rentals never split a block.
   */
  readonly #byBreaks = new GroupSet<RankedGroup>();
  readonly #cheapest = new LRUCache<string, readonly Offer[]>({
    max: MAX_LISTS,
    maxSize: MAX_LISTED,
    sizeCalculation: ({ length }) => Math.max(length, 1),
  });
  readonly #availableGpus = new Map<string, number>();
  readonly #offersOf = new Map<string, number>();

  /** Builds the index. `models` is keyed by slug. Machines of other models are not offered. */
  constructor(models: ReadonlyMap<string, PricedModel>, hosts: Iterable<OfferedHost> = []) {
    this.#models = models;
    // Sorted first, because inserting machines one at a time would repeatedly move all the machines after them.
    const members = new Map<RankedGroup, Entry[]>();
    for (const host of hosts) {
      for (const { group, entry } of this.#add(host)) {
        const known = members.get(group);
        if (known === undefined) members.set(group, [entry]);
        else known.push(entry);
      }
    }
    for (const [group, entries] of members) group.fill(entries);
  }

  /** Returns how many of a model's GPUs are in offers without a running instance. Each GPU is counted once. */
  availableGpus(gpu: string): number {
    return this.#models.has(gpu) ? (this.#availableGpus.get(gpu) ?? 0) : 0;
  }

  /** Returns how many of a model's offers have no running instance. */
  offersOf(gpu: string): number {
    return this.#models.has(gpu) ? (this.#offersOf.get(gpu) ?? 0) : 0;
  }

  /** Returns the host as it was added, or null if it isn't in the index. */
  host(hostId: string): OfferedHost | null {
    return this.#hosts.get(hostId);
  }

  /** Returns the ids of all hosts, including those whose model has no price. */
  hostIds(): Iterable<string> {
    return this.#hosts.ids();
  }

  /** Applies new prices to the existing machines. */
  reprice(models: ReadonlyMap<string, PricedModel>): void {
    this.#models = models;
    this.#forgetLists();
    for (const groups of [this.#groups, this.#byBreaks]) groups.reprice((key) => this.#traitsOf(key));
  }

  /** Returns a machine's offer, or null if the machine isn't offered. */
  offerOf(machineId: string): Offer | null {
    const found = this.#find(machineId);
    if (found === null) return null;
    const block = found.layout.blocks.find(({ suffix }) => found.hostId + suffix === machineId);
    if (block === undefined) return null;
    const key = groupKeyOf(found, block);
    const traits = key === null ? null : this.#groupOf(found, key).traits;
    return traits === null ? null : offerOf(found, block, traits.preemptible, traits.pricePerHour);
  }

  /** Adds a host's machines, or moves them to their new positions. */
  put(host: OfferedHost): void {
    this.remove(host.hostId);
    for (const { group, entry } of this.#add(host)) group.put(entry);
  }

  remove(hostId: string): void {
    this.#forgetLists();
    const host = this.#hosts.get(hostId);
    const first = this.#hosts.entryOf(hostId);
    if (host === null || first === null) return;
    for (const { group, entry } of this.#placesOf(host, first, -1)) group.remove(entry);
    this.#hosts.remove(hostId);
  }

  /**
   * Returns the cheapest matching offers that cost at most `priceMax` for the whole machine on demand. `name`
   * identifies the criteria, and results are cached under it until the next change. Because offers are sorted by price,
   * searches with different maximum prices can use the same cached list, cut off at different points.
   */
  cheapest(name: string, criteria: () => OfferCriteria, priceMax: Rate | null, limit: number): readonly Offer[] {
    const key = `${limit} ${name}`;
    const known = this.#cheapest.get(key);
    const offers = known ?? this.#firstByPrice(criteria(), limit);
    if (known === undefined) this.#cheapest.set(key, offers);
    if (priceMax === null) return offers;
    return offers.slice(
      0,
      countLeading(offers.length, (place) => offers[place]!.pricePerHour.onDemand <= priceMax),
    );
  }

  /** Returns the first matching offers in the given order, skipping the `excluded` machines. */
  best(criteria: OfferCriteria, order: OfferOrder, limit: number, excluded: ReadonlySet<string>): Offer[] {
    const slices = [...slicesOf(this.#byBreaks.by(BY_PRICE, criteria), criteria)];
    slices.sort((one, other) => order.first(one.group.traits, other.group.traits));
    return firstOf(slices, criteria, order, { limit, excluded });
  }

  /**
   * Returns a page of matching offers, along with the number of all matching offers (`total`) and of those before the
   * page. The sorted groups are cached for each `order`, so callers should use only a small, fixed set of orders.
   */
  search(criteria: OfferCriteria, order: OfferOrder<GroupPrice>, { after, before, limit, fromEnd }: OfferRange) {
    const between: GroupSlice<OfferGroup>[] = [];
    let [total, preceding] = [0, 0];
    for (const { group, to: end } of slicesOf(this.#groups.by(order, criteria), criteria)) {
      const from = after === null ? 0 : countUpTo(after, group, end, order, true);
      const to = before === null ? end : countUpTo(before, group, end, order, false);
      const pageSide = fromEnd ? to : from;
      const passed = group.countFitting(criteria.sizeMin, 0, pageSide);
      preceding += passed;
      total += passed + group.countFitting(criteria.sizeMin, pageSide, end);
      if (from < to) between.push({ group, from, to });
    }
    if (!fromEnd) return { offers: firstOf(between, criteria, order, { limit }), total, preceding };
    const offers = firstOf(between.reverse(), criteria, order, { limit, isBackwards: true }).reverse();
    return { offers, total, preceding: preceding - offers.length };
  }

  /**
   * Counts the GPUs in the matching offers by model or by region. Each GPU is counted once. Models and regions without
   * matching GPUs are omitted.
   */
  gpusBy(kind: 'gpu' | 'region', criteria: OfferCriteria): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { group, to } of slicesOf(this.#groups.by(BY_PRICE, criteria), criteria)) {
      const of = group.key[kind];
      const isWanted = (numGpus: number) => criteria.fitsGroup(smallerOf(group.traits, numGpus));
      const gpus = group.countGpus(criteria.sizeMin, to, isWanted);
      if (gpus > 0) counts.set(of, (counts.get(of) ?? 0) + gpus);
    }
    return counts;
  }

  /**
   * Clears the cached lists unless they are already empty. Clearing an empty cache takes as long as clearing a full
   * one, and hosts are added by the thousand.
   */
  #forgetLists(): void {
    if (this.#cheapest.size > 0) this.#cheapest.clear();
  }

  #firstByPrice(criteria: OfferCriteria, limit: number): readonly Offer[] {
    return firstOf(slicesOf(this.#groups.by(BY_PRICE, criteria), criteria), criteria, BY_PRICE, { limit });
  }

  #add(host: OfferedHost): Place[] {
    this.#forgetLists();
    return this.#placesOf(host, this.#hosts.add(host), 1);
  }

  /** Returns a host's offered blocks with their groups, and adjusts the counts. */
  #placesOf(host: OfferedHost, first: Entry, by: 1 | -1): Place[] {
    const places: Place[] = [];
    host.layout.blocks.forEach((block, place) => {
      const key = groupKeyOf(host, block);
      if (key === null) return;
      const entry = first + place;
      places.push({ group: this.#groupOf(host, key), entry });
      if (isSliced(host)) places.push({ group: this.#groupByBreaks(key), entry });
      if (!key.preemptible) this.#count(block.gpu, by * ownGpusOf(host, block), by);
    });
    return places;
  }

  #groupOf(host: OfferedHost, key: GroupKey): OfferGroup {
    const text = `${textOf(key)}${isSliced(host) ? '' : ' whole'}`;
    const known = this.#groups.get(text);
    if (known !== undefined) return known;
    const alike = { ...key, breaks: 0 };
    const group = new OfferGroup(alike, this.#traitsOf(alike), this.#hosts);
    this.#groups.set(text, group);
    if (!isSliced(host)) this.#byBreaks.set(text, group);
    return group;
  }

  #groupByBreaks(key: GroupKey): RankedGroup {
    const text = `${textOf(key)} ${key.breaks}`;
    const known = this.#byBreaks.get(text);
    if (known !== undefined) return known;
    const group = new RankedGroup(key, this.#traitsOf(key), this.#hosts);
    this.#byBreaks.set(text, group);
    return group;
  }

  /** Returns the host that the machine belongs to, or null if there is none. */
  #find(machineId: string): OfferedHost | null {
    const whole = this.#hosts.get(machineId);
    if (whole !== null) return whole;
    const hostId = hostIdOf(machineId);
    return hostId === null ? null : this.#hosts.get(hostId);
  }

  #traitsOf(key: GroupKey): GroupTraits | null {
    const model = this.#models.get(key.gpu);
    return model === undefined ? null : traitsOf(key, model);
  }

  #count(gpu: string, gpus: number, machines: number): void {
    this.#availableGpus.set(gpu, (this.#availableGpus.get(gpu) ?? 0) + gpus);
    this.#offersOf.set(gpu, (this.#offersOf.get(gpu) ?? 0) + machines);
  }
}

/** Returns the key as a string. None of its fields contains a line break. */
function textOf({ gpu, region, numGpus, nvlink, preemptible, hasAgent, fuse }: GroupKey): string {
  return `${gpu}\n${region}\n${numGpus} ${nvlink} ${preemptible} ${hasAgent} ${fuse}`;
}

/** Whether a rental can split a block. This is impossible on a host that is rented as a whole. */
function isSliced({ layout: { blocks, numGpus } }: OfferedHost): boolean {
  return blocks.length > 1 || blocks[0]?.count !== numGpus;
}

/** Yields the sufficiently reliable offers of each matching group. Within a group, these always come first. */
function* slicesOf<Group extends RankedGroup>(
  groups: Iterable<Priced<Group>>,
  { fitsGroup, reliabilityMin, sizeMin }: OfferCriteria,
): Generator<GroupSlice<Group>> {
  for (const group of groups) {
    const { traits, length } = group;
    if (length === 0 || !fitsGroup(traits) || !group.mayFit(sizeMin)) continue;
    const isReliable = (place: number) => group.reliabilityAt(place) >= reliabilityMin;
    const to = reliabilityMin === 0 ? length : countLeading(length, isReliable);
    if (to > 0) yield { group, from: 0, to };
  }
}

/**
 * Counts how many of a group's first `end` offers come before a position. An offer at the position counts if
 * `isIncluded`.
 */
function countUpTo(
  position: OfferPosition,
  group: Priced<RankedGroup>,
  end: number,
  order: OfferOrder<GroupPrice>,
  isIncluded: boolean,
): number {
  const first = order.first(group.traits, position);
  if (first !== 0) return first < 0 ? end : 0;
  const thenBy = order.thenBy(group.traits, position);
  return countLeading(end, (place) => {
    const difference = compareRanked(group.rankedAt(place), position, thenBy);
    return difference < 0 || (isIncluded && difference === 0);
  });
}

interface Taking {
  limit: number;
  /** Machines to skip. */
  excluded?: ReadonlySet<string>;
  isBackwards?: boolean;
}

/** A slice and its next offer. */
interface Head {
  slice: GroupSlice;
  ranked: Ranked;
}

/** Minimum number of slices per wanted offer. With fewer slices, filtering them costs more than it saves. */
const MANY_SLICES = 20;

/**
 * Reduces many equally ranked slices to those that can contribute to the first `limit` offers, assuming that all their
 * offers match. A slice can be dropped if at least `limit` other slices have an offer that is more reliable than any of
 * its own.
 */
function contendersOf(slices: GroupSlice[], limit: number, isBackwards: boolean): GroupSlice[] {
  const some = slices.filter(({ from, to }) => from < to);
  if (some.length <= MANY_SLICES * limit) return some;
  const heads = Float64Array.from(some, ({ group, from, to }) =>
    isBackwards ? -group.reliabilityAt(to - 1) : group.reliabilityAt(from),
  );
  const least = Float64Array.from(heads).sort()[heads.length - limit]!;
  return some.filter((_slice, place) => heads[place]! >= least);
}

/**
 * Returns the first matching offers from sorted slices, reading no more of each slice than necessary. If `isBackwards`,
 * the slices are in reverse order and the last offers are returned. The slices are narrowed in the process.
 */
function firstOf(
  slices: Iterable<GroupSlice>,
  { sizeMin }: OfferCriteria,
  order: OfferOrder,
  { limit, excluded, isBackwards = false }: Taking,
): Offer[] {
  const taken: Offer[] = [];
  const areAllTaken = sizeMin === null && (excluded === undefined || excluded.size === 0);
  const headPlace = ({ from, to }: GroupSlice) => (isBackwards ? to - 1 : from);
  const dropHead = (slice: GroupSlice) => {
    if (isBackwards) slice.to -= 1;
    else slice.from += 1;
  };
  /** Advances to a slice's next matching offer. Returns false if there is none. */
  const hasMore = (slice: GroupSlice) => {
    for (; slice.from < slice.to; dropHead(slice)) {
      const place = headPlace(slice);
      if (slice.group.fitsAt(place, sizeMin) && !excluded?.has(slice.group.rankedAt(place).machineId)) return true;
    }
    return false;
  };
  const headOf = (slice: GroupSlice): Head => ({ slice, ranked: slice.group.rankedAt(headPlace(slice)) });
  const compareHeads = (one: Head, other: Head) => {
    const thenBy = order.thenBy(one.slice.group.traits, other.slice.group.traits);
    return (isBackwards ? -1 : 1) * compareRanked(one.ranked, other.ranked, thenBy);
  };
  /** Merges slices whose groups are ranked equally by `first`. */
  const takeFrom = (all: GroupSlice[]) => {
    const alike = areAllTaken ? contendersOf(all, limit - taken.length, isBackwards) : all;
    const heads = new TinyQueue(alike.filter(hasMore).map(headOf), compareHeads);
    for (let next = heads.pop(); next !== undefined && taken.length < limit; next = heads.pop()) {
      const { slice } = next;
      const rival = heads.peek();
      do {
        taken.push(slice.group.offerAt(headPlace(slice)));
        dropHead(slice);
      } while (
        taken.length < limit &&
        hasMore(slice) &&
        (rival === undefined || compareHeads(headOf(slice), rival) < 0)
      );
      if (hasMore(slice)) heads.push(headOf(slice));
    }
  };
  let alike: GroupSlice[] = [];
  for (const slice of slices) {
    const first = alike[0];
    if (first !== undefined && order.first(first.group.traits, slice.group.traits) !== 0) {
      takeFrom(alike);
      if (taken.length === limit) return taken;
      alike = [];
    }
    alike.push(slice);
  }
  takeFrom(alike);
  return taken;
}
