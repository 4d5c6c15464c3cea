import { cudaNumber } from '../kernel/cuda.js';
import { checkOptional, priceLimit } from '../kernel/field.js';
import { commonFields } from '../kernel/fields.js';
import { slugsOf } from '../kernel/gpu-names.js';
import type { InventoryDeps } from './deps.js';
import { offerFields } from './fields.js';
import { checkFilter } from './offer-search.js';
import type { Offer } from './rules/offer.js';
import { criteriaOf } from './rules/offer-filter.js';

export type { Offer };

export interface OfferFilter {
  gpu?: string | null;
  region?: string | null;
  numMin?: number | null;
  /** Maximum on-demand price of the whole machine, in USD per hour. */
  priceMax?: number | null;
  /** Minimum CUDA version, such as 12.4. */
  cudaMin?: string | null;
  limit?: number | null;
  /** Whether to include machines whose only running instances are interruptible. */
  includePreemptible?: boolean | null;
}

const ANY_OFFER = checkFilter(null);

/** Returns the machine's offer, whether or not it is preemptible. Returns null if the machine isn't offered. */
export async function findOffer(deps: Pick<InventoryDeps, 'inventory'>, machineId: string): Promise<Offer | null> {
  return (await deps.inventory.current()).offers.offerOf(machineId);
}

/**
 * Returns matching offers, sorted by price, then by descending reliability, then by machine id. Returns no offers if
 * the model or region is unknown.
 */
export async function findOffers(
  deps: Pick<InventoryDeps, 'inventory'>,
  filter: OfferFilter,
): Promise<readonly Offer[]> {
  const gpu = checkOptional('gpu', offerFields.gpu, filter.gpu);
  const region = checkOptional('region', offerFields.region, filter.region);
  const numMin = checkOptional('numMin', offerFields.numMin, filter.numMin);
  const priceMax = priceLimit(checkOptional('priceMax', offerFields.priceMax, filter.priceMax));
  const cudaMin = checkOptional('cudaMin', offerFields.cudaMin, filter.cudaMin);
  const limit = checkOptional('limit', commonFields.limit, filter.limit);
  const { offers, catalogue } = await deps.inventory.current();
  const includePreemptible = filter.includePreemptible ?? false;
  const criteria = () =>
    criteriaOf({
      ...ANY_OFFER,
      gpus: gpu === undefined ? null : slugsOf(catalogue.gpuModels, [gpu]),
      regions: region === undefined ? null : [region],
      numMin,
      includePreemptible,
      ...(cudaMin !== undefined && { cudaMin: cudaNumber(cudaMin) }),
    });
  const name = JSON.stringify([gpu, region, numMin, includePreemptible, cudaMin]);
  return offers.cheapest(name, criteria, priceMax, limit);
}
