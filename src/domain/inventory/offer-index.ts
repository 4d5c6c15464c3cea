import TinyQueue from 'tinyqueue';
import type { Rate } from '../rules/money.js';
import { type GroupTraits, type Offer, type OfferedMachine, type PricedModel, traitsOf } from '../rules/offer.js';
import type { OfferCriteria } from '../rules/offer-filter.js';
import { BY_PRICE, compareRanked, type GroupPrice, type OfferOrder, type OfferPosition } from '../rules/offer-order.js';
import type { ModeRates } from '../rules/price-rule.js';

/** Machines that differ in nothing that a price, or most of a filter, depends on. */
interface OfferGroup {
  traits: GroupTraits;
  /** More reliable first, then by machine id. */
  offers: Offer[];
}

/** Shelves in an order. */
interface SortedGroups {
  all: readonly OfferGroup[];
  byGpu: ReadonlyMap<string, readonly OfferGroup[]>;
  byRegion: ReadonlyMap<string, readonly OfferGroup[]>;
}

/** At most `limit` of the offers between two places, neither included; null: from the beginning, to the end. */
export interface OfferRange {
  after: OfferPosition | null;
  before: OfferPosition | null;
  limit: number;
  /** The last of them rather than the first. */
  fromEnd: boolean;
}

/** The offers of a group from place `from` to before `to`, as far as they fit; walking along it moves its ends. */
interface Stretch {
  group: OfferGroup;
  from: number;
  to: number;
}

/**
 * Offers on groups. What a search costs depends on the groups, models times sizes times places, of which there are a
 * thousand when there are a hundred thousand machines.
 */
export class OfferIndex {
  readonly #models: ReadonlyMap<string, PricedModel>;
  readonly #offers = new Map<string, Offer>();
  readonly #groups = new Map<string, OfferGroup>();
  readonly #availableGpus = new Map<string, number>();
  /** Made when asked for: groups are seldom new. */
  readonly #sorted = new Map<OfferOrder<GroupPrice>, SortedGroups>();

  /** GPUs of a model that can be deployed without stopping anything. */
  availableGpus(gpu: string): number {
    return this.#availableGpus.get(gpu) ?? 0;
  }

  /** `models` by slug: a machine of another is no offer. */
  constructor(models: ReadonlyMap<string, PricedModel>, machines: Iterable<OfferedMachine> = []) {
    this.#models = models;
    // Made group by group: what was made together lies together, and is looked through several times as fast.
    for (const members of groupBy(machines, groupKey).values()) {
      members.sort((one, other) => compareRanked(one, other));
      for (const machine of members) this.#add(machine, (offers) => offers.length);
    }
  }

  /** Puts a machine in, or in its new place. */
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

  /** The first by price of what fits and costs at most `priceMax`, the whole machine on demand. */
  cheapest(criteria: OfferCriteria, priceMax: Rate | null, limit: number): Offer[] {
    const isWithin = ({ traits }: OfferGroup) => priceMax === null || traits.pricePerHour.onDemand <= priceMax;
    const groups = this.#groupsBy(BY_PRICE, criteria);
    const within = groups.slice(0, countLeading(groups, isWithin));
    return firstOf(stretchesOf(within, criteria), criteria, BY_PRICE, { limit });
  }

