import type { Micro } from './money.js';

/** The orders of machines that are large enough for a model. */
export const FIT_ORDERS = ['RECOMMENDED', 'CHEAPEST', 'FASTEST'] as const;
export type FitOrder = (typeof FIT_ORDERS)[number];

/**
 * Multiple of the bandwidth per USD that a machine needs to come before one with half as many GPUs. A split model spends
 * time on communication between its GPUs, so more of them are worth it only if they are much cheaper.
 */
const FACTOR_PER_DOUBLING = 4n;

interface Sized {
  numGpus: number;
  /** Price of the whole machine per hour. */
  price: Micro;
  /** Memory bandwidth of all GPUs in GB/s. Undefined if it is unknown. */
  bandwidth: number | undefined;
  /** Whether the machine runs containers. */
  hasAgent: boolean;
}

const bandwidthOf = ({ bandwidth = 0 }: Sized): bigint => BigInt(Math.round(bandwidth));

/** Returns how often one GPU must be doubled for at least this number of GPUs. */
const doublings = (numGpus: number): bigint => BigInt(32 - Math.clz32(numGpus - 1));

const weighted = ({ numGpus, price }: Sized): bigint => price * FACTOR_PER_DOUBLING ** doublings(numGpus);

/** Compares bandwidth per USD without a division, so that nothing is rounded. */
const byValue = (one: Sized, other: Sized): bigint =>
  bandwidthOf(other) * weighted(one) - bandwidthOf(one) * weighted(other);
const byPrice = (one: Sized, other: Sized): bigint => one.price - other.price;
const byBandwidthPerGpu = (one: Sized, other: Sized): bigint =>
  bandwidthOf(other) * BigInt(one.numGpus) - bandwidthOf(one) * BigInt(other.numGpus);

const COMPARISONS = { RECOMMENDED: byValue, CHEAPEST: byPrice, FASTEST: byBandwidthPerGpu };

/**
 * Compares machines that are large enough for a model. Those that run containers come first. The recommended order is
 * by memory bandwidth per USD, in which fewer GPUs count more. The fastest order is by the bandwidth of each GPU. Among
 * equal ones, the cheaper one and then the one with fewer GPUs comes first.
 */
export function compareFits(order: FitOrder, one: Sized, other: Sized): number {
  const byAgent = Number(other.hasAgent) - Number(one.hasAgent);
  const compared = COMPARISONS[order](one, other) || byPrice(one, other);
  return byAgent || Number(compared) || one.numGpus - other.numGpus;
}
