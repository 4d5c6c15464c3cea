import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Catalogue, type GpuModelSeed, loadCatalogue } from '../../../prisma/seed/catalogue.js';
import { generateInventory, type MachineSeed } from '../../../prisma/seed/inventory.js';

/** Changes if any field of any machine changes. New installations then differ, so the change must be intended. */
const INVENTORY_SHA256 = '52304e407531405520a2e582dd86012392712ed1038201183c532fa9a9cfa634';

const SEED_DIRECTORY = join(import.meta.dirname, '../../../prisma/seed');
const catalogue = loadCatalogue();
const machines = generateInventory(catalogue);
const modelOf = new Map(catalogue.gpuModels.map((model) => [model.slug, model]));

/** Returns the machines that violate a rule. */
function breaking(rule: (machine: MachineSeed, model: GpuModelSeed) => boolean): MachineSeed[] {
  return machines.filter((machine) => !rule(machine, modelOf.get(machine.gpu)!));
}

describe('the catalogue', () => {
  it('contains every row', () => {
    expect(catalogue.gpuModels).toHaveLength(83);
    expect(catalogue.regions).toHaveLength(32);
    expect(catalogue.shapes).toHaveLength(42);
    expect(catalogue.templates).toHaveLength(14);
  });

  it('has 71 models with a median price and 12 without one', () => {
    expect(catalogue.gpuModels.filter((model) => model.medianMicro !== null)).toHaveLength(71);
    expect(catalogue.gpuModels.filter((model) => model.medianMicro === null)).toHaveLength(12);
  });

  it('keeps every digit of the prices', () => {
    const lines = readFileSync(join(SEED_DIRECTORY, 'gpus.csv'), 'utf8').trimEnd().split('\n').slice(1);
    const expected = lines.map((line) => [line.split(',')[0], ...line.split(',').slice(-2).map(padded)]);
    const actual = catalogue.gpuModels.map((model) => [
      model.slug,
      written(model.medianMicro),
      written(model.referencePriceMicro),
    ]);
    expect(actual).toEqual(expected);
    expect(modelOf.get('l40s')?.medianMicro).toBe(1_255_800n);
    expect(modelOf.get('rtx-pro-4000')?.medianMicro).toBeNull();
  });

  it("uses the database's names for tiers", () => {
    expect(modelOf.get('h100-sxm')?.tier).toBe('FLAGSHIP');
    expect(modelOf.get('rtx-a6000')?.tier).toBe('DATACENTER');
    expect(modelOf.get('rtx-4090')?.tier).toBe('CONSUMER_FLAGSHIP');
    expect(modelOf.get('rtx-3060')?.tier).toBe('CONSUMER');
  });

  it('lists the pytorch template first', () => {
    expect(catalogue.templates[0]?.slug).toBe('pytorch');
  });
});

/** Pads an amount to six decimals. An empty string remains empty. */
function padded(decimal: string): string {
  const [whole, fraction = ''] = decimal.split('.');
  return decimal === '' ? '' : `${whole}.${fraction.padEnd(6, '0')}`;
}

function written(micro: bigint | null): string {
  if (micro === null) return '';
  return `${micro / 1_000_000n}.${String(micro % 1_000_000n).padStart(6, '0')}`;
}

describe('a malformed catalogue', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'seed-'));
    cpSync(SEED_DIRECTORY, directory, { recursive: true });
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  function replaceIn(file: string, from: string, to: string): () => Catalogue {
    const text = readFileSync(join(directory, file), 'utf8');
    expect(text).toContain(from);
    writeFileSync(join(directory, file), text.replace(from, to));
    return () => loadCatalogue(directory);
  }

  it.each([
    ['a price with a comma', 'gpus.csv', '4.0000,3.90', '4.0000,"3,90"', /gpus\.csv:5: reference_price_usd_hour/],
    ['a price below a micro-dollar', 'gpus.csv', '4.0000,', '4.0000001,', /gpus\.csv:5: market_median_usd_hour/],
    ['an unknown tier', 'gpus.csv', '141,flagship', '141,flagships', /gpus\.csv:5: tier/],
    ['a missing field', 'gpus.csv', ',4.0000', '', /gpus\.csv:5: /],
    ['a repeated model', 'gpus.csv', 'h200-sxm', 'b200', /gpus\.csv:5: b200/],
    ['a latitude beyond 90 degrees', 'regions.csv', '39.0438', '139.0438', /regions\.csv:3: latitude/],
    ['a shape of an unknown model', 'machine_shapes.csv', 'b200,8', 'b20,8', /machine_shapes\.csv:3: .*b20/],
    ['a shape of nine GPUs', 'machine_shapes.csv', 'b200,8', 'b200,9', /machine_shapes\.csv:3: num_gpus/],
    ['a template without an image', 'templates.csv', 'ollama/ollama:0.13.5', '', /templates\.csv:7: image/],
  ])('is rejected with its file and line: %s', (_, file, from, to, message) => {
    expect(replaceIn(file, from, to)).toThrow(message);
  });
});

