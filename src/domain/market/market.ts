import type pg from 'pg';
import { only } from '../../database/only.js';
import { insertRows } from '../../database/rows.js';
import { inLongTransaction, type PreparedStatement } from '../../database/transaction.js';
import { required } from '../../std/required.js';
import type { KernelDeps } from '../kernel/deps.js';
import type { NamedModel } from '../kernel/gpu-names.js';
import type { Micro } from '../kernel/money.js';
import { publishedRate } from '../kernel/price-rule.js';
import { type Clock, dateOf, formatDay, formatInstant, type Instant, SECONDS_PER_DAY } from '../kernel/time.js';
import type { MarketReading } from './listings.js';
import { checkJumps, checkLosses, checkNewer, type PriceMove } from './rules/market-snapshot.js';

/** A model's figures in a snapshot. */
export interface MarketFigure {
  gpu: string;
  medianMicro: Micro | null;
  listings: number;
  /** Price used if the model has neither a median nor a previously published price. */
  referencePriceMicro: Micro;
}

/** The changes that a market file would make. */
export interface MarketPlan extends Omit<MarketReading, 'models'> {
  date: string;
  /** One entry per model, in catalogue order. */
  models: ModelPlan[];
}

export interface ModelPlan extends MarketFigure, PriceMove {
  oldMedianMicro: Micro | null;
}

/** Lock that serializes publications, so that each builds on the previous one. */
const PUBLISH_LOCK = 4_207_002;

/** Reads a market file's listings for the models in the catalogue. */
export type MarketReader = (models: readonly NamedModel[]) => Promise<MarketReading>;

/**
 * Reads a market and computes prices without changing anything. Throws before reading if the date isn't newer than the
 * newest snapshot's.
 */
export async function planSnapshot(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  date: string,
  read: MarketReader,
): Promise<MarketPlan> {
  checkNewer(date, await currentDay(deps.db.pool), tomorrowOf(deps.clock));
  const models = await deps.db.prisma.gpuModel.findMany({ orderBy: { position: 'asc' } });
  const reading = await read(models.map(({ slug, name, vramGb }) => ({ slug, name, vramGb })));
  const published = await lastPrices(deps.db.pool);
  const planned = models.map(({ slug, referencePriceMicro }): ModelPlan => {
    const { medianMicro, listings } = required(reading.models.get(slug), 'model of a reading');
    const last = published.get(slug);
    const newRate = publishedRate({ medianMicro, referencePriceMicro }, last?.onDemandRate ?? null);
    const old = { oldMedianMicro: last?.medianMicro ?? null, oldRate: last?.onDemandRate ?? null };
    return { gpu: slug, referencePriceMicro, medianMicro, listings, ...old, newRate };
  });
  return { ...reading, date, models: planned };
}

/**
 * Publishes a plan, running the `alongside` statements in the same transaction. Throws if a price changes by more than
 * `maxJumpPercent` (null means no limit), if too many models lose their median, or if the date is no longer newer than
 * the newest snapshot's.
 */
export async function publishPlan(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  plan: MarketPlan,
  maxJumpPercent: number | null,
  alongside: readonly PreparedStatement[] = [],
): Promise<void> {
  checkJumps(plan.models, maxJumpPercent);
  checkLosses(plan.models, maxJumpPercent);
  await inLongTransaction(deps.db.pool, async (transaction) => {
    await transaction.run({ ...TAKE_PUBLISH_LOCK, values: [PUBLISH_LOCK] });
    checkNewer(plan.date, await currentDay(transaction), tomorrowOf(deps.clock));
    const published = await lastPrices(transaction);
    const snapshot = { date: plan.date, publishedAt: deps.clock.now(), figures: plan.models };
    transaction.later(...publication(snapshot, published), ...alongside);
  });
}

const TAKE_PUBLISH_LOCK = { name: 'publish-lock', text: 'select pg_advisory_xact_lock($1)' };

/** Returns the statements that publish a snapshot. A model with a null median keeps its last published price. */
export function publication(
  { date, publishedAt, figures }: { date: string; publishedAt: Instant; figures: readonly MarketFigure[] },
  published: ReadonlyMap<string, LastPrice>,
): PreparedStatement[] {
  const prices = figures.map((figure) => ({
    snapshotDate: date,
    gpu: figure.gpu,
    medianMicro: figure.medianMicro,
    listings: figure.listings,
    onDemandRate: publishedRate(figure, published.get(figure.gpu)?.onDemandRate ?? null),
  }));
  const snapshot = insertRows('market_snapshot', [{ date, publishedAt: formatInstant(publishedAt) }]);
  return prices.length === 0 ? [snapshot] : [snapshot, insertRows('gpu_price', prices)];
}

/** A model's most recently published price. */
interface LastPrice {
  onDemandRate: Micro;
  medianMicro: Micro | null;
}

/** A connection pool or a transaction. */
interface Reader {
  query<T extends pg.QueryResultRow>(text: string): Promise<pg.QueryResult<T>>;
}

async function lastPrices(db: Reader): Promise<Map<string, LastPrice>> {
  const { rows } = await db.query<LastPrice & { gpu: string }>(
    `select distinct on (gpu) gpu, on_demand_rate as "onDemandRate", median_micro as "medianMicro"
     from gpu_price order by gpu, snapshot_date desc`,
  );
  return new Map(rows.map((row) => [row.gpu, row]));
}

function tomorrowOf(clock: Clock): string {
  return formatDay(dateOf(clock.now() + SECONDS_PER_DAY));
}

/** Returns the date of the newest snapshot, or null if there is none yet. */
async function currentDay(db: Reader): Promise<string | null> {
  const { rows } = await db.query<{ day: string | null }>('select max(date)::text as day from market_snapshot');
  return only(rows).day;
}
