import type { Prisma } from '../../database/database.js';
import type { Deps } from '../deps.js';
import type { NamedModel } from '../rules/gpu-names.js';
import { checkJumps, checkLosses, checkNewer, type PriceMove } from '../rules/market-snapshot.js';
import type { Micro } from '../rules/money.js';
import { publishedRate } from '../rules/price-rule.js';
import { type Clock, dateOf, dateOfDay, formatDay, type Instant, SECONDS_PER_DAY } from '../rules/time.js';
import type { MarketReading } from './listings.js';

/** The figures of one model in a snapshot. */
export interface MarketFigure {
  gpu: string;
  medianMicro: Micro | null;
  listings: number;
  /** Prices a model that has no median and was never published. */
  referencePriceMicro: Micro;
}

/** What a market file would change. */
export interface MarketPlan extends Omit<MarketReading, 'models'> {
  date: string;
  /** One for each model, in catalogue order. */
  models: ModelPlan[];
}

export interface ModelPlan extends MarketFigure, PriceMove {
  oldMedianMicro: Micro | null;
}

/** Serialises publications, so that each sees the last one. */
const PUBLISH_LOCK = 4_207_002;

/** Reads the listings of a market file, given the models of the catalogue. */
export type MarketReader = (models: readonly NamedModel[]) => Promise<MarketReading>;

/** Reads a market and computes prices by the rule. Changes nothing. Refuses a date that isn't newer, before it reads. */
export async function planSnapshot(deps: Deps, date: string, read: MarketReader): Promise<MarketPlan> {
  checkNewer(date, await currentDay(deps.db.prisma), tomorrowOf(deps.clock));
  const models = await deps.db.prisma.gpuModel.findMany({ orderBy: { position: 'asc' } });
  const reading = await read(models.map(({ slug, name, vramGb }) => ({ slug, name, vramGb })));
  const published = await lastPrices(deps.db.prisma);
  const planned = models.map(({ slug, referencePriceMicro }): ModelPlan => {
    const { medianMicro, listings } = reading.models.get(slug)!;
    const last = published.get(slug);
    const newRate = publishedRate({ medianMicro, referencePriceMicro }, last?.onDemandRate ?? null);
    const old = { oldMedianMicro: last?.medianMicro ?? null, oldRate: last?.onDemandRate ?? null };
    return { gpu: slug, referencePriceMicro, medianMicro, listings, ...old, newRate };
  });
  return { ...reading, date, models: planned };
}

/**
 * Publishes a plan and, in the same transaction, what `alongside` writes. Refuses prices that move by more than
 * `maxJumpPercent` (null: no limit), medians that are lost by more of the models, and a date that is no longer newer.
 */
export async function publishPlan(
  deps: Deps,
  plan: MarketPlan,
  maxJumpPercent: number | null,
  alongside?: (tx: Prisma.TransactionClient) => Promise<unknown>,
): Promise<void> {
  checkJumps(plan.models, maxJumpPercent);
  checkLosses(plan.models, maxJumpPercent);
  await deps.db.prisma.$transaction(async (tx) => {
    await tx.$executeRaw`select pg_advisory_xact_lock(${PUBLISH_LOCK})`;
    checkNewer(plan.date, await currentDay(tx), tomorrowOf(deps.clock));
    await publishSnapshot(tx, { date: plan.date, publishedAt: deps.clock.now(), figures: plan.models });
    await alongside?.(tx);
  });
}

/** Publishes a snapshot within the caller's transaction. A null median keeps the last published price. */
export async function publishSnapshot(
  tx: Prisma.TransactionClient,
  snapshot: { date: string; publishedAt: Instant; figures: readonly MarketFigure[] },
): Promise<void> {
  const snapshotDate = dateOfDay(snapshot.date);
  const published = await lastPrices(tx);
  await tx.marketSnapshot.create({ data: { date: snapshotDate, publishedAt: dateOf(snapshot.publishedAt) } });
  await tx.gpuPrice.createMany({
    data: snapshot.figures.map((figure) => ({
      snapshotDate,
      gpu: figure.gpu,
      medianMicro: figure.medianMicro,
      listings: figure.listings,
      onDemandRate: publishedRate(figure, published.get(figure.gpu)?.onDemandRate ?? null),
    })),
  });
}

async function lastPrices(db: Prisma.TransactionClient) {
  const prices = await db.gpuPrice.findMany({ distinct: ['gpu'], orderBy: [{ gpu: 'asc' }, { snapshotDate: 'desc' }] });
  return new Map(prices.map((price) => [price.gpu, price]));
}

function tomorrowOf(clock: Clock): string {
  return formatDay(dateOf(clock.now() + SECONDS_PER_DAY));
}

/** Of the newest snapshot; null: there is none. */
async function currentDay(db: Prisma.TransactionClient): Promise<string | null> {
  const last = await db.marketSnapshot.findFirst({ orderBy: { date: 'desc' } });
  return last && formatDay(last.date);
}
