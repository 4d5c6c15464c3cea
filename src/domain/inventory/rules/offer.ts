import { cudaNumber } from '../../kernel/cuda.js';
import { type Availability, availabilityOf } from '../../kernel/free-machine.js';
import type { GpuTier } from '../../kernel/gpu-tier.js';
import type { Rate } from '../../kernel/money.js';
import { type ModeRates, modeRates } from '../../kernel/price-rule.js';
import { type Block, isLinked, shareOf } from '../../kernel/slices.js';
import { breaksOf, type Layout, type LayoutBlock, modeOn, type RunningBits } from './layout.js';

/** An offered machine, without its price. */
export interface OfferedMachine {
  machineId: string;
  gpu: string;
  numGpus: number;
  region: string;
  cpu: string;
  vcpus: number;
  ramGb: number;
  /** Space available for a new disk, in GB. */
  diskGb: number;
  netMbps: { down: number; up: number };
  ports: number;
  pcie: number;
  /**
   * Whether the machine's GPUs are linked. A single GPU of a larger host doesn't count, because its renter doesn't have
   * the GPUs to which it is linked.
   */
  nvlink: boolean;
  cudaMax: string;
  reliability: number;
  /** Whether an interruptible instance is running on the machine. Such machines are returned only on request. */
  preemptible: boolean;
  demo: boolean;
  /** Whether a host agent runs the machine's containers. If the agent is unreachable, the machine isn't offered. */
  hasAgent: boolean;
  /** Whether the operator allows containers on the machine to mount FUSE file systems. */
  fuse: boolean;
}

/** The properties of a machine that are compared by filters. In a minimum, 0 means no requirement. */
export interface MachineSize extends Pick<OfferedMachine, 'vcpus' | 'ramGb' | 'diskGb'> {
  /** The CUDA version, as returned by `cudaNumber`. */
  cuda: number;
}

export interface Offer extends OfferedMachine {
  /** Price of the whole machine. */
  pricePerHour: ModeRates;
}

/** A model with a price. */
export interface PricedModel {
  tier: GpuTier;
  vramGb: number;
  /** Rate per GPU-hour. */
  onDemandRate: Rate;
}

/** A listed host, whose free blocks are offered as machines. Prices are not included. */
export interface OfferedHost extends RunningBits {
  hostId: string;
  layout: Layout;
  region: string;
  cpu: string;
  /** This and all following amounts are for the whole host. */
  vcpus: number;
  ramGb: number;
  diskGb: number;
  /** Disk space on the host that isn't used by its instances, in GB. */
  diskLeftGb: number;
  down: number;
  up: number;
  ports: number;
  pcie: number;
  nvlink: boolean;
  cudaMax: string;
  reliability: number;
  demo: boolean;
  hasAgent: boolean;
  fuse: boolean;
}

/** The fields by which machines are grouped. */
export interface GroupKey
  extends Pick<OfferedMachine, 'gpu' | 'region' | 'numGpus' | 'nvlink' | 'preemptible' | 'hasAgent' | 'fuse'> {
  /** Number of GPUs in the larger free block that renting one of these would split. 0 if it wouldn't split any. */
  breaks: number;
}

/**
 * The properties shared by all offers in a group. They alone determine the price and most of the properties compared by
 * filters.
 */
export interface GroupTraits extends GroupKey {
  tier: GpuTier;
  /** Memory per GPU, in GB. */
  vramGb: number;
  /** On-demand rate per GPU-hour. */
  pricePerGpu: Rate;
  /** Price of the whole machine. All offers in the group share one object. */
  pricePerHour: ModeRates;
}

/** Minimum free disk space, in GB, for a machine to be offered. A machine with less can still be rented by its id. */
const MIN_OFFERED_DISK_GB = 50;

/** Whether a machine is offered. Preemptible machines are also offered, but are marked as such. */
export function isOffered(availability: Availability, diskLeftGb: number): boolean {
  return (availability === 'FREE' || availability === 'PREEMPTIBLE') && diskLeftGb >= MIN_OFFERED_DISK_GB;
}

