import type { Deps } from './deps.js';
import { checkOptional, fields, priceLimit } from './fields.js';
import type { ModeRates } from './rules/price-rule.js';

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

export interface Offer {
  machineId: string;
  gpu: string;
  numGpus: number;
  region: string;
  cpu: string;
  vcpus: number;
  ramGb: number;
  /** What is left for a new disk. */
  diskGb: number;
  netMbps: { down: number; up: number };
  ports: number;
  pcie: number;
  nvlink: boolean;
  cudaMax: string;
  reliability: number;
  preemptible: boolean;
  demo: boolean;
  /** The whole machine. */
  pricePerHour: ModeRates;
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
