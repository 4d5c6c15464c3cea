import type { FileRecord } from '../import.js';
import { microOf } from '../rules/decimal.js';
import { modelsNamed, type NamedModel } from '../rules/gpu-names.js';
import { checkListings } from '../rules/market-snapshot.js';
import { type Listing, ListingPrices } from '../rules/median.js';
import type { Micro } from '../rules/money.js';
import { medianOf } from '../rules/price-rule.js';
import { SeenIds } from './seen-ids.js';

/** One row of a market file as text, with its line number for messages. */
export interface ListingRow {
  line: number;
  listingId: string;
  gpuSlug: string;
  numGpus: string;
  priceUsdHour: string;
}

/** What the rows of a market file say. Plain values: a thread hands it to another. */
export interface MarketReading {
  listings: number;
  /** One for each slug of the catalogue. */
  models: Map<string, { medianMicro: Micro | null; listings: number }>;
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

/** Columns of a market file. */
export const LISTING_COLUMNS = ['listing_id', 'gpu_slug', 'num_gpus', 'price_usd_hour', 'region'];

const PROGRESS_EVERY_ROWS = 1_000;
/** A damaged file has a fault in each of its many rows. */
const MAX_LISTED = 20;
const MAX_ID_SHOWN = 100;
/** A listing with more GPUs or a higher price than this is a fault of the file. */
const MAX_LISTING_GPUS = 1_024;
const MAX_LISTING_MICRO = 1_000_000_000_000n;

/** Programs write whole numbers with decimals that are zero. */
const WHOLE = /^\d{1,4}(?:\.0{1,6})?$/;
/** Names that are kept with the slug that they stand for. */
const MAX_NAMES = 2_000;

/** The rows of a market file as text. */
export async function* listingRows(records: AsyncIterable<FileRecord>): AsyncGenerator<ListingRow> {
  for await (const { line, fields } of records) {
    const { listing_id, gpu_slug, num_gpus, price_usd_hour } = fields;
    const [listingId, gpuSlug] = [textOf(listing_id), textOf(gpu_slug)];
    yield { line, listingId, gpuSlug, numGpus: textOf(num_gpus), priceUsdHour: textOf(price_usd_hour) };
  }
}

/** A JSON file may have numbers; any other value counts as empty. */
function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/**
 * Reads listings one by one and computes the median of each model by the rule. Refuses, with invalid_request, no listing
 * of these models and too many. A name that stands for one model counts for it. `onProgress` receives the number of rows read so far, every 1,000 rows.
 */
export async function readListings(
  models: readonly NamedModel[],
  rows: AsyncIterable<ListingRow>,
  onProgress?: (rows: number) => void,
): Promise<MarketReading> {
  const prices = new Map(models.map(({ slug }) => [slug, new ListingPrices()]));
  const slugOf = createSlugs(models);
  const seen = new SeenIds();
  const reading: MarketReading = {
    ...{ listings: 0, models: new Map(), unknownSlugs: new Map(), unknownCount: 0 },
    ...{ rejected: [], rejectedCount: 0, repeated: [], repeatedCount: 0 },
  };
  let read = 0;
  for await (const row of rows) {
    read += 1;
    if (read % PROGRESS_EVERY_ROWS === 0) onProgress?.(read);
    const ofModel = prices.get(slugOf(row.gpuSlug));
    const listing = readListing(row);
    if (typeof listing === 'string') reject(reading, row.line, listing);
    else if (ofModel === undefined) noteUnknown(reading, row);
    else if (!seen.add(row.listingId)) noteRepeat(reading, row);
    else {
      ofModel.add(listing);
      reading.listings += 1;
      checkListings(reading.listings);
    }
  }
  checkListings(reading.listings);
  for (const [slug, found] of prices) reading.models.set(slug, { medianMicro: medianOf(found), listings: found.count });
  return reading;
}

/** Finds the slug of a model by any of its names; the name itself where it is of none, or of several models. */
function createSlugs(models: readonly NamedModel[]): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const named = name.length <= MAX_ID_SHOWN ? modelsNamed(models, name) : [];
    const slug = named.length === 1 ? named[0]!.slug : name;
    if (known.size < MAX_NAMES) known.set(name, slug);
    return slug;
  };
}

/** The listing, or the reason why the row is rejected. */
function readListing({ listingId, gpuSlug, numGpus, priceUsdHour }: ListingRow): Listing | string {
  if (listingId === '') return 'listing_id is empty';
  if (gpuSlug === '') return 'gpu_slug is empty';
  const gpus = WHOLE.test(numGpus) ? Number(numGpus) : 0;
  if (gpus < 1 || gpus > MAX_LISTING_GPUS) return `num_gpus must be a whole number from 1 to ${MAX_LISTING_GPUS}`;
  // Programs write what a division gives, such as 0.3505555555555556; finer than a micro-USD is cut.
  const priceMicro = microOf(priceUsdHour);
  if (priceMicro === null || priceMicro <= 0n || priceMicro > MAX_LISTING_MICRO) {
    return 'price_usd_hour must be a number of at least 0.000001 and at most 1000000';
  }
  return { priceMicro, numGpus: BigInt(gpus) };
}

function reject(reading: MarketReading, line: number, reason: string): void {
  reading.rejectedCount += 1;
  if (reading.rejected.length < MAX_LISTED) reading.rejected.push({ line, reason });
}

function noteRepeat(reading: MarketReading, { line, listingId }: ListingRow): void {
  reading.repeatedCount += 1;
  if (reading.repeated.length < MAX_LISTED)
    reading.repeated.push({ line, listingId: listingId.slice(0, MAX_ID_SHOWN) });
}

function noteUnknown(reading: MarketReading, { gpuSlug }: ListingRow): void {
  reading.unknownCount += 1;
  const slug = gpuSlug.slice(0, MAX_ID_SHOWN);
  const rows = reading.unknownSlugs.get(slug);
  if (rows !== undefined || reading.unknownSlugs.size < MAX_LISTED) reading.unknownSlugs.set(slug, (rows ?? 0) + 1);
}
