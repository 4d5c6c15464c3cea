import TinyQueue from 'tinyqueue';
import type { Rate } from '../rules/money.js';
import {
  type GroupKey,
  type GroupTraits,
  type Offer,
  type OfferedMachine,
  type PricedModel,
  traitsOf,
} from '../rules/offer.js';
import type { OfferCriteria } from '../rules/offer-filter.js';
import { BY_PRICE, compareRanked, type GroupPrice, type OfferOrder, type OfferPosition } from '../rules/offer-order.js';
import type { ModeRates } from '../rules/price-rule.js';
import { countLeading, OfferGroup } from './offer-group.js';

/** A group whose model has a price. */
type PricedGroup = OfferGroup & { traits: GroupTraits };

/** Groups in an order. */
interface SortedGroups {
  all: readonly PricedGroup[];
  byGpu: ReadonlyMap<string, readonly PricedGroup[]>;
  byRegion: ReadonlyMap<string, readonly PricedGroup[]>;
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
  group: PricedGroup;
  from: number;
  to: number;
}

/**
 * Machines in groups, which have the prices. The cost of a search depends on the number of groups (models × sizes ×
 * regions): about a thousand for a hundred thousand machines. An offer is made when it is asked for, and never changes.
 */
export class OfferIndex {
  #models: ReadonlyMap<string, PricedModel>;
  readonly #machines = new Map<string, OfferedMachine>();
  readonly #groups = new Map<string, OfferGroup>();
  readonly #availableGpus = new Map<string, number>();
  readonly #offersOf = new Map<string, number>();
  /** Sorted when first needed, and again only after a new group, which is rare, or new prices. */
  readonly #sorted = new Map<OfferOrder<GroupPrice>, SortedGroups>();

  /** `models` by slug; a machine of any other model is no offer. */
  constructor(models: ReadonlyMap<string, PricedModel>, machines: Iterable<OfferedMachine> = []) {
    this.#models = models;
    // Sorted first: machines that are inserted one by one move those behind them.
    for (const members of groupBy(machines, textOf).values()) {
      members.sort((one, other) => compareRanked(one, other));
      for (const machine of members) this.#add(machine, (group) => group.append(machine));
    }
  }

  /** GPUs of the model on machines where nothing runs. */
  availableGpus(gpu: string): number {
    return this.#models.has(gpu) ? (this.#availableGpus.get(gpu) ?? 0) : 0;
  }

  /** Machines of the model where nothing runs. */
  offersOf(gpu: string): number {
    return this.#models.has(gpu) ? (this.#offersOf.get(gpu) ?? 0) : 0;
  }

  /** The machine as it was added; null when it is not here. */
  machine(machineId: string): OfferedMachine | null {
    return this.#machines.get(machineId) ?? null;
  }

  /** The ids of all machines, those of models without a price too. */
  machineIds(): Iterable<string> {
    return this.#machines.keys();
  }

