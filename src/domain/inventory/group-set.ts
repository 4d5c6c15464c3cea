import type { RankedGroup } from './offer-group.js';
import type { GroupKey, GroupTraits } from './rules/offer.js';
import type { OfferCriteria } from './rules/offer-filter.js';
import type { GroupPrice, OfferOrder } from './rules/offer-order.js';

/** A group whose model has a price. */
export type Priced<Group extends RankedGroup> = Group & { traits: GroupTraits };

/** Groups in sorted order. */
interface SortedGroups<Group extends RankedGroup> {
  all: readonly Priced<Group>[];
  byGpu: ReadonlyMap<string, readonly Priced<Group>[]>;
  byRegion: ReadonlyMap<string, readonly Priced<Group>[]>;
}

/** Groups, indexed by the text form of their key. */
export class GroupSet<Group extends RankedGroup> {
  readonly #groups = new Map<string, Group>();
  /**
   * Groups are sorted on first use, and again only after a price change or the addition of a group, both of which are
   * rare.
   */
  readonly #sorted = new Map<OfferOrder<GroupPrice>, SortedGroups<Group>>();

  get(text: string): Group | undefined {
    return this.#groups.get(text);
  }

  set(text: string, group: Group): void {
    this.#groups.set(text, group);
    this.#sorted.clear();
  }

  reprice(traitsOf: (key: GroupKey) => GroupTraits | null): void {
    this.#sorted.clear();
    for (const group of this.#groups.values()) group.traits = traitsOf(group.key);
  }

  /** Returns all groups that can match, in sorted order. May include groups that don't match. */
  by(order: OfferOrder<GroupPrice>, { gpu, region }: OfferCriteria): readonly Priced<Group>[] {
    const { all, byGpu, byRegion } = this.#sorted.get(order) ?? this.#sort(order);
    const ofGpu = gpu === null ? all : (byGpu.get(gpu) ?? []);
    const ofRegion = region === null ? all : (byRegion.get(region) ?? []);
    return ofGpu.length < ofRegion.length ? ofGpu : ofRegion;
  }

  #sort(order: OfferOrder<GroupPrice>): SortedGroups<Group> {
    const all = [...this.#groups.values()].filter(isPriced).sort((one, other) => order.first(one.traits, other.traits));
    const byGpu = groupBy(all, ({ traits }) => traits.gpu);
    const sorted = { all, byGpu, byRegion: groupBy(all, ({ traits }) => traits.region) };
    this.#sorted.set(order, sorted);
    return sorted;
  }
}

function isPriced<Group extends RankedGroup>(group: Group): group is Priced<Group> {
  return group.traits !== null;
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
