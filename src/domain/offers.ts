import type { Deps } from './deps.js';
import { checkOptional, fields, priceLimit } from './fields.js';
import type { Offer } from './offer-index.js';

export type { Offer };

export interface OfferFilter {
  gpu?: string | null;
  region?: string | null;
  numMin?: number | null;
  /** USD per hour of the whole machine on demand. */
  priceMax?: number | null;
  limit?: number | null;
  /** Also machines that only an interruptible instance holds. */
  includePreemptible?: boolean | null;
}

/** Cheapest first, then more reliable, then by machine id. An unknown model or region gives none. */
export async function findOffers(deps: Deps, filter: OfferFilter): Promise<Offer[]> {
  const wanted = {
    gpu: checkOptional('gpu', fields.gpu, filter.gpu) ?? null,
    region: checkOptional('region', fields.region, filter.region) ?? null,
    numMin: checkOptional('numMin', fields.numMin, filter.numMin)!,
    priceMax: priceLimit(checkOptional('priceMax', fields.priceMax, filter.priceMax)) ?? null,
    includePreemptible: filter.includePreemptible ?? false,
  };
  const limit = checkOptional('limit', fields.limit, filter.limit)!;
  const { offers } = await deps.inventory.current();
  return offers.cheapest(wanted, limit);
}
