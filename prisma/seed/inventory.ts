import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { Catalogue, GpuModelSeed, RegionSeed, ShapeSeed } from './catalogue.js';

/** A machine's hardware, as rented whole. pcie is the PCIe generation; cudaMax is empty for AMD. */
export interface MachineSeed {
  readonly id: string;
  readonly gpu: string;
  readonly numGpus: number;
  readonly region: string;
  readonly cpu: string;
  readonly vcpus: number;
  readonly ramGb: number;
  readonly diskGb: number;
  readonly netDownMbps: number;
  readonly netUpMbps: number;
  readonly ports: number;
  readonly pcie: number;
  readonly nvlink: boolean;
  readonly cudaMax: string;
  readonly reliability: number;
}

/** Form factor or host class of a board. A model only uses host shapes of its own platform. */
type Platform = 'SXM' | 'OAM' | 'GRACE_HOPPER' | 'GRACE_BLACKWELL' | 'SERVER' | 'WORKSTATION' | 'DESKTOP';

interface Host {
  readonly shape: ShapeSeed;
  readonly model: GpuModelSeed;
  readonly platform: Platform;
}

/** Choices with their weights, whole numbers from 1. */
type Weighted<T> = readonly (readonly [choice: T, weight: number])[];

const RANDOM_SEED = 20260926;
const TARGET_MACHINES = 1500;
const MIN_MACHINES_PER_MODEL = 2;

/** Boards below this PCIe generation (Turing, Volta, Pascal, Maxwell) are no longer bought. */
const FIRST_MODERN_PCIE_GEN = 4;
const OLD_DEMAND = 0.6;
const TIER_DEMAND = { FLAGSHIP: 1.6, DATACENTER: 1, CONSUMER_FLAGSHIP: 1.6, CONSUMER: 0.9 };
/** Corrections for models whose sample size misleads: price points represent many offers, or one source dominates. */
const MODEL_DEMAND: Readonly<Record<string, number>> = {
  gb200: 0.3,
  'h100-sxm': 2.4,
  'h200-sxm': 1.4,
  'a100-sxm-80gb': 2,
  'a100-pcie-80gb': 1.5,
  'rtx-5090': 5,
  'rtx-4090': 1.8,
  'rtx-3090': 5,
  'rtx-5060-ti': 0.8,
};

/** Weights by number of GPUs. */
type Sizes = Readonly<Record<number, number>>;
const SIZES: Readonly<Record<Platform, Sizes>> = {
  SXM: { 1: 18, 2: 6, 4: 6, 8: 70 },
  OAM: { 1: 20, 8: 80 },
  GRACE_HOPPER: { 1: 1 },
  GRACE_BLACKWELL: { 1: 1, 4: 2 },
  SERVER: { 1: 25, 2: 27, 4: 30, 8: 18 },
  WORKSTATION: { 1: 40, 2: 28, 4: 22, 8: 10 },
  DESKTOP: { 1: 56, 2: 24, 3: 4, 4: 12, 6: 2, 8: 2 },
};
const TOP_CONSUMER_SIZES: Sizes = { 1: 32, 2: 24, 3: 4, 4: 24, 6: 4, 8: 12 };
const SMALL_HOST_GPUS = 4;
const SMALL_BOARD_VRAM_GB = 16;

/** Cards that fit a desktop mainboard listed with one card. */
const DESKTOP_CARDS = 2;
const NEAREST_HOSTS = 2;
/** Maximum distance of an alternative host, relative to the nearest one. */
const NEAR_ENOUGH = 1.5;
const WEIGHT_SCALE = 1000;
const PCIE_GAP_DISTANCE = 2;
const UNUSED_GPUS_DISTANCE = 0.5;

/** By area, the first part of a region's code: rented racks, and the machines of private hosts. */
const RACK_REGIONS: Readonly<Record<string, number>> = { us: 8, ca: 5, eu: 5, ap: 3, sa: 1, me: 2 };
const PRIVATE_REGIONS: Readonly<Record<string, number>> = { us: 5, ca: 4, eu: 5, ap: 4, sa: 2, me: 1 };

