import { cudaNumber } from '../../kernel/cuda.js';
import type { GpuTier } from '../../kernel/gpu-tier.js';
import type { Rate } from '../../kernel/money.js';
import type { GroupTraits, MachineSize, OfferedMachine } from './offer.js';

/**
 * Requirements for a machine, already validated against the bounds of the fields. Null means no requirement. Lists are
 * never empty.
 */
export interface OfferRequirements {
  gpus: readonly string[] | null;
  regions: readonly string[] | null;
  tiers: readonly GpuTier[] | null;
  /** Minimum memory per GPU, in GB. */
  vramGbMin: number | null;
  nvlink: boolean | null;
  reliabilityMin: number | null;
  vcpusMin: number | null;
  ramGbMin: number | null;
  diskGbMin: number | null;
  numMin: number;
  numMax: number | null;
  /** Maximum on-demand price per GPU-hour, regardless of the mode. */
  pricePerGpuMax: Rate | null;
  /** Whether to include machines whose only running instances are interruptible. */
  includePreemptible: boolean;
  /**
   * Undefined if not required, so that requests with an idempotency key made before this field existed still have the
   * same input.
   */
  hasAgent?: boolean;
  /** Undefined if not required, like `hasAgent`. */
  fuse?: boolean;
  /** The minimum, as returned by `cudaNumber`. Undefined for the same reason as `hasAgent`. */
  cudaMin?: number;
}

/** The requirements as checks, first on the properties shared by a group's offers and then on each machine. */
export interface OfferCriteria {
  /**
   * The only model and the only region that can match, each null if there are several. All other groups are skipped.
   */
  gpu: string | null;
  region: string | null;
  fitsGroup: (group: GroupTraits) => boolean;
  reliabilityMin: number;
  /** Minimums that each machine must also meet, or null if there are none. */
  sizeMin: MachineSize | null;
}

export function criteriaOf(requirements: OfferRequirements): OfferCriteria {
  const { gpus, regions, tiers, vramGbMin, nvlink, numMin, numMax, pricePerGpuMax, includePreemptible } = requirements;
  const { vcpusMin, ramGbMin, diskGbMin, hasAgent, fuse, cudaMin } = requirements;
  return {
    gpu: onlyOf(gpus),
    region: onlyOf(regions),
    fitsGroup: (group) =>
      (gpus === null || gpus.includes(group.gpu)) &&
      (regions === null || regions.includes(group.region)) &&
      (tiers === null || tiers.includes(group.tier)) &&
      (vramGbMin === null || group.vramGb >= vramGbMin) &&
      (nvlink === null || group.nvlink === nvlink) &&
      group.numGpus >= numMin &&
      (numMax === null || group.numGpus <= numMax) &&
      (pricePerGpuMax === null || group.pricePerGpu <= pricePerGpuMax) &&
      (includePreemptible || !group.preemptible) &&
      (hasAgent === undefined || group.hasAgent === hasAgent) &&
      (fuse === undefined || group.fuse === fuse),
    reliabilityMin: requirements.reliabilityMin ?? 0,
    sizeMin:
      vcpusMin === null && ramGbMin === null && diskGbMin === null && cudaMin === undefined
        ? null
        : { vcpus: vcpusMin ?? 0, ramGb: ramGbMin ?? 0, diskGb: diskGbMin ?? 0, cuda: cudaMin ?? 0 },
  };
}

/** Whether an offer, given with its group's traits, matches. */
export function fits(
  { fitsGroup, reliabilityMin, sizeMin }: OfferCriteria,
  offer: OfferedMachine & GroupTraits,
): boolean {
  const size = { ...offer, cuda: cudaNumber(offer.cudaMax) };
  return fitsGroup(offer) && offer.reliability >= reliabilityMin && isOfSize(size, sizeMin);
}

export function isOfSize({ vcpus, ramGb, diskGb, cuda }: MachineSize, min: MachineSize | null): boolean {
  return min === null || (vcpus >= min.vcpus && ramGb >= min.ramGb && diskGb >= min.diskGb && cuda >= min.cuda);
}

/** Returns the only entry of a list, or null if the list doesn't have exactly one. */
export function onlyOf(list: readonly string[] | null): string | null {
  const [entry = null, ...others] = list ?? [];
  return others.length === 0 ? entry : null;
}
