import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { modelOfGpu, modelsNamed } from '../../src/domain/kernel/gpu-names.js';
import { readListings } from '../../src/domain/market/listings.js';
import { PACKAGE_ROOT } from '../../src/std/package-root.js';

const MODELS = readFileSync(join(PACKAGE_ROOT, 'prisma/seed/gpus.csv'), 'utf8')
  .trim()
  .split('\n')
  .slice(1)
  .map((line) => line.split(','))
  .map(([slug, name, vram]) => ({ slug: slug!, name: name!, vramGb: Number(vram) }));
const slugOf = (name: string, vramMb: number) => modelOfGpu(MODELS, name, vramMb)?.slug ?? null;

/** Output of `nvidia-smi --query-gpu=name,memory.total` for real boards. */
const SPELLINGS: [name: string, vramMb: number, slug: string][] = [
  ['NVIDIA GB200', 189_471, 'gb200'],
  ['NVIDIA B300 SXM6 AC', 275_040, 'b300'],
  ['NVIDIA B200', 183_359, 'b200'],
  ['NVIDIA H200', 143_771, 'h200-sxm'],
  ['NVIDIA H200 NVL', 143_771, 'h200-nvl'],
  ['NVIDIA GH200 480GB', 97_871, 'gh200'],
  ['NVIDIA H100 80GB HBM3', 81_559, 'h100-sxm'],
  ['NVIDIA H100 PCIe', 81_559, 'h100-pcie'],
  ['NVIDIA H100 NVL', 95_830, 'h100-nvl'],
  ['NVIDIA A100-SXM4-80GB', 81_920, 'a100-sxm-80gb'],
  ['NVIDIA A100-SXM4-40GB', 40_960, 'a100-sxm-40gb'],
  ['NVIDIA A100 80GB PCIe', 81_920, 'a100-pcie-80gb'],
  ['NVIDIA A100-PCIE-40GB', 40_960, 'a100-pcie-40gb'],
  ['A100-SXM-80GB', 81_251, 'a100-sxm-80gb'],
  ['NVIDIA L40S', 46_068, 'l40s'],
  ['NVIDIA L40', 46_068, 'l40'],
  ['NVIDIA L4', 23_034, 'l4'],
  ['NVIDIA A40', 46_068, 'a40'],
  ['NVIDIA A30', 24_576, 'a30'],
  ['NVIDIA A16', 15_356, 'a16'],
  ['NVIDIA A10', 23_028, 'a10'],
  ['Tesla T4', 15_360, 't4'],
  ['Tesla V100-SXM2-32GB', 32_768, 'v100-32gb'],
  ['Tesla V100-PCIE-32GB', 32_768, 'v100-32gb'],
  ['Tesla V100-SXM2-16GB', 16_384, 'v100-16gb'],
  ['Tesla P100-PCIE-16GB', 16_384, 'p100'],
  ['Tesla P100-SXM2-16GB', 16_384, 'p100'],
  ['Tesla P40', 23_040, 'p40'],
  ['Tesla P4', 7_680, 'p4'],
  ['NVIDIA RTX PRO 6000 Blackwell Workstation Edition', 97_887, 'rtx-pro-6000-ws'],
  ['NVIDIA RTX PRO 6000 Blackwell Server Edition', 97_887, 'rtx-pro-6000-server'],
  ['NVIDIA RTX PRO 4000 Blackwell', 24_467, 'rtx-pro-4000'],
  ['NVIDIA RTX 6000 Ada Generation', 49_140, 'rtx-6000-ada'],
  ['NVIDIA RTX 4000 Ada Generation', 20_475, 'rtx-4000-ada'],
  ['NVIDIA RTX A6000', 49_140, 'rtx-a6000'],
  ['NVIDIA RTX A2000 12GB', 12_282, 'rtx-a2000'],
  ['Quadro RTX 8000', 49_152, 'quadro-rtx-8000'],
  ['Quadro RTX 6000', 24_576, 'quadro-rtx-6000'],
  ['Quadro P4000', 8_192, 'quadro-p4000'],
  ['NVIDIA GeForce RTX 5090', 32_607, 'rtx-5090'],
  ['NVIDIA GeForce RTX 4090', 24_564, 'rtx-4090'],
  ['GeForce RTX 3090', 24_268, 'rtx-3090'],
  ['NVIDIA GeForce RTX 3090 Ti', 24_564, 'rtx-3090-ti'],
  ['NVIDIA GeForce RTX 4080 SUPER', 16_376, 'rtx-4080-super'],
  ['NVIDIA GeForce RTX 4070 Ti SUPER', 16_376, 'rtx-4070-ti-super'],
  ['NVIDIA GeForce RTX 5060 Ti', 16_311, 'rtx-5060-ti'],
  ['NVIDIA GeForce RTX 3060', 12_288, 'rtx-3060'],
  ['NVIDIA GeForce GTX 1060 6GB', 6_144, 'gtx-1060'],
  ['NVIDIA TITAN Xp', 12_288, 'titan-xp'],
  ['NVIDIA GeForce GTX TITAN X', 12_288, 'gtx-titan-x'],
];

