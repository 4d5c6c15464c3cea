import { required } from '../../std/required.js';
import type { Entry, HostTable } from './host-table.js';
import { IntColumn } from './int-column.js';
import { type LayoutBlock, type Nested, nestedFrom } from './rules/layout.js';
import {
  blockIdOf,
  type GroupKey,
  type GroupTraits,
  hasOfferedDisk,
  type MachineSize,
  type Offer,
  type OfferedHost,
  sizeOf,
} from './rules/offer.js';
import { isOfSize } from './rules/offer-filter.js';
import { compareRanked, type Ranked } from './rules/offer-order.js';

/** Maximum number of shapes in a group. If there are more, machines are counted individually. */
const MAX_SHAPES = 32;

/** A set of machines that are equal blocks on hosts with the same GPUs, vCPUs and memory. */
interface Shape {
  /** One of these hosts. */
  host: OfferedHost;
  nested: Nested;
  vcpus: number;
  ramGb: number;
  machines: number;
}

/** Machines with the same traits, in sorted order. */
export class RankedGroup {
  readonly key: GroupKey;
  /** Null while the model has no price, in which case none of the machines are offered. */
  traits: GroupTraits | null;
  protected readonly hosts: HostTable;
  /** The machines, sorted by descending reliability and then by machine id. */
  protected readonly entries = new IntColumn();
  /** Null once there are too many shapes. */
  protected shapes: Shape[] | null = [];

  constructor(key: GroupKey, traits: GroupTraits | null, hosts: HostTable) {
    this.key = key;
    this.traits = traits;
    this.hosts = hosts;
  }

  get length(): number {
    return this.entries.length;
  }

