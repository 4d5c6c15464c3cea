import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { CsvError, parse } from 'csv-parse/sync';
import { z } from 'zod';
import { templateData, templateRow } from '../../src/domain/inventory/template-import.js';
import { GPU_TIER_SLUGS, gpuTierOfSlug } from '../../src/domain/kernel/gpu-tier.js';

/** Day of the market data in gpus.csv, UTC. */
export const FIRST_SNAPSHOT_DATE = '2026-09-26';

const MICRO_DECIMALS = 6;

const slug = z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'not a slug');
const text = z.string().min(1, 'empty');
const integer = z
  .string()
  .regex(/^\d{1,9}$/, 'not an integer')
  .transform(Number);
const count = integer.pipe(z.number().min(1));
const flag = z.enum(['true', 'false']).transform((value) => value === 'true');
const tier = z.enum(GPU_TIER_SLUGS).transform(gpuTierOfSlug);
const usd = z
  .string()
  .regex(/^\d{1,9}(\.\d{1,6})?$/, 'not an amount in USD')
  .transform(microFromDecimal);
const emptyAsNull = z.literal('').transform(() => null);
const decimal = (limit: number) =>
  z
    .string()
    .regex(/^-?\d{1,9}(\.\d+)?$/, 'not a number')
    .transform(Number)
    .pipe(z.number().min(-limit).max(limit));

const gpuRow = z
  .strictObject({
    slug,
    name: text,
    vram_gb: count,
    tier,
    nvlink: flag,
    pcie_gen: count,
    market_listings: integer,
    market_median_usd_hour: z.union([emptyAsNull, usd]),
    reference_price_usd_hour: usd,
  })
  .transform((row) => ({
    slug: row.slug,
    name: row.name,
    vramGb: row.vram_gb,
    tier: row.tier,
    nvlink: row.nvlink,
    pcieGen: row.pcie_gen,
    marketListings: row.market_listings,
    medianMicro: row.market_median_usd_hour,
    referencePriceMicro: row.reference_price_usd_hour,
  }));

const regionRow = z.strictObject({
  code: slug,
  name: text,
  country: z.string().regex(/^[A-Z]{2}$/, 'not a country code'),
  latitude: decimal(90),
  longitude: decimal(180),
});

const shapeRow = z
  .strictObject({
    gpu_slug: slug,
    num_gpus: count.pipe(z.number().max(8)),
    cpu: text,
    vcpus: count,
    ram_gb: count,
    disk_gb: count,
    net_down_mbps: count,
    net_up_mbps: count,
    ports: count,
    pcie: count,
    nvlink: flag,
    cuda_max: z.string().regex(/^(\d+\.\d+)?$/, 'not a CUDA version'),
    reliability: decimal(1),
  })
  .transform((row) => ({
    gpu: row.gpu_slug,
    numGpus: row.num_gpus,
    cpu: row.cpu,
    vcpus: row.vcpus,
    ramGb: row.ram_gb,
    diskGb: row.disk_gb,
    netDownMbps: row.net_down_mbps,
    netUpMbps: row.net_up_mbps,
    ports: row.ports,
    pcie: row.pcie,
    nvlink: row.nvlink,
    cudaMax: row.cuda_max,
    reliability: row.reliability,
  }));

/** `*Micro` is micro-USD per GPU and hour; medianMicro is null where the market is too thin for a median. */
export type GpuModelSeed = Readonly<z.output<typeof gpuRow>>;
export type RegionSeed = Readonly<z.output<typeof regionRow>>;
/** A host with all its GPUs; pcie is the PCIe generation, cudaMax is empty for AMD. */
export type ShapeSeed = Readonly<z.output<typeof shapeRow>>;
type TemplateSeed = Readonly<ReturnType<typeof templateData>>;

/** Each list in the order of its file, which is the order of display. The first template is the default. */
export interface Catalogue {
  readonly gpuModels: readonly GpuModelSeed[];
  readonly regions: readonly RegionSeed[];
  readonly shapes: readonly ShapeSeed[];
  readonly templates: readonly TemplateSeed[];
}

/** Throws, with file and line, on a malformed row, a repeated key or a shape of an unknown model. */
export function loadCatalogue(directory = seedDirectory()): Catalogue {
  const gpus = readRows(join(directory, 'gpus.csv'), gpuRow);
  const regions = readRows(join(directory, 'regions.csv'), regionRow);
  const shapes = readRows(join(directory, 'machine_shapes.csv'), shapeRow);
  const templates = readRows(join(directory, 'templates.csv'), templateRow);
  const slugs = refuseRepeats(gpus, (gpu) => gpu.slug);
  refuseRepeats(regions, (region) => region.code);
  refuseRepeats(templates, (template) => template.slug);
  for (const { at, value } of shapes) {
    if (!slugs.has(value.gpu)) throw new Error(`${at}: no GPU model ${value.gpu}`);
  }
  return {
    gpuModels: gpus.map((row) => row.value),
    regions: regions.map((row) => row.value),
    shapes: shapes.map((row) => row.value),
    templates: templates.map((row) => templateData(row.value)),
  };
}

interface Row<T> {
  /** `file:line`, for messages. */
  readonly at: string;
  readonly value: T;
}

function readRows<T>(file: string, schema: z.ZodType<T>): Row<T>[] {
  return parseCsv(file).map(({ record, info }) => {
    const at = `${relative(process.cwd(), file)}:${info.lines}`;
    const result = schema.safeParse(record);
    if (result.success) return { at, value: result.data };
    const problems = result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new Error(`${at}: ${problems.join('; ')}`);
  });
}

function parseCsv(file: string): { record: unknown; info: { lines: number } }[] {
  try {
    return parse(readFileSync(file), { columns: true, info: true });
  } catch (error) {
    if (error instanceof CsvError) throw new Error(`${relative(process.cwd(), file)}:${error.lines}: ${error.message}`);
    throw error;
  }
}

function refuseRepeats<T>(rows: readonly Row<T>[], keyOf: (value: T) => string): Set<string> {
  const seen = new Set<string>();
  for (const { at, value } of rows) {
    const key = keyOf(value);
    if (seen.has(key)) throw new Error(`${at}: ${key} occurs twice`);
    seen.add(key);
  }
  return seen;
}

/** Converts exactly, by shifting the decimal point in the text. */
function microFromDecimal(amount: string): bigint {
  const [whole = '', fraction = ''] = amount.split('.');
  return BigInt(whole + fraction.padEnd(MICRO_DECIMALS, '0'));
}

/**
 * Returns the folder of the CSV files. They are not copied on build, so the compiled module starts at the package root.
 */
function seedDirectory(): string {
  let directory = import.meta.dirname;
  while (!existsSync(join(directory, 'package.json'))) {
    const parent = dirname(directory);
    if (parent === directory) throw new Error(`no package.json above ${import.meta.dirname}`);
    directory = parent;
  }
  return join(directory, 'prisma', 'seed');
}
