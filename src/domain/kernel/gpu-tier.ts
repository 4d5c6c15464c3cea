import { required } from '../../std/required.js';
/** Tiers of GPU models, each with its spelling in REST responses and CSV files. */
export const GPU_TIER_SLUGS = {
  FLAGSHIP: 'flagship',
  DATACENTER: 'datacenter',
  CONSUMER_FLAGSHIP: 'consumer-flagship',
  CONSUMER: 'consumer',
} as const;

export type GpuTier = keyof typeof GPU_TIER_SLUGS;

export const GPU_TIERS = Object.keys(GPU_TIER_SLUGS) as GpuTier[];

export function gpuTierOfSlug(slug: (typeof GPU_TIER_SLUGS)[GpuTier]): GpuTier {
  return required(
    GPU_TIERS.find((tier) => GPU_TIER_SLUGS[tier] === slug),
    'GPU tier',
  );
}
