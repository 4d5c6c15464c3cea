import type { Availability } from './free-machine.js';
import type { GpuTier } from './gpu-tier.js';
import type { Rate } from './money.js';
import { type ModeRates, modeRates } from './price-rule.js';

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
  nvlink: boolean;
  cudaMax: string;
  reliability: number;
  /** An interruptible instance runs on it; shown only to those who ask for such machines. */
  preemptible: boolean;
  demo: boolean;
  /** A host agent runs its containers, and is heard from: one that is not is no offer. */
  hasAgent: boolean;
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

/** The fields by which machines are grouped. */
export type GroupKey = Pick<OfferedMachine, 'gpu' | 'region' | 'numGpus' | 'nvlink' | 'preemptible' | 'hasAgent'>;

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

export function traitsOf(machine: GroupKey, { tier, vramGb, onDemandRate }: PricedModel): GroupTraits {
  const { gpu, region, numGpus, nvlink, preemptible, hasAgent } = machine;
  const pricePerHour = modeRates(onDemandRate * BigInt(numGpus));
  return { gpu, region, numGpus, nvlink, preemptible, hasAgent, tier, vramGb, pricePerGpu: onDemandRate, pricePerHour };
}
