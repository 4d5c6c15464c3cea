import type pg from 'pg';
import type { Deps } from './deps.js';
import { OFFERED_MACHINES } from './inventory.js';
import type { Micro, Rate } from './rules/money.js';
import { type ModeRates, modeRates } from './rules/price-rule.js';

/** SQL for the prices of the newest snapshot. */
export const CURRENT_PRICES = `
  select gpu, on_demand_rate, median_micro, listings, snapshot_date from gpu_price
  where snapshot_date = (select max(date) from market_snapshot)`;

export interface GpuPrice {
  slug: string;
  name: string;
  vramGb: number;
  tier: 'FLAGSHIP' | 'DATACENTER' | 'CONSUMER_FLAGSHIP' | 'CONSUMER';
  pricePerGpuHour: ModeRates;
  marketMedian: Micro | null;
  /** Listings that the median was made from. */
  listings: number;
  /** The snapshot's date, YYYY-MM-DD. */
  snapshot: string;
  /** GPUs in the offers of the model. */
  availableGpus: number;
  url: string;
}

export interface PriceSheet {
  /** YYYY-MM-DD; 1970-01-01 while no market data was ever published. */
  marketSnapshot: string;
  data: GpuPrice[];
}

type PriceRow = Omit<GpuPrice, 'pricePerGpuHour' | 'url'> & { onDemandRate: Rate };

/** The newest snapshot's prices in catalogue order, with what can be deployed now. */
export async function priceSheet(deps: Deps): Promise<PriceSheet> {
  const [snapshots, prices] = await Promise.all([
    deps.db.pool.query<{ date: string }>(`select to_char(max(date), 'YYYY-MM-DD') as date from market_snapshot`),
    deps.db.pool.query<PriceRow>({ name: 'price-sheet', text: PRICE_SHEET_SQL }),
  ]);
  const data = prices.rows.map(({ onDemandRate, ...row }) => ({
    ...row,
    pricePerGpuHour: modeRates(onDemandRate),
    url: `${deps.settings.publicUrl}/v1/offers?gpu=${encodeURIComponent(row.slug)}`,
  }));
  return { marketSnapshot: snapshots.rows[0]!.date, data };
}

/** What a model cost from one snapshot on. */
export interface PastPrice {
  snapshot: string;
  onDemand: Rate;
  marketMedian: Micro | null;
  listings: number;
}

/** The model's prices in the snapshots of the days from `from` to `to`, oldest first; the newest 1,000 of them. */
export async function priceHistory(
  deps: Deps,
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

const PRICE_SHEET_SQL = `
  with price as (${CURRENT_PRICES}), offered as (${OFFERED_MACHINES}),
  available as (select gpu, sum(num_gpus)::int as gpus from offered where not preemptible group by gpu)
  select model.slug, model.name, model.vram_gb as "vramGb", model.tier, price.on_demand_rate as "onDemandRate",
    price.median_micro as "marketMedian", price.listings, to_char(price.snapshot_date, 'YYYY-MM-DD') as snapshot,
    coalesce(available.gpus, 0) as "availableGpus"
  from gpu_model model join price on price.gpu = model.slug left join available on available.gpu = model.slug
  order by model.position`;

/** The USD per GPU-hour of a model in the newest snapshot, in micro-USD. */
export async function publishedRate(client: pg.PoolClient, gpu: string): Promise<bigint> {
  const { rows } = await client.query<{ rate: bigint }>({
    name: 'published-rate',
    text: 'select on_demand_rate as rate from gpu_price where gpu = $1 order by snapshot_date desc limit 1',
    values: [gpu],
  });
  if (rows[0] === undefined) throw new Error(`model ${gpu} has no price`);
  return rows[0].rate;
}
