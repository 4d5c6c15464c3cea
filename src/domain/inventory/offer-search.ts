import { cudaNumber } from '../kernel/cuda.js';
import { checkOptional, type Field, priceLimit } from '../kernel/field.js';
import { commonFields } from '../kernel/fields.js';
import { type NamedModel, slugsOf } from '../kernel/gpu-names.js';
import type { GpuTier } from '../kernel/gpu-tier.js';
import type { InventoryDeps } from './deps.js';
import { offerFields } from './fields.js';
import type { OfferIndex, OfferRange } from './offer-index.js';
import type { Offer } from './rules/offer.js';
import { criteriaOf, type OfferCriteria, type OfferRequirements } from './rules/offer-filter.js';
import {
  BY_PRICE,
  BY_PRICE_PER_GPU,
  BY_RELIABILITY,
  type GroupPrice,
  type OfferOrder,
  type OfferPosition,
} from './rules/offer-order.js';

/** Requirements for a machine. A field that is null, omitted or an empty list imposes no requirement. */
export interface OfferSearchFilter {
  gpus?: readonly string[] | null;
  regions?: readonly string[] | null;
  tiers?: readonly GpuTier[] | null;
  /** Minimum memory per GPU, in GB. */
  vramGbMin?: number | null;
  nvlink?: boolean | null;
  reliabilityMin?: number | null;
  vcpusMin?: number | null;
  ramGbMin?: number | null;
  diskGbMin?: number | null;
  numMin?: number | null;
  numMax?: number | null;
  /** Maximum on-demand price, in USD per GPU-hour, regardless of the mode. */
  pricePerGpuMax?: number | null;
  /** Whether to include machines whose only running instances are interruptible. */
  includePreemptible?: boolean | null;
  hasAgent?: boolean | null;
  fuse?: boolean | null;
  /** Minimum CUDA version, such as 12.4. */
  cudaMin?: string | null;
}

export type OfferSort = 'PRICE' | 'PRICE_PER_GPU' | 'RELIABILITY';

export interface OfferSearch extends OfferRange {
  filter?: OfferSearchFilter | null;
  sort: OfferSort;
}

export interface OfferPage {
  offers: Offer[];
  /** Number of matching offers across all pages. */
  total: number;
  hasPrevious: boolean;
  hasNext: boolean;
}

const ORDERS: Record<OfferSort, OfferOrder<GroupPrice>> = {
  PRICE: BY_PRICE,
  PRICE_PER_GPU: BY_PRICE_PER_GPU,
  RELIABILITY: BY_RELIABILITY,
};

/** Returns one page of matching offers, along with their total number. */
export async function searchOffers(deps: Pick<InventoryDeps, 'inventory'>, search: OfferSearch): Promise<OfferPage> {
  const wanted = checkFilter(search.filter);
  const { offers, catalogue } = await deps.inventory.current();
  const criteria = criteriaOf(withModels(catalogue.gpuModels, wanted));
  return pageOf(offers, criteria, search);
}

/** A GPU model that has matching offers. */
export interface OfferedModel {
  gpu: string;
  /** Number of GPUs in the model's matching offers. */
  gpus: number;
}

/** A region that has matching offers. */
export interface OfferedRegion {
  region: string;
  /** Number of GPUs in the region's matching offers. */
  gpus: number;
}

/** Returns the models with matching offers, sorted by slug. */
export async function offeredModels(
  deps: Pick<InventoryDeps, 'inventory'>,
  filter: OfferSearchFilter | null | undefined,
): Promise<OfferedModel[]> {
  return (await gpusBy('gpu', deps, filter)).map(([gpu, gpus]) => ({ gpu, gpus }));
}

/** Returns the regions with matching offers, sorted by code. */
export async function offeredRegions(
  deps: Pick<InventoryDeps, 'inventory'>,
  filter: OfferSearchFilter | null | undefined,
): Promise<OfferedRegion[]> {
  return (await gpusBy('region', deps, filter)).map(([region, gpus]) => ({ region, gpus }));
}

async function gpusBy(
  kind: 'gpu' | 'region',
  deps: Pick<InventoryDeps, 'inventory'>,
  filter: OfferSearchFilter | null | undefined,
) {
  const wanted = checkFilter(filter);
  const { offers, catalogue } = await deps.inventory.current();
  const criteria = criteriaOf(withModels(catalogue.gpuModels, wanted));
  return [...offers.gpusBy(kind, criteria)].sort(([one], [other]) => (one < other ? -1 : 1));
}

/** Returns a page of an index's offers. */
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

/** Validates a filter. Equivalent filters produce equal values, no matter how they are written. */
export function checkFilter(filter: OfferSearchFilter | null | undefined): OfferRequirements {
  const input = filter ?? {};
  const cudaMin = checkOptional('cudaMin', offerFields.cudaMin, input.cudaMin);
  return {
    gpus: checkSet('gpus', commonFields.gpus, input.gpus),
    regions: checkSet('regions', offerFields.regions, input.regions),
    tiers: checkSet('tiers', offerFields.tiers, input.tiers),
    vramGbMin: checkOptional('vramGbMin', offerFields.vramGbMin, input.vramGbMin) ?? null,
    nvlink: input.nvlink ?? null,
    reliabilityMin: checkOptional('reliabilityMin', offerFields.reliabilityMin, input.reliabilityMin) ?? null,
    vcpusMin: checkOptional('vcpusMin', offerFields.vcpusMin, input.vcpusMin) ?? null,
    ramGbMin: checkOptional('ramGbMin', offerFields.ramGbMin, input.ramGbMin) ?? null,
    diskGbMin: checkOptional('diskGbMin', offerFields.diskGbMin, input.diskGbMin) ?? null,
    numMin: checkOptional('numMin', offerFields.numMin, input.numMin),
    numMax: checkOptional('numMax', offerFields.numMax, input.numMax) ?? null,
    pricePerGpuMax: priceLimit(checkOptional('pricePerGpuMax', offerFields.pricePerGpuMax, input.pricePerGpuMax)),
    includePreemptible: input.includePreemptible ?? false,
    ...(input.hasAgent != null && { hasAgent: input.hasAgent }),
    ...(input.fuse != null && { fuse: input.fuse }),
    ...(cudaMin !== undefined && { cudaMin: cudaNumber(cudaMin) }),
  };
}

/** Returns the requirements with model names replaced by slugs. */
export function withModels<Wanted extends { gpus: readonly string[] | null }>(
  models: readonly NamedModel[],
  wanted: Wanted,
): Wanted {
  return wanted.gpus === null ? wanted : { ...wanted, gpus: slugsOf(models, wanted.gpus) };
}

/** Returns the list without duplicates, in its original order. Returns null if it is empty. */
export function checkList<T>(name: string, field: Field<T[]>, value: readonly T[] | null | undefined): T[] | null {
  const list = [...new Set(checkOptional(name, field, value) ?? [])];
  return list.length === 0 ? null : list;
}

function checkSet<T>(name: string, field: Field<T[]>, value: readonly T[] | null | undefined): T[] | null {
  return checkList(name, field, value)?.sort() ?? null;
}
