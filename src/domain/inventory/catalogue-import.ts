import { z } from 'zod';
import { only } from '../../database/only.js';
import { putRow, type Row } from '../../database/rows.js';
import { inLongTransaction, type PreparedStatement, type Transaction } from '../../database/transaction.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { GPU_TIER_SLUGS, gpuTierOfSlug } from '../kernel/gpu-tier.js';
import {
  DryRun,
  FileFaults,
  type FileRecord,
  type ImportReport,
  readBatches,
  reportOfDryRun,
} from '../kernel/import.js';
import { parseUsd } from '../kernel/money.js';
import { onDemandRate } from '../kernel/price-rule.js';

export const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
/** Maximum number of rows in a file. All of them are read before the first one is written. */
const MAX_ROWS = 100_000;
/** Number of statements sent in one round trip. */
const STATEMENTS_PER_MESSAGE = 1_000;

const modelRow = z.object({
  slug: z.string().max(64, 'is longer than 64 characters').regex(SLUG, 'must be lowercase words joined by hyphens'),
  name: z.string().min(1, 'is missing').max(200, 'is longer than 200 characters'),
  vram_gb: whole(1, 10_000),
  tier: z.enum(GPU_TIER_SLUGS, `must be one of ${Object.values(GPU_TIER_SLUGS).join(', ')}`).transform(gpuTierOfSlug),
  nvlink: z.enum(['true', 'false'], 'must be true or false').transform((text) => text === 'true'),
  pcie_gen: whole(1, 10),
  reference_price_usd_hour: z.string().transform((text, context) => {
    const micro = parseUsd(text);
    if (micro !== null && micro > 0n) return micro;
    context.addIssue({ code: 'custom', message: 'must be an amount in USD above 0 with at most 6 decimals' });
    return z.NEVER;
  }),
});

const regionRow = z.object({
  code: z.string().max(64, 'is longer than 64 characters').regex(SLUG, 'must be lowercase words joined by hyphens'),
  name: z.string().min(1, 'is missing').max(200, 'is longer than 200 characters'),
  country: z.string().regex(/^[A-Z]{2}$/, 'must be a country code of two capitals'),
  latitude: decimal(90),
  longitude: decimal(180),
});

export const MODEL_COLUMNS = Object.keys(modelRow.shape);
export const REGION_COLUMNS = Object.keys(regionRow.shape);

/**
 * Creates or updates models by slug, either all of them or none. A new model is sold at its reference price until a
 * snapshot includes it.
 */
export function importModels(
  deps: Pick<KernelDeps, 'db'>,
  records: AsyncIterable<FileRecord>,
  dryRun: boolean,
): Promise<ImportReport> {
  return importRows(deps, records, dryRun, {
    table: 'gpu_model',
    key: 'slug',
    schema: modelRow,
    dataOf: ({ vram_gb, pcie_gen, reference_price_usd_hour, ...rest }) => {
      return { ...rest, vramGb: vram_gb, pcieGen: pcie_gen, referencePriceMicro: reference_price_usd_hour };
    },
    afterwards: ({ slug, reference_price_usd_hour }) => [
      { ...PRICE_NEW_MODEL, values: [slug, onDemandRate(reference_price_usd_hour)] },
    ],
  });
}

/** Sets the price of a new model, because every model must have one. */
const PRICE_NEW_MODEL = {
  name: 'price-new-model',
  text: `insert into gpu_price (snapshot_date, gpu, on_demand_rate, listings)
         select date, $1, $2, 0 from market_snapshot where not exists (select from gpu_price where gpu = $1)
         order by date desc limit 1`,
};

/** Creates or updates regions by code, either all of them or none. */
export function importRegions(
  deps: Pick<KernelDeps, 'db'>,
  records: AsyncIterable<FileRecord>,
  dryRun: boolean,
): Promise<ImportReport> {
  return importRows(deps, records, dryRun, { table: 'region', key: 'code', schema: regionRow, dataOf: (row) => row });
}

/** Defines how a file is read and how its rows are stored. */
interface Import<T> {
  table: 'gpu_model' | 'region' | 'template';
  /** The property that identifies a row, which is also the name of its column. */
  key: string;
  schema: z.ZodType<T>;
  dataOf(row: T): Row;
  /** Returns statements to run after a row has been written. */
  afterwards?(row: T): readonly PreparedStatement[];
}

/** Imports rows. New rows are placed after all existing ones in the catalogue. */
export async function importRows<T>(
  deps: Pick<KernelDeps, 'db'>,
  records: AsyncIterable<FileRecord>,
  dryRun: boolean,
  { table, key, schema, dataOf, afterwards = () => [] }: Import<T>,
): Promise<ImportReport> {
  const rows = await readAll(records, schema);
  const work = async (transaction: Transaction): Promise<ImportReport> => {
    const { rows: stored } = await transaction.query<{ id: string }>(`select ${key} as id from ${table}`);
    const known = new Set(stored.map(({ id }) => id));
    const [positions] = await transaction.run(LAST_POSITION);
    const first = Number(only(positions).position);
    const report: ImportReport = { created: 0, updated: 0 };
    const statements = rows.flatMap((row, index) => {
      const data: Row = { ...dataOf(row), position: first + index };
      const id = String(data[key]);
      report[known.has(id) ? 'updated' : 'created'] += 1;
      known.add(id);
      return [putRow(table, key, data, ['position']), ...afterwards(row)];
    });
    for (let sent = 0; sent < statements.length; sent += STATEMENTS_PER_MESSAGE)
      await transaction.run(...statements.slice(sent, sent + STATEMENTS_PER_MESSAGE));
    if (dryRun) throw new DryRun(report);
    return report;
  };
  return inLongTransaction(deps.db.pool, work).catch(reportOfDryRun);
}

const LAST_POSITION: PreparedStatement = {
  name: 'last-position',
  text: `select greatest((select count(*) from gpu_model), (select count(*) from region), (select count(*) from template)) as position`,
  values: [],
};

/** Reads all rows. If the file has any faults, throws an error that lists them. */
async function readAll<T>(records: AsyncIterable<FileRecord>, schema: z.ZodType<T>): Promise<T[]> {
  const faults = new FileFaults();
  const rows: T[] = [];
  for await (const batch of readBatches(records, schema, faults)) {
    for (const { row } of batch) rows.push(row);
    if (rows.length > MAX_ROWS) throw new DomainError('invalid_request', `the file has more than ${MAX_ROWS} rows`);
  }
  faults.throwIfAny();
  return rows;
}

function whole(min: number, max: number) {
  const must = `must be a whole number from ${min} to ${max}`;
  return z
    .string(must)
    .regex(/^\d{1,9}$/, must)
    .transform(Number)
    .pipe(z.number().min(min, must).max(max, must));
}

function decimal(limit: number) {
  const must = `must be a number from -${limit} to ${limit}`;
  return z
    .string(must)
    .regex(/^-?\d{1,3}(\.\d{1,10})?$/, must)
    .transform(Number)
    .pipe(z.number().min(-limit, must).max(limit, must));
}
