import type { GpuTier } from '../rules/gpu-tier.js';
import type { Micro } from '../rules/money.js';
import type { ModeRates } from '../rules/price-rule.js';

export interface GpuPrice {
  slug: string;
  name: string;
  vramGb: number;
  tier: GpuTier;
  pricePerGpuHour: ModeRates;
  marketMedian: Micro | null;
  /** Listings that the median was computed from. */
  listings: number;
  /** The snapshot's date, YYYY-MM-DD. */
  snapshot: string;
  /** GPUs in the offers of the model. */
  availableGpus: number;
  url: string;
}

export interface PriceSheet {
  /** YYYY-MM-DD; 1970-01-01 until market data is published. */
  marketSnapshot: string;
  data: GpuPrice[];
}
