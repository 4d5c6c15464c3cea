import TinyQueue from 'tinyqueue';
import type { Rate } from '../rules/money.js';
import { type GroupTraits, type Offer, type OfferedMachine, type PricedModel, traitsOf } from '../rules/offer.js';
import type { OfferCriteria } from '../rules/offer-filter.js';
import { BY_PRICE, compareRanked, type GroupPrice, type OfferOrder, type OfferPosition } from '../rules/offer-order.js';
import type { ModeRates } from '../rules/price-rule.js';

/** Offers with the same traits. */
interface OfferGroup {
  traits: GroupTraits;
  /** More reliable first, then by machine id. */
  offers: Offer[];
}

/** Groups in an order. */
interface SortedGroups {
  all: readonly OfferGroup[];
  byGpu: ReadonlyMap<string, readonly OfferGroup[]>;
  byRegion: ReadonlyMap<string, readonly OfferGroup[]>;
}

/** At most `limit` of the offers between two positions, neither included; null: from the beginning, to the end. */
export interface OfferRange {
  after: OfferPosition | null;
  before: OfferPosition | null;
  limit: number;
  /** The last `limit` of them rather than the first. */
  fromEnd: boolean;
}

/** A slice [from, to) of a group's offers, of which those that fit count; taking offers from it narrows it. */
interface GroupSlice {
  group: OfferGroup;
  from: number;
  to: number;
}

/**
 * Offers in groups. The cost of a search depends on the number of groups (models × sizes × regions): about a thousand for
 * a hundred thousand machines.
 */
export class OfferIndex {
  readonly #models: ReadonlyMap<string, PricedModel>;
  readonly #offers = new Map<string, Offer>();
  readonly #groups = new Map<string, OfferGroup>();
  readonly #availableGpus = new Map<string, number>();
  /** Sorted when first needed, and again only after a new group: that is rare. */
  readonly #sorted = new Map<OfferOrder<GroupPrice>, SortedGroups>();

  /** GPUs of the model on machines where nothing runs. */
  availableGpus(gpu: string): number {
    return this.#availableGpus.get(gpu) ?? 0;
  }

  /** `models` by slug; a machine of any other model is no offer. */
  constructor(models: ReadonlyMap<string, PricedModel>, machines: Iterable<OfferedMachine> = []) {
    this.#models = models;
    // Built group by group: objects made together lie together in memory, and are scanned several times as fast.
    for (const members of groupBy(machines, groupKey).values()) {
      members.sort((one, other) => compareRanked(one, other));
      for (const machine of members) this.#add(machine, (offers) => offers.length);
    }
  }

  /** The offer of a machine; null when it is not offered. */
  offerOf(machineId: string): Offer | null {
    return this.#offers.get(machineId) ?? null;
  }

  /** Adds a machine, or moves it to its new place. */
  put(machine: OfferedMachine): void {
    this.remove(machine.machineId);
    this.#add(machine, placeOf);
  }

  remove(machineId: string): void {
    const offer = this.#offers.get(machineId);
    if (offer === undefined) return;
    const { offers } = this.#groups.get(groupKey(offer))!;
    offers.splice(placeOf(offers, offer), 1);
    this.#offers.delete(machineId);
    if (!offer.preemptible) this.#count(offer.gpu, -offer.numGpus);
  }

  /** The cheapest offers that fit and cost at most `priceMax`, the whole machine on demand. */
  cheapest(criteria: OfferCriteria, priceMax: Rate | null, limit: number): Offer[] {
    const isWithin = ({ traits }: OfferGroup) => priceMax === null || traits.pricePerHour.onDemand <= priceMax;
    const groups = this.#groupsBy(BY_PRICE, criteria);
    const within = groups.slice(0, countLeading(groups, isWithin));
    return firstOf(slicesOf(within, criteria), criteria, BY_PRICE, { limit });
  }

