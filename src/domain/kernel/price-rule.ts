import { type Listing, ListingPrices } from './median.js';
import { floorDivide, type Micro, type Rate } from './money.js';

export type PricingMode = 'ON_DEMAND' | 'INTERRUPTIBLE' | 'RESERVED';

/** Price in each mode, in micro-USD per hour. */
export interface ModeRates {
  onDemand: Rate;
  interruptible: Rate;
  reserved: Rate;
}

/** The rule as published. */
export const PRICE_RULE = 'public marketplace median for the model x 0.70, rounded down';

const MICRO_PER_CENT = 10_000n;
/** Returns the median × 0.70, rounded down to the cent, but at least one cent. */
export function onDemandRate(medianMicro: Micro): Rate {
  const cents = floorDivide(medianMicro * 70n, 100n * MICRO_PER_CENT);
  return (cents < 1n ? 1n : cents) * MICRO_PER_CENT;
}

/**
 * Returns the rate to publish. If there is a median, the rate follows from it. Otherwise, it is the last published rate
 * or, for a new model, follows from the reference price.
 */
export function publishedRate(
  { medianMicro, referencePriceMicro }: { medianMicro: Micro | null; referencePriceMicro: Micro },
  lastPublished: Rate | null,
): Rate {
  if (medianMicro !== null) return onDemandRate(medianMicro);
  return lastPublished ?? onDemandRate(referencePriceMicro);
}

/**
 * Returns the rates for all modes. Interruptible is 50% of on-demand and reserved is 65%. Both are exact, because
 * on-demand rates are whole cents.
 */
export function modeRates(onDemand: Rate): ModeRates {
  return { onDemand, interruptible: (onDemand * 50n) / 100n, reserved: (onDemand * 65n) / 100n };
}

export function rateInMode(onDemand: Rate, mode: PricingMode): Rate {
  const rates = modeRates(onDemand);
  return { ON_DEMAND: rates.onDemand, INTERRUPTIBLE: rates.interruptible, RESERVED: rates.reserved }[mode];
}

/** The rates locked when an instance is deployed, in micro-USD per hour. */
export interface LockedRates {
  /** The whole machine's rate in the instance's mode. */
  gpuRate: Rate;
  diskRate: Rate;
  /** The whole machine's on-demand rate. */
  onDemandRate: Rate;
}

/**
 * Returns the rates locked by a deploy. `ratePerGpu` is the published on-demand rate per GPU, which is multiplied by
 * the machine's number of GPUs.
 */
export function lockedRates(
  { numGpus, ratePerGpu }: { numGpus: number; ratePerGpu: Rate },
  { mode, diskGb }: { mode: PricingMode; diskGb: number },
  diskRatePerGb: Rate,
): LockedRates {
  const onDemandRate = ratePerGpu * BigInt(numGpus);
  return { gpuRate: rateInMode(onDemandRate, mode), diskRate: diskRatePerGb * BigInt(diskGb), onDemandRate };
}

/** Minimum number of listings for a meaningful median. */
const MEDIAN_MIN_LISTINGS = 5;
/** Medians in USD have 4 decimals. */
const MICRO_PER_MEDIAN_STEP = 100n;

/**
 * Returns the median price per GPU-hour, rounded half up to 4 decimals. Returns null if there are fewer than 5
 * listings.
 */
export function marketMedian(listings: readonly Listing[]): Micro | null {
  const prices = new ListingPrices();
  for (const listing of listings) prices.add(listing);
  return medianOf(prices);
}

/** Like `marketMedian`, but for prices that have already been collected. */
export function medianOf(prices: ListingPrices): Micro | null {
  if (prices.count < MEDIAN_MIN_LISTINGS) return null;
  // The fractions are exact, so nothing is rounded before the median.
  const [low, high] = prices.middle();
  const dividend = low.priceMicro * high.numGpus + high.priceMicro * low.numGpus;
  const divisor = 2n * low.numGpus * high.numGpus * MICRO_PER_MEDIAN_STEP;
  return floorDivide(2n * dividend + divisor, 2n * divisor) * MICRO_PER_MEDIAN_STEP;
}
