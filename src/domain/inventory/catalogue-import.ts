import { z } from 'zod';
import type { Prisma } from '../../database/database.js';
import type { Deps } from '../deps.js';
import { DryRun, endOfDryRun, FileFaults, type FileRecord, type ImportReport, readBatches } from '../import.js';
import { GPU_TIER_SLUGS, gpuTierOfSlug } from '../rules/gpu-tier.js';
import { parseUsd } from '../rules/money.js';
import { onDemandRate } from '../rules/price-rule.js';

export const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const IMPORT_TIMEOUT_MS = 60_000;

const modelRow = z.object({
  slug: z.string().max(64, 'is longer than 64 characters').regex(SLUG, 'must be lower-case words joined by hyphens'),
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
  code: z.string().max(64, 'is longer than 64 characters').regex(SLUG, 'must be lower-case words joined by hyphens'),
  name: z.string().min(1, 'is missing').max(200, 'is longer than 200 characters'),
  country: z.string().regex(/^[A-Z]{2}$/, 'must be a country code of two capitals'),
  latitude: decimal(90),
  longitude: decimal(180),
});

export const MODEL_COLUMNS = Object.keys(modelRow.shape);
export const REGION_COLUMNS = Object.keys(regionRow.shape);

/** Creates or updates models by slug, all or none. A new one is priced from its reference until a snapshot knows it. */
export function importModels(deps: Deps, records: AsyncIterable<FileRecord>, dryRun: boolean): Promise<ImportReport> {
  return importRows(deps, records, modelRow, dryRun, async (tx, row, position) => {
    const { slug, name, tier, nvlink } = row;
    const data = {
      name,
      tier,
      nvlink,
      vramGb: row.vram_gb,
      pcieGen: row.pcie_gen,
      referencePriceMicro: row.reference_price_usd_hour,
    };
    const known = await tx.gpuModel.findUnique({ where: { slug } });
    if (known !== null) {
      await tx.gpuModel.update({ where: { slug }, data });
      return false;
    }
    const { date } = await tx.marketSnapshot.findFirstOrThrow({ orderBy: { date: 'desc' } });
    const price = { snapshotDate: date, onDemandRate: onDemandRate(data.referencePriceMicro), listings: 0 };
    await tx.gpuModel.create({ data: { slug, position, ...data, prices: { create: price } } });
    return true;
  });
}

/** Creates or updates regions by code, all or none. */
export function importRegions(deps: Deps, records: AsyncIterable<FileRecord>, dryRun: boolean): Promise<ImportReport> {
  return importRows(deps, records, regionRow, dryRun, async (tx, { code, ...data }, position) => {
    const known = await tx.region.findUnique({ where: { code } });
    if (known === null) await tx.region.create({ data: { code, position, ...data } });
    else await tx.region.update({ where: { code }, data });
    return known === null;
  });
}

/** `put` writes one row and returns whether it is new; new rows come after all known ones in the catalogue's order. */
export async function importRows<T>(
  deps: Deps,
  records: AsyncIterable<FileRecord>,
  schema: z.ZodType<T>,
  dryRun: boolean,
  put: (tx: Prisma.TransactionClient, row: T, position: number) => Promise<boolean>,
): Promise<ImportReport> {
  const faults = new FileFaults();
  const report: ImportReport = { created: 0, updated: 0 };
  const work = async (tx: Prisma.TransactionClient) => {
    let position = Math.max(await tx.gpuModel.count(), await tx.region.count(), await tx.template.count());
    for await (const batch of readBatches(records, schema, faults)) {
      for (const { row } of batch) {
        const isNew = await put(tx, row, position);
        position += 1;
        report[isNew ? 'created' : 'updated'] += 1;
      }
    }
    faults.throwIfAny();
    if (dryRun) throw new DryRun();
  };
  await deps.db.prisma.$transaction(work, { timeout: IMPORT_TIMEOUT_MS }).catch(endOfDryRun);
  return report;
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