/** Classes of processors with the same number of threads, by the PCIe generation of their platform. */
const CPU_CLASSES: readonly Readonly<Record<number, readonly string[]>>[] = [
  {
    4: ['Intel Core i5-12400F', 'AMD Ryzen 5 5600X', 'AMD Ryzen 5 3600'],
    3: ['Intel Core i7-8700K', 'Intel Core i5-10400F', 'AMD Ryzen 5 2600'],
  },
  { 5: ['Intel Core Ultra 7 265KF', 'Intel Core i5-14600K', 'Intel Core i7-12700K'] },
  { 4: ['AMD Ryzen 9 3900X', 'AMD Ryzen 9 5900X'] },
  { 5: ['AMD Ryzen 9 9950X', 'AMD Ryzen 9 7950X', 'Intel Core i9-14900K'] },
  { 5: ['AMD Ryzen Threadripper PRO 7965WX', 'AMD Ryzen Threadripper 7960X'] },
  {
    5: ['AMD Ryzen Threadripper PRO 7975WX', 'AMD Ryzen Threadripper 7970X'],
    4: ['AMD Ryzen Threadripper PRO 5975WX', 'AMD Ryzen Threadripper 3970X'],
  },
  { 4: ['AMD EPYC 7302', 'AMD EPYC 7313', 'AMD EPYC 7282'], 3: ['AMD EPYC 7351', 'Intel Xeon E5-2683 v4'] },
  { 4: ['AMD EPYC 7402', 'AMD EPYC 7413', 'AMD EPYC 7443', 'AMD EPYC 7352'] },
  {
    5: ['AMD EPYC 9354', 'AMD EPYC 9334', 'AMD EPYC 9374F'],
    4: ['AMD EPYC 7452', 'AMD EPYC 7502', 'AMD EPYC 7542', 'AMD EPYC 7543'],
  },
  { 4: ['AMD EPYC 7R32', 'AMD EPYC 7642', 'AMD EPYC 7643'] },
  {
    5: ['AMD EPYC 9534', 'AMD EPYC 9554', 'AMD EPYC 9555'],
    4: ['AMD EPYC 7702', 'AMD EPYC 7742', 'AMD EPYC 7713', 'AMD EPYC 7763', 'AMD EPYC 7B13', 'AMD EPYC 7J13'],
  },
  { 5: ['AMD EPYC 9654', 'AMD EPYC 9684X', 'AMD EPYC 9J14'] },
  { 5: ['Intel Xeon 6776P', 'Intel Xeon 6767P'] },
  { 5: ['Intel Xeon Platinum 8480+', 'Intel Xeon Platinum 8480C', 'Intel Xeon Platinum 8481C'] },
  { 5: ['Intel Xeon Platinum 8468', 'Intel Xeon Platinum 8468V'] },
  { 5: ['Intel Xeon Platinum 8470', 'Intel Xeon Platinum 8470Q'], 4: ['AMD EPYC 7773X', 'AMD EPYC 7H12'] },
  { 3: ['Intel Xeon Gold 6130', 'Intel Xeon Gold 6142', 'Intel Xeon Gold 6226R'] },
  { 3: ['Intel Xeon Gold 6138', 'Intel Xeon Gold 6148', 'Intel Xeon Gold 6230'] },
  { 3: ['Intel Xeon Gold 6240R', 'Intel Xeon Gold 6248R', 'Intel Xeon Gold 6252'] },
];

/** Half-filled memory slots are common in privately built hosts. */
const PRIVATE_RAM_PERCENT = [50, 100, 100];
const RAM_STEP_GB = 16;
const DISK_PERCENT = { min: 50, max: 150 };
const MIN_DISK_GB = 100;
const LINK_PERCENT = { min: 55, max: 100 };
const PORTS_PERCENT = [50, 100, 100, 200];
const MIN_PORTS = 8;

/** CUDA versions of current drivers, oldest first. */
const CUDA_VERSIONS = ['12.2', '12.4', '12.6', '12.8', '12.9', '13.0'];
/** Minimum version for Blackwell, the newest of the PCIe 5 boards. */
const PCIE_5_MIN_CUDA = '12.8';
const BRIDGED_PERCENT = 20;