  /** The first offers that fit, in any order, leaving out `excluded` machines. */
  best(criteria: OfferCriteria, order: OfferOrder, limit: number, excluded: ReadonlySet<string>): Offer[] {
    const slices = [...slicesOf(this.#groupsBy(BY_PRICE, criteria), criteria)];
    slices.sort((one, other) => order.first(one.group.traits, other.group.traits));
    return firstOf(slices, criteria, order, { limit, excluded });
  }

  /**
   * A page of the offers that fit, with the number of all of them (`total`) and of those before the page. Machines are
   * judged one by one only when there is a `fitsMachine`: 100,000 in a few milliseconds. A sorting is kept for each
   * `order`, so callers use a few constant ones.
   */
  search(criteria: OfferCriteria, order: OfferOrder<GroupPrice>, { after, before, limit, fromEnd }: OfferRange) {
    const between: GroupSlice[] = [];
    let [total, preceding] = [0, 0];
    for (const { group, to: end } of slicesOf(this.#groupsBy(order, criteria), criteria)) {
      const from = after === null ? 0 : countUpTo(after, group, end, order, true);
      const to = before === null ? end : countUpTo(before, group, end, order, false);
      const pageSide = fromEnd ? to : from;
      const passed = countFitting(criteria, { group, from: 0, to: pageSide });
      preceding += passed;
      total += passed + countFitting(criteria, { group, from: pageSide, to: end });
      if (from < to) between.push({ group, from, to });
    }
    if (!fromEnd) return { offers: firstOf(between, criteria, order, { limit }), total, preceding };
    const offers = firstOf(between.reverse(), criteria, order, { limit, isBackwards: true }).reverse();
    return { offers, total, preceding: preceding - offers.length };
  }

  #add(machine: OfferedMachine, placeIn: typeof placeOf): void {
    const model = this.#models.get(machine.gpu);
    if (model === undefined) return;
    const { traits, offers } = this.#groupOf(machine, model);
    const offer = offerOf(machine, traits.pricePerHour);
    offers.splice(placeIn(offers, offer), 0, offer);
    this.#offers.set(offer.machineId, offer);
    if (!offer.preemptible) this.#count(offer.gpu, offer.numGpus);
  }

  #groupOf(machine: OfferedMachine, model: PricedModel): OfferGroup {
    const key = groupKey(machine);
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const group = { traits: traitsOf(machine, model), offers: [] };
    this.#groups.set(key, group);
    this.#sorted.clear();
    return group;
  }

  /** In order, all groups that can fit, and maybe others. */
  #groupsBy(order: OfferOrder<GroupPrice>, { gpu, region }: OfferCriteria): readonly OfferGroup[] {
    const { all, byGpu, byRegion } = this.#sorted.get(order) ?? this.#sort(order);
    const ofGpu = gpu === null ? all : (byGpu.get(gpu) ?? []);
    const ofRegion = region === null ? all : (byRegion.get(region) ?? []);
    return ofGpu.length < ofRegion.length ? ofGpu : ofRegion;
  }

  #sort(order: OfferOrder<GroupPrice>): SortedGroups {
    const all = [...this.#groups.values()].sort((one, other) => order.first(one.traits, other.traits));
    const byGpu = groupBy(all, ({ traits }) => traits.gpu);
    const sorted = { all, byGpu, byRegion: groupBy(all, ({ traits }) => traits.region) };
    this.#sorted.set(order, sorted);
    return sorted;
  }

  #count(gpu: string, gpus: number): void {
    this.#availableGpus.set(gpu, this.availableGpus(gpu) + gpus);
  }
}

/** Field by field: objects made by spreading may each have a shape of their own, slow to read and three times as large. */
function offerOf(machine: OfferedMachine, pricePerHour: ModeRates): Offer {
  const { machineId, gpu, numGpus, region, cpu, vcpus, ramGb, diskGb, netMbps } = machine;
  const { ports, pcie, nvlink, cudaMax, reliability, preemptible, demo } = machine;
  return {
    machineId,
    gpu,
    numGpus,
    region,
    cpu,
    vcpus,
    ramGb,
    diskGb,
    netMbps,
    ports,
    pcie,
    nvlink,
    cudaMax,
    reliability,
    preemptible,
    demo,
    pricePerHour,
  };
}

function groupKey(offer: OfferedMachine): string {
  return JSON.stringify([offer.gpu, offer.region, offer.numGpus, offer.nvlink, offer.preemptible]);
}

/** Where an offer stands in a group, or would stand. */
function placeOf(offers: readonly Offer[], offer: Offer): number {
  return countLeading(offers, (other) => compareRanked(other, offer) < 0);
}