  put(entry: Entry): void {
    this.putAt(this.#placeOf(entry), entry);
  }

  /** Adds entries in any order to an empty group. */
  fill(entries: Entry[]): void {
    const ranked = entries.map((entry) => ({ entry, ...this.#ranked(entry) }));
    ranked.sort((one, other) => compareRanked(one, other));
    for (const { entry } of ranked) this.putAt(this.length, entry);
  }

  remove(entry: Entry): void {
    this.removeAt(this.#placeOf(entry), entry);
  }

  reliabilityAt(place: number): number {
    return this.hosts.hostAt(this.entries.at(place)).reliability;
  }

  rankedAt(place: number): Ranked {
    return this.#ranked(this.entries.at(place));
  }

  offerAt(place: number): Offer {
    return this.hosts.offerAt(this.entries.at(place), required(this.traits, 'traits of offered machines'));
  }

  fitsAt(place: number, min: MachineSize | null): boolean {
    if (min === null) return true;
    const entry = this.entries.at(place);
    return isOfSize(sizeOf(this.hosts.hostAt(entry), this.hosts.blockAt(entry)), min);
  }

  /** Whether any machine may have enough vCPUs and memory. */
  mayFit(min: MachineSize | null): boolean {
    return this.shapes === null || this.shapes.some((shape) => shape.machines > 0 && isShapeOf(shape, min));
  }

  protected putAt(place: number, entry: Entry): void {
    this.entries.insert(place, entry);
    this.#count(entry, 1);
  }

  protected removeAt(place: number, entry: Entry): void {
    this.entries.remove(place);
    this.#count(entry, -1);
  }

  protected nestedOf(entry: Entry): { host: OfferedHost; nested: Nested } {
    const host = this.hosts.hostAt(entry);
    return { host, nested: offeredNested(host, this.hosts.blockAt(entry).nested) };
  }

  #count(entry: Entry, by: number): void {
    if (this.shapes === null) return;
    const { host, nested } = this.nestedOf(entry);
    const shape = this.shapes.find((known) => known.nested === nested && isAlike(known.host, host));
    if (shape !== undefined) shape.machines += by;
    else if (this.shapes.length < MAX_SHAPES) {
      const { vcpus, ramGb } = sizeOf(host, this.hosts.blockAt(entry));
      this.shapes.push({ host, nested, vcpus, ramGb, machines: by });
    } else this.shapes = null;
  }

  #ranked(entry: Entry): Ranked {
    const host = this.hosts.hostAt(entry);
    return { reliability: host.reliability, machineId: blockIdOf(host, this.hosts.blockAt(entry)) };
  }

  /** Returns a machine's position, or the position at which it would have to be inserted. */
  #placeOf(entry: Entry): number {
    const ranked = this.#ranked(entry);
    return countLeading(this.length, (place) => compareRanked(this.rankedAt(place), ranked) < 0);
  }
}

/** Machines with the same traits, which can be counted by size. */
export class OfferGroup extends RankedGroup {
  /** Sizes by position. Scanning these is ten times as fast as scanning hosts. */
  readonly #vcpus = new IntColumn();
  readonly #ramGb = new IntColumn();
  readonly #diskGb = new IntColumn();
  readonly #cuda = new IntColumn();

  override fitsAt(place: number, min: MachineSize | null): boolean {
    if (min === null) return true;
    return (
      this.#vcpus.at(place) >= min.vcpus &&
      this.#ramGb.at(place) >= min.ramGb &&
      this.#diskGb.at(place) >= min.diskGb &&
      this.#cuda.at(place) >= min.cuda
    );
  }

  /** Counts machines in [from, to) that are large enough. */
  countFitting(min: MachineSize | null, from: number, to: number): number {
    if (min === null) return to - from;
    if (this.shapes !== null && !isByMachine(min) && from === 0 && to === this.length) {
      return countShapes(this.shapes, min);
    }
    const [vcpus, ramGb] = [this.#vcpus.values, this.#ramGb.values];
    const [diskGb, cuda] = [this.#diskGb.values, this.#cuda.values];
    let smaller = 0;
    for (let place = from; place < to; place += 1) {
      // Negative if the machine falls short in any dimension. Avoiding a branch that the processor can't predict makes
      // this three times as fast.
      const lacking = (vcpus[place]! - min.vcpus) | (ramGb[place]! - min.ramGb) | (diskGb[place]! - min.diskGb);
      smaller += (lacking | (cuda[place]! - min.cuda)) >>> 31;
    }
    return to - from - smaller;
  }

  /**
   * Counts the GPUs in the first `to` machines, skipping machines that are too small. A GPU that is also in a smaller
   * machine isn't counted if that machine is large enough too and `isWanted` accepts its number of GPUs.
   */
  countGpus(min: MachineSize | null, to: number, isWanted: (numGpus: number) => boolean): number {
    const fitting = { min, isWanted };
    let gpus = 0;
    if (this.shapes !== null && (min === null || !isByMachine(min)) && to === this.length) {
      for (const shape of this.shapes) if (isShapeOf(shape, min)) gpus += shape.machines * gpusOutside(shape, fitting);
      return gpus;
    }
    for (let place = 0; place < to; place += 1) {
      if (this.fitsAt(place, min)) gpus += gpusOutside(this.nestedOf(this.entries.at(place)), fitting);
    }
    return gpus;
  }

  protected override putAt(place: number, entry: Entry): void {
    super.putAt(place, entry);
    const { vcpus, ramGb, diskGb, cuda } = sizeOf(this.hosts.hostAt(entry), this.hosts.blockAt(entry));
    this.#cuda.insert(place, cuda);
    this.#vcpus.insert(place, vcpus);
    this.#ramGb.insert(place, ramGb);
    this.#diskGb.insert(place, diskGb);
  }

  protected override removeAt(place: number, entry: Entry): void {
    super.removeAt(place, entry);
    for (const column of [this.#vcpus, this.#ramGb, this.#diskGb, this.#cuda]) column.remove(place);
  }
}

/** Excludes smaller blocks without enough disk to be offered, so that GPUs are not attributed to them. */
function offeredNested(host: OfferedHost, nested: Nested): Nested {
  let least = 0;
  for (const { within } of nested)
    if (within >= least && within > 0 && !hasOfferedDisk(host, { count: within })) least = within + 1;
  return nestedFrom(nested, least);
}

/** Whether machines must be compared individually, because shapes don't cover the disk and the CUDA version. */
function isByMachine({ diskGb, cuda }: MachineSize): boolean {
  return diskGb > 0 || cuda > 0;
}

function isAlike(one: OfferedHost, other: OfferedHost): boolean {
  return one.vcpus === other.vcpus && one.ramGb === other.ramGb && one.layout.numGpus === other.layout.numGpus;
}

function isShapeOf({ vcpus, ramGb }: Shape, min: MachineSize | null): boolean {
  return min === null || (vcpus >= min.vcpus && ramGb >= min.ramGb);
}

function countShapes(shapes: readonly Shape[], min: MachineSize): number {
  let count = 0;
  for (const shape of shapes) if (isShapeOf(shape, min)) count += shape.machines;
  return count;
}

/**
 * Returns the number of GPUs in an offered block that aren't also in a smaller offered block. Each offered GPU is
 * thereby counted exactly once, as part of one block.
 */
export function ownGpusOf(host: OfferedHost, { nested }: LayoutBlock): number {
  return gpusOutside({ host, nested: offeredNested(host, nested) }, { min: null, isWanted: () => true });
}

/** Counts a block's GPUs that aren't also in a smaller matching block. */
function gpusOutside(
  { host, nested }: { host: OfferedHost; nested: Nested },
  { min, isWanted }: { min: MachineSize | null; isWanted: (numGpus: number) => boolean },
): number {
  let gpus = 0;
  for (const { within, gpus: some } of nested) {
    const isElsewhere =
      within > 0 && isWanted(within) && (min === null || isOfSize(sizeOf(host, { count: within }), min));
    if (!isElsewhere) gpus += some;
  }
  return gpus;
}

/**
 * Counts how many of the first `end` positions satisfy `holds`. All positions that satisfy it must come before all that
 * don't.
 */
export function countLeading(end: number, holds: (place: number) => boolean): number {
  let [low, high] = [0, end];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
