import { microOf } from '../kernel/decimal.js';
import { modelsNamed, type NamedModel } from '../kernel/gpu-names.js';
import type { FileRecord } from '../kernel/import.js';
import { type Listing, ListingPrices } from '../kernel/median.js';
import type { Micro } from '../kernel/money.js';
import { medianOf } from '../kernel/price-rule.js';
import { checkListings } from './rules/market-snapshot.js';
import { SeenIds } from './seen-ids.js';

/** A market file row as text, with its line number for error messages. */
export interface ListingRow {
  line: number;
  listingId: string;
  gpuSlug: string;
  numGpus: string;
  priceUsdHour: string;
}

/** The contents of a market file. It has only plain values, because it is passed between threads. */
export interface MarketReading {
  listings: number;
  /** Keyed by slug, with an entry for every slug in the catalogue. */
  models: Map<string, { medianMicro: Micro | null; listings: number }>;
  /** Up to 20 slugs that aren't in the catalogue, with the number of rows for each. */
  unknownSlugs: Map<string, number>;
  /** Number of rows whose slug isn't in the catalogue. */
  unknownCount: number;
  /** The first 20 unreadable rows. */
  rejected: { line: number; reason: string }[];
  rejectedCount: number;
  /** The first 20 rows that repeat the id of a listing already counted. */
  repeated: { line: number; listingId: string }[];
  repeatedCount: number;
}

/** The columns of a market file. */
export const LISTING_COLUMNS = ['listing_id', 'gpu_slug', 'num_gpus', 'price_usd_hour', 'region'];

const PROGRESS_EVERY_ROWS = 1_000;
/** Maximum number of rows listed per kind of problem, because every row of a damaged file may have one. */
const MAX_LISTED = 20;
const MAX_ID_SHOWN = 100;
/** Maximum number of GPUs in a listing, and its maximum price. A row that exceeds either is rejected as faulty. */
const MAX_LISTING_GPUS = 1_024;
const MAX_LISTING_MICRO = 1_000_000_000_000n;

/** Matches whole numbers, including ones written with zero decimals, such as `8.0`. */
const WHOLE = /^\d{1,4}(?:\.0{1,6})?$/;
/** Maximum number of names whose slugs are cached. */
const MAX_NAMES = 2_000;

/** Yields the rows of a market file as text. */
export async function* listingRows(records: AsyncIterable<FileRecord>): AsyncGenerator<ListingRow> {
  for await (const { line, fields } of records) {
    const { listing_id, gpu_slug, num_gpus, price_usd_hour } = fields;
    const [listingId, gpuSlug] = [textOf(listing_id), textOf(gpu_slug)];
    yield { line, listingId, gpuSlug, numGpus: textOf(num_gpus), priceUsdHour: textOf(price_usd_hour) };
  }
}

/** Returns a field as text. Numbers in a JSON file are converted, and any other value counts as empty. */
function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/**
 * Reads the listings and computes each model's median price. A listing counts towards a model only if its name matches
 * no other model. Throws invalid_request if there are no listings for these models, or too many listings. Calls
 * `onProgress` every 1,000 rows with the number of rows read so far.
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
    else if (ofModel === undefined) countUnknown(reading, row);
    else if (!seen.add(row.listingId)) countRepeat(reading, row);
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

/**
 * Returns a function that resolves a GPU name to its model's slug. A name that matches no model, or more than one, is
 * returned unchanged.
 */
function createSlugs(models: readonly NamedModel[]): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const named = name.length <= MAX_ID_SHOWN ? modelsNamed(models, name) : [];
    const [first, ...others] = named;
    const slug = first === undefined || others.length > 0 ? name : first.slug;
    if (known.size < MAX_NAMES) known.set(name, slug);
    return slug;
  };
}

/** Returns the listing, or the reason for rejecting the row. */
function readListing({ listingId, gpuSlug, numGpus, priceUsdHour }: ListingRow): Listing | string {
  if (listingId === '') return 'listing_id is empty';
  if (gpuSlug === '') return 'gpu_slug is empty';
  const gpus = WHOLE.test(numGpus) ? Number(numGpus) : 0;
  if (gpus < 1 || gpus > MAX_LISTING_GPUS) return `num_gpus must be a whole number from 1 to ${MAX_LISTING_GPUS}`;
  // A price computed by division may have too many decimals, such as 0.3505555555555556. It is truncated to a whole
  // number of micro-USD.
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

function countRepeat(reading: MarketReading, { line, listingId }: ListingRow): void {
  reading.repeatedCount += 1;
  if (reading.repeated.length < MAX_LISTED)
    reading.repeated.push({ line, listingId: listingId.slice(0, MAX_ID_SHOWN) });
}

function countUnknown(reading: MarketReading, { gpuSlug }: ListingRow): void {
  reading.unknownCount += 1;
  const slug = gpuSlug.slice(0, MAX_ID_SHOWN);
  const rows = reading.unknownSlugs.get(slug);
  if (rows !== undefined || reading.unknownSlugs.size < MAX_LISTED) reading.unknownSlugs.set(slug, (rows ?? 0) + 1);
}
