import { cudaNumber } from './cuda.js';
import { type Availability, availabilityOf } from './free-machine.js';
import type { GpuTier } from './gpu-tier.js';
import { breaksOf, type Layout, type LayoutBlock, modeOn, type RunningBits } from './layout.js';
import type { Rate } from './money.js';
import { type ModeRates, modeRates } from './price-rule.js';
import { type Block, isLinked, shareOf } from './slices.js';

/** A machine on offer, without its price. */
export interface OfferedMachine {
  machineId: string;
  gpu: string;
  numGpus: number;
  region: string;
  cpu: string;
  vcpus: number;
  ramGb: number;
  /** GB available for a new disk. */
  diskGb: number;
  netMbps: { down: number; up: number };
  ports: number;
  pcie: number;
  /** Whether its GPUs are linked. A single GPU of a larger host is not linked to any GPU of its renter. */
  nvlink: boolean;
  cudaMax: string;
  reliability: number;
  /** Whether an interruptible instance runs on it; such machines are returned only on request. */
  preemptible: boolean;
  demo: boolean;
  /** Whether a host agent runs its containers. An unreachable one is not offered. */
  hasAgent: boolean;
  /** Whether its operator lets containers mount FUSE file systems. */
  fuse: boolean;
}

/** Properties of a machine that a filter bounds per machine; as a minimum, 0 is no requirement. */
export interface MachineSize extends Pick<OfferedMachine, 'vcpus' | 'ramGb' | 'diskGb'> {
  /** As `cudaNumber`. */
  cuda: number;
}

export interface Offer extends OfferedMachine {
  /** Price of the whole machine. */
  pricePerHour: ModeRates;
}

/** A model that has a price. */
export interface PricedModel {
  tier: GpuTier;
  vramGb: number;
  /** Rate per GPU-hour. */
  onDemandRate: Rate;
}

/** A listed host, whose unoccupied blocks are offered as machines; without prices. */
export interface OfferedHost extends RunningBits {
  hostId: string;
  layout: Layout;
  region: string;
  cpu: string;
  /** This and all following amounts are the whole host's. */
  vcpus: number;
  ramGb: number;
  diskGb: number;
  /** GB of it not used by its instances. */
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

/** Fields by which machines are grouped. */
export interface GroupKey
  extends Pick<OfferedMachine, 'gpu' | 'region' | 'numGpus' | 'nvlink' | 'preemptible' | 'hasAgent' | 'fuse'> {
  /** GPUs of the larger free block that a rental of one breaks; 0: none. */
  breaks: number;
}

/** Properties shared by all offers of a group: everything on which a price, or most of a filter, depends. */
export interface GroupTraits extends GroupKey {
  tier: GpuTier;
  /** GB of one GPU. */
  vramGb: number;
  /** Rate per GPU-hour on demand. */
  pricePerGpu: Rate;
  /** Price of the whole machine; one object for all offers of the group. */
  pricePerHour: ModeRates;
}

/** Minimum free disk of an offer; a machine with less may still be rented by its id. */
const MIN_OFFERED_DISK_GB = 50;

/** Whether a machine is offered; a preemptible one is marked as such. */
export function isOffered(availability: Availability, diskLeftGb: number): boolean {
  return (availability === 'FREE' || availability === 'PREEMPTIBLE') && diskLeftGb >= MIN_OFFERED_DISK_GB;
}

/** Returns the GB available for a new disk on a block: its share, or what remains on its host if that is less. */
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

/** Whether a block of the size has enough disk to be offered. */
export function hasOfferedDisk(host: OfferedHost, block: Pick<Block, 'count'>): boolean {
  return diskGbOf(host, block) >= MIN_OFFERED_DISK_GB;
}

/** Returns the key of a block's group; null if the block is not offered. */
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

/** Returns the traits of a smaller block within one of the group, except for the machine's price. */
export function smallerOf(traits: GroupTraits, numGpus: number): GroupTraits {
  return { ...traits, numGpus, nvlink: traits.nvlink && numGpus > 1 };
}

export function blockIdOf(host: OfferedHost, { suffix }: LayoutBlock): string {
  return suffix === '' ? host.hostId : host.hostId + suffix;
}

/**
 * Returns the offer of a block. It is built field by field: objects made by spreading may each have their own shape,
 * which is slow to read and three times as large.
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