const RELIABILITY_SCALE = 10_000;
const UNRELIABILITY_PERCENT = { min: 40, max: 220 };
const UNRELIABILITY_LIMITS = { min: 1, max: 1000 };
const OUTLIER_PERCENT = 6;
const OUTLIER_FACTOR = 4;

/**
 * Generates the machines of a new installation: about 1,500, grouped by model in the catalogue's order. The same
 * catalogue always yields the same machines.
 */
export function generateInventory(catalogue: Catalogue): MachineSeed[] {
  const rng = xoroshiro128plus(RANDOM_SEED);
  const hosts = hostsOf(catalogue);
  const ids = new Set<string>();
  const total = catalogue.gpuModels.reduce((sum, model) => sum + demandOf(model), 0);
  const shared = TARGET_MACHINES - MIN_MACHINES_PER_MODEL * catalogue.gpuModels.length;
  return catalogue.gpuModels.flatMap((model) => {
    const machines = MIN_MACHINES_PER_MODEL + Math.round((shared * demandOf(model)) / total);
    const sizes = sizesOf(model);
    const hostsBySize = new Map(sizes.map(([numGpus]) => [numGpus, hostsFor(model, numGpus, hosts)]));
    const regions = regionsFor(model, catalogue.regions);
    return Array.from({ length: machines }, () => {
      const numGpus = pick(rng, sizes);
      const host = pick(rng, hostsBySize.get(numGpus)!);
      const region = pick(rng, regions);
      return { id: nextId(rng, ids), region: region.code, ...machineOn(rng, host, model, numGpus) };
    });
  });
}

/** Grows with the square root of the sample, so that the model with the most listings does not crowd out the others. */
function demandOf(model: GpuModelSeed): number {
  const age = isOld(model) ? OLD_DEMAND : 1;
  return Math.sqrt(model.marketListings + 1) * TIER_DEMAND[model.tier] * age * (MODEL_DEMAND[model.slug] ?? 1);
}

function isOld(model: GpuModelSeed): boolean {
  return model.pcieGen < FIRST_MODERN_PCIE_GEN;
}

function platformOf(model: GpuModelSeed): Platform {
  if (model.slug === 'gh200') return 'GRACE_HOPPER';
  if (model.slug === 'gb200') return 'GRACE_BLACKWELL';
  if (model.name.includes(' SXM')) return 'SXM';
  if (model.name.startsWith('AMD Instinct')) return 'OAM';
  if (model.tier === 'CONSUMER' || model.tier === 'CONSUMER_FLAGSHIP') return 'DESKTOP';
  return /^(rtx|quadro)-/.test(model.slug) ? 'WORKSTATION' : 'SERVER';
}

/** Limits old boards, small boards and air-cooled flagships, which draw 300 W or more, to four GPUs. */
function sizesOf(model: GpuModelSeed): Weighted<number> {
  const platform = platformOf(model);
  const sizes = model.tier === 'CONSUMER_FLAGSHIP' && !isOld(model) ? TOP_CONSUMER_SIZES : SIZES[platform];
  const small =
    isOld(model) ||
    (platform === 'SERVER' && model.tier === 'FLAGSHIP') ||
    (platform !== 'DESKTOP' && model.vramGb <= SMALL_BOARD_VRAM_GB);
  return Object.entries(sizes)
    .map(([numGpus, weight]) => [Number(numGpus), weight] as const)
    .filter(([numGpus]) => !small || numGpus <= SMALL_HOST_GPUS);
}

/** Returns the hosts of the catalogue's shapes, and a GB200 tray, which resembles no shape. */
function hostsOf({ gpuModels, shapes }: Catalogue): Host[] {
  const models = new Map(gpuModels.map((model) => [model.slug, model]));
  const trays = shapes.filter((shape) => shape.gpu === 'gh200').map(graceBlackwellTray);
  return [...shapes, ...trays].flatMap((shape) => {
    const model = models.get(shape.gpu);
    return model ? [{ shape, model, platform: platformOf(model) }] : [];
  });
}