  /** The same machines at the prices of other models. */
  reprice(models: ReadonlyMap<string, PricedModel>): void {
    this.#models = models;
    this.#sorted.clear();
    for (const group of this.#groups.values()) group.traits = this.#traitsOf(group.key);
  }

  /** The offer of a machine; null when it is not offered. */
  offerOf(machineId: string): Offer | null {
    const machine = this.machine(machineId);
    const traits = machine === null ? null : this.#groups.get(textOf(machine))!.traits;
    return machine === null || traits === null ? null : offerOf(machine, traits.pricePerHour);
  }

  /** Adds a machine, or moves it to its new place. */
  put(machine: OfferedMachine): void {
    this.remove(machine.machineId);
    this.#add(machine, (group) => group.put(machine));
  }

  remove(machineId: string): void {
    const machine = this.#machines.get(machineId);
    if (machine === undefined) return;
    this.#groups.get(textOf(machine))!.remove(machine);
    this.#machines.delete(machineId);
    if (!machine.preemptible) this.#count(machine.gpu, -machine.numGpus, -1);
  }

  /** The cheapest offers that fit and cost at most `priceMax`, the whole machine on demand. */
  cheapest(criteria: OfferCriteria, priceMax: Rate | null, limit: number): Offer[] {
    const isWithin = ({ traits }: PricedGroup) => priceMax === null || traits.pricePerHour.onDemand <= priceMax;
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
   * A page of the offers that fit, with the number of all of them (`total`) and of those before the page. A sorting
   * is kept for each `order`, so callers use a few constant ones.
   */
  search(criteria: OfferCriteria, order: OfferOrder<GroupPrice>, { after, before, limit, fromEnd }: OfferRange) {
    const between: GroupSlice[] = [];
    let [total, preceding] = [0, 0];
    for (const { group, to: end } of slicesOf(this.#groupsBy(order, criteria), criteria)) {
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

  /** GPUs of the offers that fit, by model; models without any are left out. */
  gpusByModel(criteria: OfferCriteria): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { group, to } of slicesOf(this.#groupsBy(BY_PRICE, criteria), criteria)) {
      const { gpu, numGpus } = group.key;
      const machines = group.countFitting(criteria.sizeMin, 0, to);
      if (machines > 0) counts.set(gpu, (counts.get(gpu) ?? 0) + machines * numGpus);
    }
    return counts;
  }

  #add(machine: OfferedMachine, place: (group: OfferGroup) => void): void {
    place(this.#groupOf(machine));
    this.#machines.set(machine.machineId, machine);
    if (!machine.preemptible) this.#count(machine.gpu, machine.numGpus, 1);
  }

  #groupOf(machine: OfferedMachine): OfferGroup {
    const text = textOf(machine);
    const known = this.#groups.get(text);
    if (known !== undefined) return known;
    const { gpu, region, numGpus, nvlink, preemptible, hasAgent } = machine;
    const key = { gpu, region, numGpus, nvlink, preemptible, hasAgent };
    const group = new OfferGroup(key, this.#traitsOf(key));
    this.#groups.set(text, group);
    this.#sorted.clear();
    return group;
  }

  #traitsOf(key: GroupKey): GroupTraits | null {
    const model = this.#models.get(key.gpu);
    return model === undefined ? null : traitsOf(key, model);
  }

  /** In order, all groups that can fit, and maybe others. */
  #groupsBy(order: OfferOrder<GroupPrice>, { gpu, region }: OfferCriteria): readonly PricedGroup[] {
    const { all, byGpu, byRegion } = this.#sorted.get(order) ?? this.#sort(order);
    const ofGpu = gpu === null ? all : (byGpu.get(gpu) ?? []);
    const ofRegion = region === null ? all : (byRegion.get(region) ?? []);
    return ofGpu.length < ofRegion.length ? ofGpu : ofRegion;
  }

  #sort(order: OfferOrder<GroupPrice>): SortedGroups {
    const all = [...this.#groups.values()].filter(isPriced).sort((one, other) => order.first(one.traits, other.traits));
    const byGpu = groupBy(all, ({ traits }) => traits.gpu);
    const sorted = { all, byGpu, byRegion: groupBy(all, ({ traits }) => traits.region) };
    this.#sorted.set(order, sorted);
    return sorted;
  }

  #count(gpu: string, gpus: number, machines: number): void {
    this.#availableGpus.set(gpu, (this.#availableGpus.get(gpu) ?? 0) + gpus);
    this.#offersOf.set(gpu, (this.#offersOf.get(gpu) ?? 0) + machines);
  }
}

/**
 * Field by field: objects made by spreading may each have a shape of their own, slow to read and three times as large.
 */
function offerOf(machine: OfferedMachine, pricePerHour: ModeRates): Offer {
  const { machineId, gpu, numGpus, region, cpu, vcpus, ramGb, diskGb, netMbps } = machine;
  const { ports, pcie, nvlink, cudaMax, reliability, preemptible, demo, hasAgent } = machine;
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
    hasAgent,
    pricePerHour,
  };
}

function textOf({ gpu, region, numGpus, nvlink, preemptible, hasAgent }: GroupKey): string {
  return JSON.stringify([gpu, region, numGpus, nvlink, preemptible, hasAgent]);
}

function isPriced(group: OfferGroup): group is PricedGroup {
  return group.traits !== null;
}

/** Of each group that fits, the offers that are reliable enough: the first of the group. */
function* slicesOf(groups: Iterable<PricedGroup>, { fitsGroup, reliabilityMin }: OfferCriteria): Generator<GroupSlice> {
  const isReliable = ({ reliability }: OfferedMachine) => reliability >= reliabilityMin;
  for (const group of groups) {
    const { traits, machines } = group;
    if (machines.length === 0 || !fitsGroup(traits)) continue;
    const to = reliabilityMin === 0 ? machines.length : countLeading(machines, isReliable);
    if (to > 0) yield { group, from: 0, to };
  }
}

/** How many of the first `end` offers of a group come before a position, or at it if that `isIncluded`. */
function countUpTo(
  position: OfferPosition,
  { traits, machines }: PricedGroup,
  end: number,
  order: OfferOrder<GroupPrice>,
  isIncluded: boolean,
): number {
  const first = order.first(traits, position);
  if (first !== 0) return first < 0 ? end : 0;
  const thenBy = order.thenBy(traits, position);
  const isUpTo = (machine: OfferedMachine) => {
    const difference = compareRanked(machine, position, thenBy);
    return difference < 0 || (isIncluded && difference === 0);
  };
  return countLeading(machines, isUpTo, end);
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
  { sizeMin }: OfferCriteria,
  order: OfferOrder,
  { limit, excluded, isBackwards = false }: Taking,
): Offer[] {
  const taken: Offer[] = [];
  const headPlace = ({ from, to }: GroupSlice) => (isBackwards ? to - 1 : from);
  const headOf = (slice: GroupSlice) => slice.group.machines[headPlace(slice)]!;
  const dropHead = (slice: GroupSlice) => {
    if (isBackwards) slice.to -= 1;
    else slice.from += 1;
  };
  const isTaken = (slice: GroupSlice) =>
    slice.group.fitsAt(headPlace(slice), sizeMin) && !(excluded?.has(headOf(slice).machineId) ?? false);
  /** Moves to the next offer to take; false at the end. */
  const hasMore = (slice: GroupSlice) => {
    while (slice.from < slice.to && !isTaken(slice)) dropHead(slice);
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
        taken.push(offerOf(headOf(next), next.group.traits.pricePerHour));
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