  /** The first of what fits in any order, leaving out the `passed`. */
  best(criteria: OfferCriteria, order: OfferOrder, limit: number, passed: ReadonlySet<string>): Offer[] {
    const stretches = [...stretchesOf(this.#groupsBy(BY_PRICE, criteria), criteria)];
    stretches.sort((one, other) => order.first(one.group.traits, other.group.traits));
    return firstOf(stretches, criteria, order, { limit, passed });
  }

  /**
   * A page of what fits, with the number of all of it (`total`) and of what comes before the page. Machines are looked
   * at one by one only when there is a `fitsMachine`: 100,000 in a few milliseconds. `order` is one of a few that are
   * kept.
   */
  search(criteria: OfferCriteria, order: OfferOrder<GroupPrice>, { after, before, limit, fromEnd }: OfferRange) {
    const between: Stretch[] = [];
    let [total, preceding] = [0, 0];
    for (const { group, to: end } of stretchesOf(this.#groupsBy(order, criteria), criteria)) {
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

  /** In order, all that can fit, and maybe others. */
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

/** Field by field: what is spread can have a shape of its own each time, which is slow to read and three times as large. */
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

/** Where an offer stands on a group, or would stand. */
function placeOf(offers: readonly Offer[], offer: Offer): number {
  return countLeading(offers, (other) => compareRanked(other, offer) < 0);
}

/** Of each group that fits, the offers that are reliable enough: its first. */
function* stretchesOf(groups: Iterable<OfferGroup>, { fitsGroup, reliabilityMin }: OfferCriteria): Generator<Stretch> {
  const isReliable = ({ reliability }: Offer) => reliability >= reliabilityMin;
  for (const group of groups) {
    const { traits, offers } = group;
    if (offers.length === 0 || !fitsGroup(traits)) continue;
    const to = reliabilityMin === 0 ? offers.length : countLeading(offers, isReliable);
    if (to > 0) yield { group, from: 0, to };
  }
}

function countFitting({ fitsMachine }: OfferCriteria, { group, from, to }: Stretch): number {
  if (fitsMachine === null) return to - from;
  let count = 0;
  for (let place = from; place < to; place += 1) if (fitsMachine(group.offers[place]!)) count += 1;
  return count;
}

/** How many of the first `end` offers of a group come before a position, or stand right there if that `isIncluded`. */
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

/** Of the first `end` entries, how many come before the first that `holds` does not hold of. */
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
  /** Machines to be left out. */
  passed?: ReadonlySet<string>;
  isBackwards?: boolean;
}

/**
 * The first of what fits in stretches that stand in order, without looking at more; backwards from the end of stretches
 * in reverse order. It uses the stretches up.
 */
function firstOf(
  stretches: Iterable<Stretch>,
  { fitsMachine }: OfferCriteria,
  order: OfferOrder,
  { limit, passed, isBackwards = false }: Taking,
): Offer[] {
  const taken: Offer[] = [];
  const headOf = ({ group, from, to }: Stretch) => group.offers[isBackwards ? to - 1 : from]!;
  const behead = (stretch: Stretch) => {
    if (isBackwards) stretch.to -= 1;
    else stretch.from += 1;
  };
  const isTaken = (offer: Offer) =>
    (fitsMachine === null || fitsMachine(offer)) && !(passed?.has(offer.machineId) ?? false);
  /** Walks to the next that is to be taken; false at the end. */
  const hasMore = (stretch: Stretch) => {
    while (stretch.from < stretch.to && !isTaken(headOf(stretch))) behead(stretch);
    return stretch.from < stretch.to;
  };
  const compareHeads = (one: Stretch, other: Stretch) => {
    const thenBy = order.thenBy(one.group.traits, other.group.traits);
    return (isBackwards ? -1 : 1) * compareRanked(headOf(one), headOf(other), thenBy);
  };
  /** Of stretches that stand alike. */
  const takeFrom = (alike: Stretch[]) => {
    const heads = new TinyQueue(alike.filter(hasMore), compareHeads);
    for (let next = heads.pop(); next !== undefined && taken.length < limit; next = heads.pop()) {
      const rival = heads.peek();
      while (taken.length < limit && hasMore(next) && (rival === undefined || compareHeads(next, rival) < 0)) {
        taken.push(headOf(next));
        behead(next);
      }
      if (hasMore(next)) heads.push(next);
    }
  };
  let alike: Stretch[] = [];
  for (const stretch of stretches) {
    if (alike.length > 0 && order.first(alike[0]!.group.traits, stretch.group.traits) !== 0) {
      takeFrom(alike);
      if (taken.length === limit) return taken;
      alike = [];
    }
    alike.push(stretch);
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
