import type { Deps } from '../deps.js';
import { checkOptional, type Field, fields, priceLimit } from '../fields.js';
import { cudaNumber } from '../rules/cuda.js';
import { type NamedModel, slugsOf } from '../rules/gpu-names.js';
import type { GpuTier } from '../rules/gpu-tier.js';
import type { Offer } from '../rules/offer.js';
import { criteriaOf, type OfferCriteria, type OfferRequirements } from '../rules/offer-filter.js';
import {
  BY_PRICE,
  BY_PRICE_PER_GPU,
  BY_RELIABILITY,
  type GroupPrice,
  type OfferOrder,
  type OfferPosition,
} from '../rules/offer-order.js';
import type { OfferIndex, OfferRange } from './offer-index.js';

/** Requirements for a machine. Null, left out and an empty list mean no requirement. */
export interface OfferSearchFilter {
  gpus?: readonly string[] | null;
  regions?: readonly string[] | null;
  tiers?: readonly GpuTier[] | null;
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
  hasAgent?: boolean | null;
  /** Such as 12.4. */
  cudaMin?: string | null;
}

export type OfferSort = 'PRICE' | 'PRICE_PER_GPU' | 'RELIABILITY';

export interface OfferSearch extends OfferRange {
  filter?: OfferSearchFilter | null;
  sort: OfferSort;
}

export interface OfferPage {
  offers: Offer[];
  /** Offers that fit, on all pages. */
  total: number;
  hasPrevious: boolean;
  hasNext: boolean;
}

const ORDERS: Record<OfferSort, OfferOrder<GroupPrice>> = {
  PRICE: BY_PRICE,
  PRICE_PER_GPU: BY_PRICE_PER_GPU,
  RELIABILITY: BY_RELIABILITY,
};

/** One page of the offers that fit, and how many fit in all. */
export async function searchOffers(deps: Deps, search: OfferSearch): Promise<OfferPage> {
  const wanted = checkFilter(search.filter);
  const { offers, catalogue } = await deps.inventory.current();
  const criteria = criteriaOf(withModels(catalogue.gpuModels, wanted));
  return pageOf(offers, criteria, search);
}

/** A GPU model among the offers that fit. */
export interface OfferedModel {
  gpu: string;
  /** GPUs of all its offers that fit. */
  gpus: number;
}

/** A region with offers that fit. */
export interface OfferedRegion {
  region: string;
  /** GPUs of all its offers that fit. */
  gpus: number;
}

/** The models of the offers that fit, by slug. */
export async function offeredModels(deps: Deps, filter: OfferSearchFilter | null | undefined): Promise<OfferedModel[]> {
  return (await gpusBy('gpu', deps, filter)).map(([gpu, gpus]) => ({ gpu, gpus }));
}

/** The regions of the offers that fit, by code. */
export async function offeredRegions(
  deps: Deps,
  filter: OfferSearchFilter | null | undefined,
): Promise<OfferedRegion[]> {
  return (await gpusBy('region', deps, filter)).map(([region, gpus]) => ({ region, gpus }));
}

async function gpusBy(kind: 'gpu' | 'region', deps: Deps, filter: OfferSearchFilter | null | undefined) {
  const wanted = checkFilter(filter);
  const { offers, catalogue } = await deps.inventory.current();
  const criteria = criteriaOf(withModels(catalogue.gpuModels, wanted));
  return [...offers.gpusBy(kind, criteria)].sort(([one], [other]) => (one < other ? -1 : 1));
}

/** A page of an index. */
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

/** Checks the bounds. Filters that mean the same give equal values, however they are written. */
export function checkFilter(filter: OfferSearchFilter | null | undefined): OfferRequirements {
  const given = filter ?? {};
  const cudaMin = checkOptional('cudaMin', fields.cudaMin, given.cudaMin);
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
    ...(given.hasAgent != null && { hasAgent: given.hasAgent }),
    ...(cudaMin !== undefined && { cudaMin: cudaNumber(cudaMin) }),
  };
}

/** The requirements with the slugs that their names of models stand for. */
export function withModels<Wanted extends { gpus: readonly string[] | null }>(
  models: readonly NamedModel[],
  wanted: Wanted,
): Wanted {
  return wanted.gpus === null ? wanted : { ...wanted, gpus: slugsOf(models, wanted.gpus) };
}

/** The list in its order, each entry once; null when it is empty. */
export function checkList<T>(name: string, field: Field<T[]>, value: readonly T[] | null | undefined): T[] | null {
  const list = [...new Set(checkOptional(name, field, value) ?? [])];
  return list.length === 0 ? null : list;
}

function checkSet<T>(name: string, field: Field<T[]>, value: readonly T[] | null | undefined): T[] | null {
  return checkList(name, field, value)?.sort() ?? null;
}
