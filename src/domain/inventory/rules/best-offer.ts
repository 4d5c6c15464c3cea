import { isFreeFor } from '../../kernel/free-machine.js';
import type { Rate } from '../../kernel/money.js';
import { type PricingMode, rateInMode } from '../../kernel/price-rule.js';
import { criteriaOf, type OfferCriteria, type OfferRequirements, onlyOf } from './offer-filter.js';
import { BY_PRICE, type OfferOrder } from './offer-order.js';

/** A renter's requirements for a machine to be chosen. */
export interface BestOfferRequest {
  filter: OfferRequirements;
  /** The only acceptable models and regions, in order of preference. Null accepts any. */
  gpus: readonly string[] | null;
  regions: readonly string[] | null;
  /** Maximum price of the whole machine in the chosen mode, in micro-USD per hour. Null accepts any price. */
  maxRate: Rate | null;
  diskGb: number;
  /** Host disk space needed for volumes in addition to diskGb, in GB. */
  volumeGb?: number;
  mode: PricingMode;
}

/** Which offers match the request, and how they are ranked. */
export interface BestOffer {
  criteria: OfferCriteria;
  order: OfferOrder;
}

/**
 * Returns the criteria and the order for a request. Offers are compared by these properties, most important first: the
 * renter's preferred models; the renter's preferred regions; machines that run containers before those that are only
 * records; the price in the chosen mode, which sorts the same way as the on-demand price; free machines before those
 * held by an interruptible instance; the size of the free block that would be split, smallest first; and finally the
 * usual order of offers.
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
        Number.isFinite(gpuRank(group.gpu)) &&
        Number.isFinite(regionRank(group.region)) &&
        (maxRate === null || rateInMode(group.pricePerHour.onDemand, mode) <= maxRate) &&
        required.fitsGroup(group),
    },
    order: {
      ...BY_PRICE,
      first: (one, other) =>
        gpuRank(one.gpu) - gpuRank(other.gpu) ||
        regionRank(one.region) - regionRank(other.region) ||
        Number(other.hasAgent) - Number(one.hasAgent) ||
        BY_PRICE.first(one, other) ||
        Number(one.preemptible) - Number(other.preemptible) ||
        one.breaks - other.breaks,
    },
  };
}

/**
 * Returns a function that ranks entries by their position in a list and returns infinity for entries that aren't in
 * it. Without a list, all entries rank equally.
 */
function rankIn(list: readonly string[] | null): (entry: string) => number {
  if (list === null) return () => 0;
  const ranks = new Map(list.map((entry, rank) => [entry, rank]));
  return (entry) => ranks.get(entry) ?? Number.POSITIVE_INFINITY;
}
