import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Prisma } from '../../database/database.js';
import type { Deps } from '../deps.js';
import type { FileRecord } from '../import.js';
import { checkJumps, checkListings, checkLosses, checkNewer, type PriceMove } from '../rules/market-snapshot.js';
import { type Listing, ListingPrices } from '../rules/median.js';
import { type Micro, parseUsd } from '../rules/money.js';
import { medianOf, publishedRate } from '../rules/price-rule.js';
import { type Clock, dateOf, dateOfDay, formatDay, type Instant, SECONDS_PER_DAY } from '../rules/time.js';
import { SeenIds } from './seen-ids.js';

/** The figures of one model in a snapshot. */
export interface MarketFigure {
  gpu: string;
  medianMicro: Micro | null;
  listings: number;
  /** Prices a model that has no median and was never published. */
  referencePriceMicro: Micro;
}

/** One row of a market file as text, with its line number for messages. */
export interface ListingRow {
  line: number;
  listingId: string;
  gpuSlug: string;
  numGpus: string;
  priceUsdHour: string;
}

/** What a market file would change. */
export interface MarketPlan {
  date: string;
  listings: number;
  /** One for each model, in catalogue order. */
  models: ModelPlan[];
  /** Slugs that are not in the catalogue, each with the number of its rows; the first 20 of them. */
  unknownSlugs: Map<string, number>;
  /** Rows of all slugs that are not in the catalogue. */
  unknownCount: number;
  /** Rows that could not be read; the first 20 of them. */
  rejected: { line: number; reason: string }[];
  rejectedCount: number;
  /** Rows with the id of a listing that counts already; the first 20 of them. */
  repeated: { line: number; listingId: string }[];
  repeatedCount: number;
}

export interface ModelPlan extends MarketFigure, PriceMove {
  oldMedianMicro: Micro | null;
}

/** Columns of a market file. */
export const LISTING_COLUMNS = ['listing_id', 'gpu_slug', 'num_gpus', 'price_usd_hour', 'region'];

const PROGRESS_EVERY_ROWS = 1_000;
/** A damaged file has a fault in each of its many rows. */
const MAX_LISTED = 20;
const MAX_ID_SHOWN = 100;
/** A listing with more GPUs or a higher price than this is a fault of the file. */
const MAX_LISTING_GPUS = 1_024;
const MAX_LISTING_MICRO = 1_000_000_000_000n;
/** Serialises publications, so that each sees the last one. */
const PUBLISH_LOCK = 4_207_002;

/** The rows of a market file as text. */
export async function* listingRows(records: AsyncIterable<FileRecord>): AsyncGenerator<ListingRow> {
  for await (const { line, fields } of records) {
    const { listing_id = '', gpu_slug = '', num_gpus = '', price_usd_hour = '' } = fields as Record<string, string>;
    yield { line, listingId: listing_id, gpuSlug: gpu_slug, numGpus: num_gpus, priceUsdHour: price_usd_hour };
  }
}

/**
 * Reads listings one by one and computes medians and prices by the rule. Changes nothing. Refuses a date that isn't
 * newer. `onProgress` receives the number of rows read so far, every 1,000 rows.
 */
export async function planSnapshot(
  deps: Deps,
  date: string,
  rows: AsyncIterable<ListingRow>,
  onProgress?: (rows: number) => void,
): Promise<MarketPlan> {
  checkNewer(date, await currentDay(deps.db.prisma), tomorrowOf(deps.clock));
  const models = await deps.db.prisma.gpuModel.findMany({ orderBy: { position: 'asc' } });
  const prices = new Map(models.map(({ slug }) => [slug, new ListingPrices()]));
  const seen = new SeenIds();
  const plan: MarketPlan = {
    ...{ date, listings: 0, models: [], unknownSlugs: new Map(), unknownCount: 0 },
    ...{ rejected: [], rejectedCount: 0, repeated: [], repeatedCount: 0 },
  };
  let read = 0;
  for await (const row of rows) {
    read += 1;
    if (read % PROGRESS_EVERY_ROWS === 0) onProgress?.(read);
    const ofModel = prices.get(row.gpuSlug);
    const listing = readListing(row);
    if (typeof listing === 'string') reject(plan, row.line, listing);
    else if (ofModel === undefined) noteUnknown(plan, row);
    else if (!seen.add(row.listingId)) noteRepeat(plan, row);
    else {
      ofModel.add(listing);
      plan.listings += 1;
      checkListings(plan.listings);
    }
  }
  checkListings(plan.listings);
  const published = await lastPrices(deps.db.prisma);
  for (const { slug, referencePriceMicro } of models) {
    // Requests are answered in between: a model may have millions of listings.
    await nextTurn();
    const found = prices.get(slug)!;
    const medianMicro = medianOf(found);
    const last = published.get(slug);
    plan.models.push({
      gpu: slug,
      referencePriceMicro,
      medianMicro,
      listings: found.count,
      oldMedianMicro: last?.medianMicro ?? null,
      oldRate: last?.onDemandRate ?? null,
      newRate: publishedRate({ medianMicro, referencePriceMicro }, last?.onDemandRate ?? null),
    });
  }
  return plan;
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

/** The listing, or the reason why the row is rejected. */
function readListing({ listingId, gpuSlug, numGpus, priceUsdHour }: ListingRow): Listing | string {
  if (listingId === '') return 'listing_id is empty';
  if (gpuSlug === '') return 'gpu_slug is empty';
  const gpus = /^\d{1,4}$/.test(numGpus) ? Number(numGpus) : 0;
  if (gpus < 1 || gpus > MAX_LISTING_GPUS) return `num_gpus must be a whole number from 1 to ${MAX_LISTING_GPUS}`;
  const priceMicro = parseUsd(priceUsdHour);
  if (priceMicro === null || priceMicro <= 0n || priceMicro > MAX_LISTING_MICRO) {
    return 'price_usd_hour must be a number above 0, at most 1000000, with at most 6 decimals';
  }
  return { priceMicro, numGpus: BigInt(gpus) };
}

function reject(plan: MarketPlan, line: number, reason: string): void {
  plan.rejectedCount += 1;
  if (plan.rejected.length < MAX_LISTED) plan.rejected.push({ line, reason });
}

function noteRepeat(plan: MarketPlan, { line, listingId }: ListingRow): void {
  plan.repeatedCount += 1;
  if (plan.repeated.length < MAX_LISTED) plan.repeated.push({ line, listingId: listingId.slice(0, MAX_ID_SHOWN) });
}

function noteUnknown(plan: MarketPlan, { gpuSlug }: ListingRow): void {
  plan.unknownCount += 1;
  const slug = gpuSlug.slice(0, MAX_ID_SHOWN);
  const rows = plan.unknownSlugs.get(slug);
  if (rows !== undefined || plan.unknownSlugs.size < MAX_LISTED) plan.unknownSlugs.set(slug, (rows ?? 0) + 1);
}

function tomorrowOf(clock: Clock): string {
  return formatDay(dateOf(clock.now() + SECONDS_PER_DAY));
}

/** Of the newest snapshot; null: there is none. */
async function currentDay(db: Prisma.TransactionClient): Promise<string | null> {
  const last = await db.marketSnapshot.findFirst({ orderBy: { date: 'desc' } });
  return last && formatDay(last.date);
}