/** Returns a GB200 tray: four GPUs on two Grace processors, each with the memory and disk of a GH200. */
function graceBlackwellTray(gh200: ShapeSeed): ShapeSeed {
  const { vcpus, ramGb, diskGb } = gh200;
  return { ...gh200, gpu: 'gb200', numGpus: 4, vcpus: 2 * vcpus, ramGb: 2 * ramGb, diskGb: 2 * diskGb };
}

/**
 * Returns the possible hosts of a machine: those of its own model if one has enough GPUs (the smaller the share of the
 * host, the rarer), otherwise the two nearest of the same platform (one for an old board). The distance depends on the
 * gap in PCIe generation, the ratio of the models' reference prices (cheap boards are in cheap hosts) and the host's
 * unused GPUs.
 */
function hostsFor(model: GpuModelSeed, numGpus: number, hosts: readonly Host[]): Weighted<Host> {
  const fitting = hosts.filter((host) => host.platform === platformOf(model) && capacityOf(host) >= numGpus);
  const own = fitting.filter((host) => host.model === model);
  if (own.length > 0) {
    return own.map((host) => [host, Math.round(WEIGHT_SCALE / Math.max(1, host.shape.numGpus / numGpus))]);
  }
  const byDistance = fitting
    .map((host) => ({ host, distance: distanceTo(host, model, numGpus) }))
    .sort((a, b) => a.distance - b.distance);
  return byDistance
    .slice(0, isOld(model) ? 1 : NEAREST_HOSTS)
    .filter(({ distance }) => distance <= byDistance[0]!.distance * NEAR_ENOUGH)
    .map(({ host, distance }) => [host, Math.round(WEIGHT_SCALE / distance)]);
}

function capacityOf({ shape, platform }: Host): number {
  return platform === 'DESKTOP' ? Math.max(shape.numGpus, DESKTOP_CARDS) : shape.numGpus;
}

/** Returns the distance, at least 1. */
function distanceTo({ shape, model: hostModel }: Host, model: GpuModelSeed, numGpus: number): number {
  const prices = [Number(model.referencePriceMicro), Number(hostModel.referencePriceMicro)];
  const priceRatio = Math.max(...prices) / Math.min(...prices);
  const pcieGap = Math.abs(model.pcieGen - shape.pcie);
  return priceRatio + PCIE_GAP_DISTANCE * pcieGap + UNUSED_GPUS_DISTANCE * (shape.numGpus / numGpus);
}

/** Scales the host to the machine's share of its GPUs. A second card in a desktop shares the whole host. */
function machineOn(rng: RandomGenerator, { shape, platform }: Host, model: GpuModelSeed, numGpus: number) {
  const share = Math.min(1, numGpus / shape.numGpus);
  const pcie = Math.min(model.pcieGen, shape.pcie);
  return {
    gpu: model.slug,
    numGpus,
    cpu: cpuFor(rng, shape, pcie),
    vcpus: Math.round(shape.vcpus * share),
    ramGb: ramFor(rng, shape.ramGb * share, platform, model.vramGb * numGpus),
    diskGb: Math.max(MIN_DISK_GB, scaled(rng, shape.diskGb * share, DISK_PERCENT)),
    netDownMbps: scaled(rng, shape.netDownMbps, LINK_PERCENT),
    netUpMbps: scaled(rng, shape.netUpMbps, LINK_PERCENT),
    ports: Math.max(MIN_PORTS, Math.round((shape.ports * share * oneOf(rng, PORTS_PERCENT)) / 100)),
    pcie,
    nvlink: nvlinkFor(rng, shape, platform, model, numGpus),
    cudaMax: cudaFor(rng, shape, model),
    reliability: reliabilityFor(rng, shape),
  };
}

/** Picks the shape's processor or a similar one, of the given PCIe generation if one is known. */
function cpuFor(rng: RandomGenerator, shape: ShapeSeed, pcie: number): string {
  const cpuClass = CPU_CLASSES.find((generations) => Object.values(generations).flat().includes(shape.cpu));
  return oneOf(rng, cpuClass?.[pcie] ?? [shape.cpu]);
}

