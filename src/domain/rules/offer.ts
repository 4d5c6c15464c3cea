import { cudaNumber } from './cuda.js';
import { type Availability, availabilityOf } from './free-machine.js';
import type { GpuTier } from './gpu-tier.js';
import { breaksOf, type LaidBlock, type Layout, modeOn, type RunningBits } from './layout.js';
import type { Rate } from './money.js';
import { type ModeRates, modeRates } from './price-rule.js';
import { type Block, isLinked, shareOf } from './slices.js';

/** A machine that is offered, without its price. */
export interface OfferedMachine {
  machineId: string;
  gpu: string;
  numGpus: number;
  region: string;
  cpu: string;
  vcpus: number;
  ramGb: number;
  /** What is left for a new disk. */
  diskGb: number;
  netMbps: { down: number; up: number };
  ports: number;
  pcie: number;
  /** Its GPUs are linked. One GPU of a host that has more is linked to none that a renter has. */
  nvlink: boolean;
  cudaMax: string;
  reliability: number;
  /** An interruptible instance runs on it; shown only to those who ask for such machines. */
  preemptible: boolean;
  demo: boolean;
  /** A host agent runs its containers, and is heard from: one that is not is no offer. */
  hasAgent: boolean;
}

/** What a machine has of what a filter bounds for each machine; as a minimum, 0 is no requirement. */
export interface MachineSize extends Pick<OfferedMachine, 'vcpus' | 'ramGb' | 'diskGb'> {
  /** As `cudaNumber`. */
  cuda: number;
}

export interface Offer extends OfferedMachine {
  /** Of the whole machine. */
  pricePerHour: ModeRates;
}

/** A model that has a price. */
export interface PricedModel {
  tier: GpuTier;
  vramGb: number;
  /** Per GPU-hour. */
  onDemandRate: Rate;
}

/** A listed host, of which the blocks where nothing is in the way are offered as machines; without prices. */
export interface OfferedHost extends RunningBits {
  hostId: string;
  layout: Layout;
  region: string;
  cpu: string;
  /** This and all further amounts are the whole host's. */
  vcpus: number;
  ramGb: number;
  diskGb: number;
  /** What its instances' disks leave of it. */
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
}

/** The fields by which machines are grouped. */
export interface GroupKey
  extends Pick<OfferedMachine, 'gpu' | 'region' | 'numGpus' | 'nvlink' | 'preemptible' | 'hasAgent'> {
  /** GPUs of the larger free block that a rental of one breaks; 0: it breaks none. */
  breaks: number;
}

/** What all offers of a group have in common: what a price, or most of a filter, depends on. */
export interface GroupTraits extends GroupKey {
  tier: GpuTier;
  /** Of one GPU. */
  vramGb: number;
  /** Per GPU-hour on demand. */
  pricePerGpu: Rate;
  /** Of the whole machine; one object for all offers of the group. */
  pricePerHour: ModeRates;
}

/** A machine with less disk left than this is not offered, though it may be rented by its id. */
const MIN_OFFERED_DISK_GB = 50;

/** Whether a machine is an offer; one that is preemptible is so marked. */
export function isOffered(availability: Availability, diskLeftGb: number): boolean {
  return (availability === 'FREE' || availability === 'PREEMPTIBLE') && diskLeftGb >= MIN_OFFERED_DISK_GB;
}

/** What a block has for a new disk: its share, or what its host has left where that is less. */
function diskGbOf({ diskGb, diskLeftGb, layout }: OfferedHost, block: Pick<Block, 'count'>): number {
  return Math.min(shareOf(diskGb, block, layout.numGpus), diskLeftGb);
}

/** What a block has of its host. */
export function sizeOf(host: OfferedHost, block: Pick<Block, 'count'>): MachineSize {
  const { vcpus, ramGb, cudaMax, layout } = host;
  return {
    vcpus: shareOf(vcpus, block, layout.numGpus),
    ramGb: shareOf(ramGb, block, layout.numGpus),
    diskGb: diskGbOf(host, block),
    cuda: cudaNumber(cudaMax),
  };
}

/** Whether a block of the size has disk enough to be offered. */
export function hasOfferedDisk(host: OfferedHost, block: Pick<Block, 'count'>): boolean {
  return diskGbOf(host, block) >= MIN_OFFERED_DISK_GB;
}

/** The key of a block's group; null when the block is not offered. */
export function groupKeyOf(host: OfferedHost, block: LaidBlock): GroupKey | null {
  const availability = availabilityOf('LISTED', modeOn(block, host));
  if (!isOffered(availability, diskGbOf(host, block))) return null;
  return {
    gpu: block.gpu,
    region: host.region,
    numGpus: block.count,
    nvlink: isLinked(host.nvlink, block, host.layout.numGpus),
    preemptible: availability === 'PREEMPTIBLE',
    hasAgent: host.hasAgent,
    breaks: breaksOf(block, host),
  };
}

export function isAnyOffered(host: OfferedHost): boolean {
  return host.layout.blocks.some((block) => groupKeyOf(host, block) !== null);
}

/** The traits of a smaller block within one of the group, but for the price of the machine. */
export function smallerOf(traits: GroupTraits, numGpus: number): GroupTraits {
  return { ...traits, numGpus, nvlink: traits.nvlink && numGpus > 1 };
}

export function blockIdOf(host: OfferedHost, { suffix }: LaidBlock): string {
  return suffix === '' ? host.hostId : host.hostId + suffix;
}

/**
 * A block as it is offered. Made field by field: objects made by spreading may each have a shape of their own, slow to
 * read and three times as large.
 */
export function offerOf(host: OfferedHost, block: LaidBlock, preemptible: boolean, pricePerHour: ModeRates): Offer {
  const { region, cpu, down, up, ports, pcie, cudaMax, reliability, demo, hasAgent, layout } = host;
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
    pricePerHour,
  };
}

export function traitsOf(machine: GroupKey, { tier, vramGb, onDemandRate }: PricedModel): GroupTraits {
  const { gpu, region, numGpus, nvlink, preemptible, hasAgent, breaks } = machine;
  const pricePerHour = modeRates(onDemandRate * BigInt(numGpus));
  return {
    gpu,
    region,
    numGpus,
    nvlink,
    preemptible,
    hasAgent,
    breaks,
    tier,
    vramGb,
    pricePerGpu: onDemandRate,
    pricePerHour,
  };
}