describe('modelOfGpu', () => {
  it('recognizes every model by its catalogue name', () => {
    expect(MODELS.length).toBeGreaterThan(80);
    const found = MODELS.map(({ name, vramGb }) => slugOf(name, vramGb * 1_024));
    expect(found).toEqual(MODELS.map(({ slug }) => slug));
  });

  it.each(SPELLINGS)('recognizes %s with %d MB as a model', (name, vramMb, slug) => {
    expect(slugOf(name, vramMb)).toBe(slug);
    expect(slugOf(name.toUpperCase(), vramMb)).toBe(slug);
  });

  it.each([
    // These are other boards whose names contain a complete catalogue name.
    ['NVIDIA GeForce RTX 4090 D', 24_564],
    ['NVIDIA GeForce RTX 4090 Laptop GPU', 16_376],
    ['NVIDIA GeForce RTX 3080 Laptop GPU', 10_240],
    ['NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition', 97_887],
    ['NVIDIA A10G', 23_028],
    ['NVIDIA TITAN X (Pascal)', 12_288],
    ['Tesla V100S-PCIE-32GB', 32_768],
    // This is a catalogue name with a different memory size.
    ['NVIDIA GeForce RTX 3080', 12_288],
    ['NVIDIA GeForce RTX 4060 Ti', 8_188],
    ['NVIDIA GeForce GTX 1060 3GB', 3_072],
    ['Tesla P100-PCIE-12GB', 12_288],
    ['NVIDIA A100-SXM-64GB', 65_536],
    // These are partial names that match several models or none.
    ['NVIDIA RTX PRO 6000', 97_887],
    ['NVIDIA RTX 6000', 49_140],
    ['NVIDIA GeForce RTX', 24_564],
    // These names match no model in the catalogue.
    ['NVIDIA H20', 97_871],
    ['NVIDIA', 24_564],
    ['NVIDIA X1', 24_564],
    ['', 24_564],
  ])('recognizes no model in %s with %d MB', (name, vramMb) => {
    expect(slugOf(name, vramMb)).toBeNull();
  });

  it('recognizes no model if two models match a name', () => {
    const twins = ['one', 'two'].map((slug) => ({ slug, name: 'NVIDIA RTX 4090', vramGb: 24 }));
    expect(modelOfGpu(twins.slice(0, 1), 'NVIDIA GeForce RTX 4090', 24_564)?.slug).toBe('one');
    expect(modelOfGpu(twins, 'NVIDIA GeForce RTX 4090', 24_564)).toBeNull();
  });

  const model = (name: string) => ({ slug: name, name, vramGb: 20 });
  const found = (names: string[], name: string, vramMb = 20_480) => modelOfGpu(names.map(model), name, vramMb)?.slug;

  it.each([
    'AMD Instinct X9',
    'AMD Radeon X9 Graphics',
    'Tesla X9',
    'Quadro X9 Generation',
    'NVIDIA GeForce X9 Blackwell Edition',
    'X9 80GB HBM',
    'X9-SXM5-HBM3e ',
    ' (X9) memory GPU AC',
  ])('recognizes the model in %s', (name) => {
    expect(found(['X9'], name)).toBe('X9');
  });

  it.each(['X9 80GBX', 'X9 A80GB', 'X9 SXMS', 'X9 AHBM', 'X9 memory2', 'X9 SXM55', 'X9 ASXM5', 'X9 PCIE2', 'X9 GPUS'])(
    'recognizes another model in %s',
    (name) => {
      expect(found(['X9'], name)).toBeUndefined();
    },
  );

  it('recognizes form factors and "WS" as short for Workstation', () => {
    const boards = ['X9 SXM', 'X9 PCIe', 'X9 NVL'];
    expect(['X9', 'X9 SXM5', 'X9-PCIE', 'X9 NVL'].map((name) => found(boards, name))).toEqual(['X9 SXM', ...boards]);
    expect(found(['X9 Workstation'], 'X9 WS')).toBe('X9 Workstation');
    for (const other of ['X9 WSX', 'X9 AWS']) expect(found(['X9 Workstation', 'X9'], other), other).toBeUndefined();
    expect(found(['WSX9'], 'WSX9')).toBe('WSX9');
  });

  it('allows memory sizes to differ by up to 15 percent', () => {
    const sizes = [17_407, 17_408, 23_552, 23_553];
    expect(sizes.map((vramMb) => found(['X9'], 'X9', vramMb))).toEqual([undefined, 'X9', 'X9', undefined]);
  });
});

