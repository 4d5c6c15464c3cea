import type { KernelDeps } from '../kernel/deps.js';
import type { Micro, Rate } from '../kernel/money.js';
import { modeRates } from '../kernel/price-rule.js';
import type { MarketDeps } from './deps.js';
import type { GpuPrice, PriceSheet } from './price-sheet.js';

/**
 * Returns the newest snapshot's prices in catalogue order, with the number of GPUs of each model that can be deployed
 * now.
 */
export async function priceSheet(deps: Pick<MarketDeps, 'settings' | 'inventory'>): Promise<PriceSheet> {
  const { catalogue, offers } = await deps.inventory.current();
  const data = catalogue.gpuModels.flatMap(({ slug, name, vramGb, tier }): GpuPrice[] => {
    const price = catalogue.prices.get(slug);
    if (price === undefined) return [];
    const { onDemandRate, marketMedian, listings, snapshot } = price;
    return [
      {
        slug,
        name,
        vramGb,
        tier,
        pricePerGpuHour: modeRates(onDemandRate),
        marketMedian,
        listings,
        snapshot,
        availableGpus: offers.availableGpus(slug),
        url: `${deps.settings.publicUrl}/v1/offers?gpu=${encodeURIComponent(slug)}`,
      },
    ];
  });
  return { marketSnapshot: catalogue.marketSnapshot, data };
}

/** A model's price in one snapshot. */
export interface PastPrice {
  snapshot: string;
  onDemand: Rate;
  marketMedian: Micro | null;
  listings: number;
}

/** Returns up to 1,000 of the model's prices, oldest first, from the newest snapshots dated between `from` and `to`. */
export async function priceHistory(
  deps: Pick<KernelDeps, 'db'>,
  gpu: string,
  period: { from?: string | null; to?: string | null },
): Promise<PastPrice[]> {
  const { rows } = await deps.db.pool.query<PastPrice>({
    name: 'price-history',
    text: `select * from (
             select to_char(snapshot_date, 'YYYY-MM-DD') as snapshot, on_demand_rate as "onDemand",
               median_micro as "marketMedian", listings
             from gpu_price where gpu = $1 and snapshot_date between coalesce($2::date, '-infinity') and coalesce($3::date, 'infinity')
             order by snapshot_date desc limit 1000
           ) newest order by snapshot`,
    values: [gpu, period.from ?? null, period.to ?? null],
  });
  return rows;
}

/** A model's recent prices. */
export interface PriceTrend {
  gpu: string;
  /** Prices, oldest first. The last one is the price in the current sheet. */
  onDemand: Rate[];
}

/**
 * Returns each model's on-demand prices in the newest 26 snapshots, which cover half a year if published weekly. Models
 * without prices are omitted.
 */
export async function priceTrends(deps: Pick<KernelDeps, 'db'>): Promise<PriceTrend[]> {
  const { rows } = await deps.db.pool.query<{ gpu: string; onDemand: Rate }>({
    name: 'price-trends',
    text: `select gpu, on_demand_rate as "onDemand" from gpu_price
           where snapshot_date in (select date from market_snapshot order by date desc limit 26)
           order by gpu, snapshot_date`,
  });
  const trends = new Map<string, Rate[]>();
  for (const { gpu, onDemand } of rows) {
    const trend = trends.get(gpu);
    if (trend === undefined) trends.set(gpu, [onDemand]);
    else trend.push(onDemand);
  }
  return [...trends].map(([gpu, onDemand]) => ({ gpu, onDemand }));
}
