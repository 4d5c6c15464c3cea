import type { Deps } from './deps.js';
import { checkOptional, fields, priceLimit } from './fields.js';
import { OFFERED_MACHINES } from './inventory.js';
import { CURRENT_PRICES } from './pricing.js';
import type { Rate } from './rules/money.js';
import { type ModeRates, modeRates } from './rules/price-rule.js';

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

export type OfferRow = Omit<Offer, 'pricePerHour' | 'netMbps'> & { onDemandRate: Rate; down: number; up: number };

/** Cheapest first, then more reliable, then by machine id. An unknown model or region gives none. */
export async function findOffers(deps: Deps, filter: OfferFilter): Promise<Offer[]> {
  const priceMax = priceLimit(checkOptional('priceMax', fields.priceMax, filter.priceMax));
  const { rows } = await deps.db.pool.query<OfferRow>({
    name: 'offers',
    text: OFFERS_SQL,
    values: [
      checkOptional('gpu', fields.gpu, filter.gpu) ?? null,
      checkOptional('region', fields.region, filter.region) ?? null,
      checkOptional('numMin', fields.numMin, filter.numMin),
      priceMax?.toString() ?? null,
      filter.includePreemptible ?? false,
      checkOptional('limit', fields.limit, filter.limit),
    ],
  });
  return rows.map(toOffer);
}

export function toOffer({ onDemandRate, down, up, ...row }: OfferRow): Offer {
  return { ...row, netMbps: { down, up }, pricePerHour: modeRates(onDemandRate) };
}

/** SQL for an offer, from the offered machines joined with their price. */
export const OFFER_COLUMNS = `
  id as "machineId", gpu, num_gpus as "numGpus", region, cpu, vcpus, ram_gb as "ramGb", disk_left_gb as "diskGb",
  net_down_mbps as down, net_up_mbps as up, ports, pcie, nvlink, cuda_max as "cudaMax", reliability, preemptible, demo,
  on_demand_rate * num_gpus as "onDemandRate"`;

const OFFERS_SQL = `
  with price as (${CURRENT_PRICES}), offered as (${OFFERED_MACHINES})
  select ${OFFER_COLUMNS} from offered join price using (gpu)
  where ($1::text is null or gpu = $1) and ($2::text is null or region = $2) and num_gpus >= $3::int
    and ($4::bigint is null or on_demand_rate * num_gpus <= $4) and ($5::boolean or not preemptible)
  order by on_demand_rate * num_gpus, reliability desc, id
  limit $6::int`;