describe('the models matching a name', () => {
  it.each([
    ['rtx-4090', ['rtx-4090']],
    ['RTX 4090', ['rtx-4090']],
    ['RTX4090', ['rtx-4090']],
    ['NVIDIA GeForce RTX 4090', ['rtx-4090']],
    ['geforce rtx 4090 24GB', ['rtx-4090']],
    ['rtx 4070', ['rtx-4070']],
    ['RTX 4070 Ti Super', ['rtx-4070-ti-super']],
    ['H100', ['h100-sxm', 'h100-nvl', 'h100-pcie']],
    ['H100 SXM5', ['h100-sxm']],
    ['H100 80GB', ['h100-sxm', 'h100-pcie']],
    ['A100 PCIe 80GB', ['a100-pcie-80gb']],
    ['RTX A2000', ['rtx-a2000']],
    ['MI300X', ['mi300x']],
    ['RTX PRO 6000', ['rtx-pro-6000-ws', 'rtx-pro-6000-server']],
    ['RTX 9090', []],
    ['NVIDIA', []],
    ['80GB', []],
    ['', []],
  ])('for %s are %j', (name, slugs) => expect(modelsNamed(MODELS, name).map(({ slug }) => slug)).toEqual(slugs));

  it("are found for a market file's listings, whose numbers may be machine-written", async () => {
    async function* rows() {
      const of = (line: number, gpuSlug: string, priceUsdHour: string, numGpus: string) => ({
        ...{ line, listingId: `l-${line}`, gpuSlug, priceUsdHour, numGpus },
      });
      yield of(2, 'RTX4090', '0.3505555555555556', '1.0');
      yield of(3, 'NVIDIA GeForce RTX 4090', '0.70', '2');
      yield of(4, 'H100', '2.1', '1');
      yield of(5, 'RTX 4090', '1e-1', '1');
      yield of(6, 'RTX 4090', '0.4', '1.5');
    }
    const reading = await readListings(MODELS, rows());
    expect(reading.models.get('rtx-4090')!.listings).toBe(2);
    // This name is ambiguous.
    expect([...reading.unknownSlugs]).toEqual([['H100', 1]]);
    expect(reading.rejected.map(({ line }) => line)).toEqual([5, 6]);
  });
});