/** Of each group that fits, the offers that are reliable enough: the first of the group. */
function* slicesOf(groups: Iterable<OfferGroup>, { fitsGroup, reliabilityMin }: OfferCriteria): Generator<GroupSlice> {
  const isReliable = ({ reliability }: Offer) => reliability >= reliabilityMin;
  for (const group of groups) {
    const { traits, offers } = group;
    if (offers.length === 0 || !fitsGroup(traits)) continue;
    const to = reliabilityMin === 0 ? offers.length : countLeading(offers, isReliable);
    if (to > 0) yield { group, from: 0, to };
  }
}

function countFitting({ fitsMachine }: OfferCriteria, { group, from, to }: GroupSlice): number {
  if (fitsMachine === null) return to - from;
  let count = 0;
  for (let place = from; place < to; place += 1) if (fitsMachine(group.offers[place]!)) count += 1;
  return count;
}

/** How many of the first `end` offers of a group come before a position, or at it if that `isIncluded`. */
function countUpTo(
  position: OfferPosition,
  { traits, offers }: OfferGroup,
  end: number,
  order: OfferOrder<GroupPrice>,
  isIncluded: boolean,
): number {
  const first = order.first(traits, position);
  if (first !== 0) return first < 0 ? end : 0;
  const thenBy = order.thenBy(traits, position);
  const isUpTo = (offer: Offer) => {
    const difference = compareRanked(offer, position, thenBy);
    return difference < 0 || (isIncluded && difference === 0);
  };
  return countLeading(offers, isUpTo, end);
}

/** How many entries at the start, of the first `end`, satisfy `holds`; all that do stand before all that don't. */
function countLeading<T>(list: readonly T[], holds: (entry: T) => boolean, end = list.length): number {
  let [low, high] = [0, end];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(list[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low;
}

interface Taking {
  limit: number;
  /** Machines to leave out. */
  excluded?: ReadonlySet<string>;
  isBackwards?: boolean;
}

/**
 * The first offers that fit, from slices in order, without looking at more than needed; backwards, the last ones from
 * slices in reverse order. Narrows the slices.
 */
function firstOf(
  slices: Iterable<GroupSlice>,
  { fitsMachine }: OfferCriteria,
  order: OfferOrder,
  { limit, excluded, isBackwards = false }: Taking,
): Offer[] {
  const taken: Offer[] = [];
  const headOf = ({ group, from, to }: GroupSlice) => group.offers[isBackwards ? to - 1 : from]!;
  const dropHead = (slice: GroupSlice) => {
    if (isBackwards) slice.to -= 1;
    else slice.from += 1;
  };
  const isTaken = (offer: Offer) =>
    (fitsMachine === null || fitsMachine(offer)) && !(excluded?.has(offer.machineId) ?? false);
  /** Moves to the next offer to take; false at the end. */
  const hasMore = (slice: GroupSlice) => {
    while (slice.from < slice.to && !isTaken(headOf(slice))) dropHead(slice);
    return slice.from < slice.to;
  };
  const compareHeads = (one: GroupSlice, other: GroupSlice) => {
    const thenBy = order.thenBy(one.group.traits, other.group.traits);
    return (isBackwards ? -1 : 1) * compareRanked(headOf(one), headOf(other), thenBy);
  };
  /** Merges slices of groups that `first` puts at the same place. */
  const takeFrom = (alike: GroupSlice[]) => {
    const heads = new TinyQueue(alike.filter(hasMore), compareHeads);
    for (let next = heads.pop(); next !== undefined && taken.length < limit; next = heads.pop()) {
      const rival = heads.peek();
      while (taken.length < limit && hasMore(next) && (rival === undefined || compareHeads(next, rival) < 0)) {
        taken.push(headOf(next));
        dropHead(next);
      }
      if (hasMore(next)) heads.push(next);
    }
  };
  let alike: GroupSlice[] = [];
  for (const slice of slices) {
    if (alike.length > 0 && order.first(alike[0]!.group.traits, slice.group.traits) !== 0) {
      takeFrom(alike);
      if (taken.length === limit) return taken;
      alike = [];
    }
    alike.push(slice);
  }
  takeFrom(alike);
  return taken;
}

function groupBy<Key, T>(entries: Iterable<T>, keyOf: (entry: T) => Key): Map<Key, T[]> {
  const groups = new Map<Key, T[]>();
  for (const entry of entries) {
    const group = groups.get(keyOf(entry));
    if (group === undefined) groups.set(keyOf(entry), [entry]);
    else group.push(entry);
  }
  return groups;
}