describe('the demo inventory', () => {
  it('is generated identically each time', () => {
    expect(generateInventory(loadCatalogue())).toEqual(machines);
  });

  it('has not changed', () => {
    expect(createHash('sha256').update(JSON.stringify(machines)).digest('hex')).toBe(INVENTORY_SHA256);
  });

  it('has about 1,500 machines with short unique ids', () => {
    expect(machines.length).toBeGreaterThanOrEqual(1450);
    expect(machines.length).toBeLessThanOrEqual(1550);
    expect(new Set(machines.map((machine) => machine.id)).size).toBe(machines.length);
    expect(breaking((machine) => /^m-[0-9a-f]{8}$/.test(machine.id))).toEqual([]);
  });

  it('has at least two machines of every model and none of unknown models', () => {
    const counts = new Map(catalogue.gpuModels.map((model) => [model.slug, 0]));
    for (const { gpu } of machines) counts.set(gpu, counts.get(gpu)! + 1);
    expect([...counts.values()].every((count) => count >= 2)).toBe(true);
  });

  it('uses every region and no others', () => {
    const used = new Set(machines.map((machine) => machine.region));
    expect([...used].sort()).toEqual(catalogue.regions.map((region) => region.code).sort());
  });

  it('has more machines of popular models', () => {
    const count = (slug: string) => machines.filter((machine) => machine.gpu === slug).length;
    const popular = ['rtx-4090', 'rtx-5090', 'rtx-3090', 'h100-sxm', 'a100-sxm-80gb'];
    for (const slug of popular) expect(count(slug)).toBeGreaterThan(5 * count('gb200'));
    expect(count('gb200')).toBeLessThanOrEqual(5);
  });

  it('has only whole numbers within their bounds', () => {
    const within = (value: number, min: number, max: number) => Number.isInteger(value) && value >= min && value <= max;
    expect(breaking((machine) => within(machine.numGpus, 1, 8))).toEqual([]);
    expect(breaking((machine) => within(machine.vcpus, 4, 512))).toEqual([]);
    expect(breaking((machine) => within(machine.ramGb, 16, 4096))).toEqual([]);
    expect(breaking((machine) => within(machine.diskGb, 100, 65_536))).toEqual([]);
    expect(breaking((machine) => within(machine.netDownMbps, 100, 25_000))).toEqual([]);
    expect(breaking((machine) => within(machine.netUpMbps, 50, 25_000))).toEqual([]);
    expect(breaking((machine) => within(machine.ports, 8, 65_535))).toEqual([]);
  });

  it('has reliability with four decimals from 0.9000 to 0.9999', () => {
    expect(breaking(({ reliability }) => reliability >= 0.9 && reliability <= 0.9999)).toEqual([]);
    expect(breaking(({ reliability }) => Number(reliability.toFixed(4)) === reliability)).toEqual([]);
  });

  it('has no PCIe generation newer than its board supports', () => {
    expect(breaking((machine, model) => machine.pcie >= 3 && machine.pcie <= model.pcieGen)).toEqual([]);
  });

  it('has NVLink only on boards that support it, and always on SXM boards', () => {
    expect(breaking((machine, model) => !machine.nvlink || (model.nvlink && machine.numGpus > 1))).toEqual([]);
    expect(breaking((machine, model) => !/ SXM/.test(model.name) || machine.nvlink === machine.numGpus > 1)).toEqual(
      [],
    );
    expect(machines.some((machine) => machine.nvlink && machine.gpu === 'rtx-a6000')).toBe(true);
  });

  it('has CUDA versions only on NVIDIA machines, and at least 12.8 on PCIe 5', () => {
    expect(breaking((machine, model) => (machine.cudaMax === '') === model.name.startsWith('AMD '))).toEqual([]);
    const nvidia = machines.filter((machine) => machine.cudaMax !== '');
    expect(nvidia.filter((machine) => !/^1[23]\.\d$/.test(machine.cudaMax))).toEqual([]);
    expect(nvidia.filter(({ gpu, cudaMax }) => modelOf.get(gpu)!.pcieGen >= 5 && Number(cudaMax) < 12.8)).toEqual([]);
  });

  it('has hosts that suit their GPUs', () => {
    const old = (model: GpuModelSeed) => model.pcieGen < 4;
    expect(breaking((machine, model) => machine.ramGb >= machine.numGpus * model.vramGb)).toEqual([]);
    expect(breaking((machine, model) => !old(model) || machine.numGpus <= 4)).toEqual([]);
    expect(breaking((machine, model) => !old(model) || model.tier === 'DATACENTER' || machine.ramGb <= 128)).toEqual(
      [],
    );
    expect(breaking((machine) => machine.gpu !== 'gh200' || machine.numGpus === 1)).toEqual([]);
    expect(breaking((machine) => machine.cpu.includes('Grace') === /^g[bh]200$/.test(machine.gpu))).toEqual([]);
  });
});
