import type { GpuTier } from '../kernel/gpu-tier.js';
import type { Micro } from '../kernel/money.js';
import type { ModeRates } from '../kernel/price-rule.js';

export interface GpuPrice {
  slug: string;
  name: string;
  vramGb: number;
  tier: GpuTier;
  pricePerGpuHour: ModeRates;
  marketMedian: Micro | null;
  /** Number of listings that the median is based on. */
  listings: number;
  /** Snapshot date (YYYY-MM-DD). */
  snapshot: string;
  /** Number of GPUs in the model's offers. */
  availableGpus: number;
  url: string;
}

export interface PriceSheet {
  /** YYYY-MM-DD, or 1970-01-01 until market data has been published. */
  marketSnapshot: string;
  data: GpuPrice[];
}
