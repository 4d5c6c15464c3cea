import { MICRO_PER_USD, type Micro } from '../../kernel/money.js';

/** Multipliers for the base limit, each with the minimum lifetime spend in USD (docs/behaviour.md). Highest first. */
const TIERS = [
  { fromUsd: 10_000n, times: 10 },
  { fromUsd: 1_000n, times: 5 },
  { fromUsd: 100n, times: 2 },
] as const;

/** Returns how many requests per 60 s an account with this lifetime spend may make. A base of 0 means no limit. */
export function requestsPerMinute(basePerMinute: number, lifetimeSpend: Micro): number {
  const tier = TIERS.find(({ fromUsd }) => lifetimeSpend >= fromUsd * MICRO_PER_USD);
  return basePerMinute * (tier?.times ?? 1);
}
