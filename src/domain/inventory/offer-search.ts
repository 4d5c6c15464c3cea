import type { Deps } from '../deps.js';
import { checkOptional, type Field, fields, priceLimit } from '../fields.js';
import {
  BY_PRICE,
  BY_PRICE_PER_GPU,
  BY_RELIABILITY,
  type GroupPrice,
  type Offer,
  type OfferCriteria,
  type OfferIndex,
  type OfferOrder,
  type OfferPosition,
  type OfferRange,
  type PricedModel,
} from './offer-index.js';

/** What a machine must have. Null, left out and an empty list ask for nothing. */
export interface OfferSearchFilter {
  gpus?: readonly string[] | null;
  regions?: readonly string[] | null;
  tiers?: readonly PricedModel['tier'][] | null;
  /** Of one GPU. */
  vramGbMin?: number | null;
  nvlink?: boolean | null;
  reliabilityMin?: number | null;
  vcpusMin?: number | null;
  ramGbMin?: number | null;
  diskGbMin?: number | null;
  numMin?: number | null;
  numMax?: number | null;
  /** USD per GPU-hour on demand, whatever the mode. */
  pricePerGpuMax?: number | null;
  /** Also machines that only an interruptible instance holds. */
  includePreemptible?: boolean | null;
}

/** A checked filter: the same wish is the same value, however it was written. */
export type CheckedOfferFilter = ReturnType<typeof checkFilter>;

export type OfferSort = 'PRICE' | 'PRICE_PER_GPU' | 'RELIABILITY';

export interface OfferSearch extends OfferRange {
  filter?: OfferSearchFilter | null;
  sort: OfferSort;
}

export interface OfferPage {
  offers: Offer[];
  /** Offers that fit, on any page. */
  total: number;
  hasPrevious: boolean;
  hasNext: boolean;
}

const ORDERS: Record<OfferSort, OfferOrder<GroupPrice>> = {
  PRICE: BY_PRICE,
  PRICE_PER_GPU: BY_PRICE_PER_GPU,
  RELIABILITY: BY_RELIABILITY,
};

/** One page of what fits, with the number of all of it. */
export async function searchOffers(deps: Deps, search: OfferSearch): Promise<OfferPage> {
  const criteria = criteriaOf(checkFilter(search.filter));
  const { offers } = await deps.inventory.current();
  return pageOf(offers, criteria, search);
}

/** The page of an index, of what fits the criteria. */
export function pageOf(
  index: OfferIndex,
  criteria: OfferCriteria,
  { sort, ...range }: Omit<OfferSearch, 'filter'>,
): OfferPage {
  const { offers, total, preceding } = index.search(criteria, ORDERS[sort], range);
  const isEmpty = offers.length === 0;
  return {
    offers,
    total,
    hasPrevious: isEmpty ? range.after !== null && total > 0 : preceding > 0,
    hasNext: isEmpty ? range.before !== null && total > 0 : preceding + offers.length < total,
  };
}

export function positionOf({ machineId, numGpus, reliability, pricePerHour }: Offer): OfferPosition {
  return { pricePerGpu: pricePerHour.onDemand / BigInt(numGpus), pricePerHour, reliability, machineId };
}

/** The one place that says what fits a filter. */
export function criteriaOf(filter: CheckedOfferFilter): OfferCriteria {
  const { gpus, regions, tiers, vramGbMin, nvlink, numMin, numMax, pricePerGpuMax, includePreemptible } = filter;
  const { vcpusMin, ramGbMin, diskGbMin } = filter;
  return {
    gpu: onlyOf(gpus),
    region: onlyOf(regions),
    fitsGroup: (group) =>
      (gpus === null || gpus.includes(group.gpu)) &&
      (regions === null || regions.includes(group.region)) &&
      (tiers === null || tiers.includes(group.tier)) &&
      (vramGbMin === null || group.vramGb >= vramGbMin) &&
      (nvlink === null || group.nvlink === nvlink) &&
      group.numGpus >= numMin &&
      (numMax === null || group.numGpus <= numMax) &&
      (pricePerGpuMax === null || group.pricePerGpu <= pricePerGpuMax) &&
      (includePreemptible || !group.preemptible),
    reliabilityMin: filter.reliabilityMin ?? 0,
    fitsMachine:
      vcpusMin === null && ramGbMin === null && diskGbMin === null
        ? null
        : ({ vcpus, ramGb, diskGb }) =>
            vcpus >= (vcpusMin ?? 0) && ramGb >= (ramGbMin ?? 0) && diskGb >= (diskGbMin ?? 0),
  };
}

/** Of a list of which any will do. */
export function onlyOf(list: readonly string[] | null): string | null {
  return list?.length === 1 ? list[0]! : null;
}

export function checkFilter(filter: OfferSearchFilter | null | undefined) {
  const given = filter ?? {};
  return {
    gpus: checkSet('gpus', fields.gpus, given.gpus),
    regions: checkSet('regions', fields.regions, given.regions),
    tiers: checkSet('tiers', fields.tiers, given.tiers),
    vramGbMin: checkOptional('vramGbMin', fields.vramGbMin, given.vramGbMin) ?? null,
    nvlink: given.nvlink ?? null,
    reliabilityMin: checkOptional('reliabilityMin', fields.reliabilityMin, given.reliabilityMin) ?? null,
    vcpusMin: checkOptional('vcpusMin', fields.vcpusMin, given.vcpusMin) ?? null,
    ramGbMin: checkOptional('ramGbMin', fields.ramGbMin, given.ramGbMin) ?? null,
    diskGbMin: checkOptional('diskGbMin', fields.diskGbMin, given.diskGbMin) ?? null,
    numMin: checkOptional('numMin', fields.numMin, given.numMin)!,
    numMax: checkOptional('numMax', fields.numMax, given.numMax) ?? null,
    pricePerGpuMax: priceLimit(checkOptional('pricePerGpuMax', fields.pricePerGpuMax, given.pricePerGpuMax)),
    includePreemptible: given.includePreemptible ?? false,
  };
}

/** The list in its order, each entry once; null when it asks for nothing. */
export function checkList<T>(name: string, field: Field<T[]>, value: readonly T[] | null | undefined): T[] | null {
  const list = [...new Set(checkOptional(name, field, value) ?? [])];
  return list.length === 0 ? null : list;
}

function checkSet<T>(name: string, field: Field<T[]>, value: readonly T[] | null | undefined): T[] | null {
  return checkList(name, field, value)?.sort() ?? null;
}