/**
 * Returns the space available for a new disk on a block, in GB. This is the block's share of the host's disk, or the
 * space left on the host if that is less.
 */
function diskGbOf({ diskGb, diskLeftGb, layout }: OfferedHost, block: Pick<Block, 'count'>): number {
  return Math.min(shareOf(diskGb, block, layout.numGpus), diskLeftGb);
}

/** Returns a block's share of its host. */
export function sizeOf(host: OfferedHost, block: Pick<Block, 'count'>): MachineSize {
  const { vcpus, ramGb, cudaMax, layout } = host;
  return {
    vcpus: shareOf(vcpus, block, layout.numGpus),
    ramGb: shareOf(ramGb, block, layout.numGpus),
    diskGb: diskGbOf(host, block),
    cuda: cudaNumber(cudaMax),
  };
}

/** Whether a block of this size has enough free disk to be offered. */
export function hasOfferedDisk(host: OfferedHost, block: Pick<Block, 'count'>): boolean {
  return diskGbOf(host, block) >= MIN_OFFERED_DISK_GB;
}

/** Returns the key of the block's group, or null if the block isn't offered. */
export function groupKeyOf(host: OfferedHost, block: LayoutBlock): GroupKey | null {
  const availability = availabilityOf('LISTED', modeOn(block, host));
  if (!isOffered(availability, diskGbOf(host, block))) return null;
  return {
    gpu: block.gpu,
    region: host.region,
    numGpus: block.count,
    nvlink: isLinked(host.nvlink, block, host.layout.numGpus),
    preemptible: availability === 'PREEMPTIBLE',
    hasAgent: host.hasAgent,
    fuse: host.fuse,
    breaks: breaksOf(block, host),
  };
}

export function isAnyOffered(host: OfferedHost): boolean {
  return host.layout.blocks.some((block) => groupKeyOf(host, block) !== null);
}

/**
 * Returns the traits of a smaller block within one of the group's blocks. The price of the whole machine isn't
 * adjusted.
 */
export function smallerOf(traits: GroupTraits, numGpus: number): GroupTraits {
  return { ...traits, numGpus, nvlink: traits.nvlink && numGpus > 1 };
}

export function blockIdOf(host: OfferedHost, { suffix }: LayoutBlock): string {
  return suffix === '' ? host.hostId : host.hostId + suffix;
}

/**
 * Returns a block's offer. The object is built field by field, because objects built by spreading can each get their
 * own shape, which makes them slow to read and three times as large.
 */
export function offerOf(host: OfferedHost, block: LayoutBlock, preemptible: boolean, pricePerHour: ModeRates): Offer {
  const { region, cpu, down, up, ports, pcie, cudaMax, reliability, demo, hasAgent, fuse, layout } = host;
  const { numGpus } = layout;
  return {
    machineId: blockIdOf(host, block),
    gpu: block.gpu,
    numGpus: block.count,
    region,
    cpu,
    vcpus: shareOf(host.vcpus, block, numGpus),
    ramGb: shareOf(host.ramGb, block, numGpus),
    diskGb: diskGbOf(host, block),
    netMbps: { down: shareOf(down, block, numGpus), up: shareOf(up, block, numGpus) },
    ports: shareOf(ports, block, numGpus),
    pcie,
    nvlink: isLinked(host.nvlink, block, numGpus),
    cudaMax,
    reliability,
    preemptible,
    demo,
    hasAgent,
    fuse,
    pricePerHour,
  };
}

export function traitsOf(machine: GroupKey, { tier, vramGb, onDemandRate }: PricedModel): GroupTraits {
  const { gpu, region, numGpus, nvlink, preemptible, hasAgent, fuse, breaks } = machine;
  const pricePerHour = modeRates(onDemandRate * BigInt(numGpus));
  return {
    gpu,
    region,
    numGpus,
    nvlink,
    preemptible,
    hasAgent,
    fuse,
    breaks,
    tier,
    vramGb,
    pricePerGpu: onDemandRate,
    pricePerHour,
  };
}