/** Returns at least the GPUs' own memory, because models are loaded through the host's memory. */
function ramFor(rng: RandomGenerator, ramGb: number, platform: Platform, gpuMemoryGb: number): number {
  const percent = platform === 'DESKTOP' || platform === 'WORKSTATION' ? oneOf(rng, PRIVATE_RAM_PERCENT) : 100;
  return Math.max(Math.round((ramGb * percent) / 100), RAM_STEP_GB * Math.ceil(gpuMemoryGb / RAM_STEP_GB));
}

/** SXM and Grace boards are always linked; others by bridges, which join pairs. */
function nvlinkFor(rng: RandomGenerator, shape: ShapeSeed, platform: Platform, model: GpuModelSeed, numGpus: number) {
  if (!model.nvlink || numGpus === 1) return false;
  if (platform === 'SXM' || platform === 'GRACE_BLACKWELL') return true;
  return numGpus % 2 === 0 && (shape.nvlink || isChosen(rng, BRIDGED_PERCENT));
}

/** Picks the shape's version, or that of a driver one step older or newer. */
function cudaFor(rng: RandomGenerator, shape: ShapeSeed, model: GpuModelSeed): string {
  if (model.name.startsWith('AMD ')) return '';
  const oldest = model.pcieGen >= 5 ? CUDA_VERSIONS.indexOf(PCIE_5_MIN_CUDA) : 0;
  const index = CUDA_VERSIONS.indexOf(shape.cudaMax) + uniformInt(rng, -1, 1);
  return CUDA_VERSIONS[clamp(index, oldest, CUDA_VERSIONS.length - 1)]!;
}

/** Returns 0.9000 to 0.9999. The downtime varies around the shape's; a few hosts are several times worse. */
function reliabilityFor(rng: RandomGenerator, shape: ShapeSeed): number {
  const usual = Math.round((1 - shape.reliability) * RELIABILITY_SCALE);
  const factor = isChosen(rng, OUTLIER_PERCENT) ? OUTLIER_FACTOR : 1;
  const unreliability = factor * scaled(rng, usual, UNRELIABILITY_PERCENT);
  const { min, max } = UNRELIABILITY_LIMITS;
  return (RELIABILITY_SCALE - clamp(unreliability, min, max)) / RELIABILITY_SCALE;
}

function regionsFor(model: GpuModelSeed, regions: readonly RegionSeed[]): Weighted<RegionSeed> {
  const weights = platformOf(model) === 'DESKTOP' ? PRIVATE_REGIONS : RACK_REGIONS;
  return regions.map((region) => [region, weights[region.code.split('-')[0]!] ?? 1]);
}

function nextId(rng: RandomGenerator, taken: Set<string>): string {
  for (;;) {
    const id = `m-${uniformInt(rng, 0, 0xffff_ffff).toString(16).padStart(8, '0')}`;
    if (!taken.has(id)) {
      taken.add(id);
      return id;
    }
  }
}

/** Picks a choice by weight. Throws if there are none. */
function pick<T>(rng: RandomGenerator, choices: Weighted<T>): T {
  if (choices.length === 0) throw new Error('nothing to pick from');
  const total = choices.reduce((sum, [, weight]) => sum + weight, 0);
  let left = uniformInt(rng, 1, total);
  for (const [choice, weight] of choices) {
    left -= weight;
    if (left <= 0) return choice;
  }
  throw new Error('the weights do not add up');
}

function oneOf<T>(rng: RandomGenerator, choices: readonly T[]): T {
  return choices[uniformInt(rng, 0, choices.length - 1)]!;
}

function isChosen(rng: RandomGenerator, percent: number): boolean {
  return uniformInt(rng, 1, 100) <= percent;
}

function scaled(rng: RandomGenerator, amount: number, percent: { min: number; max: number }): number {
  return Math.round((amount * uniformInt(rng, percent.min, percent.max)) / 100);
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
