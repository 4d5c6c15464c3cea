import { isFreeFor } from './free-machine.js';
import type { Rate } from './money.js';
import { criteriaOf, type OfferCriteria, type OfferRequirements, onlyOf } from './offer-filter.js';
import { BY_PRICE, type OfferOrder } from './offer-order.js';
import { type PricingMode, rateInMode } from './price-rule.js';

/** A renter's requirements for the machine to choose. */
export interface BestOfferRequest {
  filter: OfferRequirements;
  /** The only models and regions to accept, most preferred first; null: any. */
  gpus: readonly string[] | null;
  regions: readonly string[] | null;
  /** Maximum price of the whole machine in the mode, micro-USD per hour; null: any. */
  maxRate: Rate | null;
  diskGb: number;
  /** GB of the host's disk for volumes, in addition to diskGb. */
  volumeGb?: number;
  mode: PricingMode;
}

/** Which offers fit the request, and how to rank them. */
export interface BestOffer {
  criteria: OfferCriteria;
  order: OfferOrder;
}

/**
 * Returns the criteria and the order of a request: most preferred model first, then most preferred region, then
 * machines that run containers before those that are only records, then cheapest in the mode (equivalent to cheapest on
 * demand), free machines before those held by an interruptible instance, the one that breaks the smallest free block,
 * then the order of the offers.
 */
export function bestOffer({ filter, gpus, regions, maxRate, diskGb, volumeGb = 0, mode }: BestOfferRequest): BestOffer {
  const includePreemptible = filter.includePreemptible && isFreeFor(mode, 'PREEMPTIBLE');
  const diskGbMin = Math.max(filter.diskGbMin ?? 0, diskGb + volumeGb);
  const required = criteriaOf({ ...filter, includePreemptible, diskGbMin });
  const [gpuRank, regionRank] = [rankIn(gpus), rankIn(regions)];
  return {
    criteria: {
      ...required,
      gpu: onlyOf(gpus) ?? required.gpu,
      region: onlyOf(regions) ?? required.region,
      fitsGroup: (group) =>
        gpuRank(group.gpu) !== undefined &&
        regionRank(group.region) !== undefined &&
        (maxRate === null || rateInMode(group.pricePerHour.onDemand, mode) <= maxRate) &&
        required.fitsGroup(group),
    },
    order: {
      ...BY_PRICE,
      first: (one, other) =>
        gpuRank(one.gpu)! - gpuRank(other.gpu)! ||
        regionRank(one.region)! - regionRank(other.region)! ||
        Number(other.hasAgent) - Number(one.hasAgent) ||
        BY_PRICE.first(one, other) ||
        Number(one.preemptible) - Number(other.preemptible) ||
        one.breaks - other.breaks,
    },
  };
}

/**
 * Returns a function that ranks entries by their place in a list; undefined for any other entry. Without a list all are
 * equal.
 */
function rankIn(list: readonly string[] | null): (entry: string) => number | undefined {
  if (list === null) return () => 0;
  const ranks = new Map(list.map((entry, rank) => [entry, rank]));
  return (entry) => ranks.get(entry);
}
