import type { Micro } from './money.js';

/**
 * Percent of the price that each doubling of the number of GPUs counts for, because a split model spends time on
 * communication between its GPUs.
 */
const PERCENT_PER_DOUBLING = 10n;

interface Priced {
  numGpus: number;
  /** Price of the whole machine per hour. */
  price: Micro;
  /** Whether the machine runs containers. */
  hasAgent: boolean;
}

/** Returns how often one GPU must be doubled for at least this number of GPUs. */
const doublings = (numGpus: number): bigint => BigInt(32 - Math.clz32(numGpus - 1));

const weighted = ({ numGpus, price }: Priced): bigint => price * (100n + PERCENT_PER_DOUBLING * doublings(numGpus));

/**
 * Compares machines that are large enough for a model. Those that run containers come first, then those with the lowest
 * price, where fewer GPUs may cost slightly more.
 */
export function compareFits(one: Priced, other: Priced): number {
  const byAgent = Number(other.hasAgent) - Number(one.hasAgent);
  return byAgent || Number(weighted(one) - weighted(other)) || one.numGpus - other.numGpus;
}

/**
 * Returns the cheapest machine of the first one's kind, and by how many percent the first one is more expensive, rounded
 * up. Null if the first one is the cheapest.
 */
export function cheaperThan<Row extends Priced>(first: Row, all: readonly Row[]): { row: Row; percent: bigint } | null {
  const alike = all.filter(({ hasAgent }) => hasAgent === first.hasAgent);
  const row = alike.reduce((least, each) => (each.price < least.price ? each : least), first);
  if (row.price === first.price || row.price === 0n) return null;
  return { row, percent: ((first.price - row.price) * 100n + row.price - 1n) / row.price };
}
