import { cudaNumber } from './cuda.js';
import type { GpuTier } from './gpu-tier.js';
import type { Rate } from './money.js';
import type { GroupTraits, MachineSize, OfferedMachine } from './offer.js';

/** Requirements for a machine, within the bounds of the fields; null means no requirement, and no list is empty. */
export interface OfferRequirements {
  gpus: readonly string[] | null;
  regions: readonly string[] | null;
  tiers: readonly GpuTier[] | null;
  /** Of one GPU. */
  vramGbMin: number | null;
  nvlink: boolean | null;
  reliabilityMin: number | null;
  vcpusMin: number | null;
  ramGbMin: number | null;
  diskGbMin: number | null;
  numMin: number;
  numMax: number | null;
  /** Per GPU-hour on demand, whatever the mode. */
  pricePerGpuMax: Rate | null;
  /** Also machines that only an interruptible instance holds. */
  includePreemptible: boolean;
  /** Left out where nothing is required: an idempotency key that is older than it stands for the same input. */
  hasAgent?: boolean;
  /** As `cudaNumber`; left out as `hasAgent` is. */
  cudaMin?: number;
}

/** The requirements as tests: of all offers of a group at once, then of each machine. */
export interface OfferCriteria {
  /** The only model that can fit, and the only region, where there is but one: other groups are not looked at. */
  gpu: string | null;
  region: string | null;
  fitsGroup: (group: GroupTraits) => boolean;
  reliabilityMin: number;
  /** Further requirements for each machine; null: none. */
  sizeMin: MachineSize | null;
}

export function criteriaOf(requirements: OfferRequirements): OfferCriteria {
  const { gpus, regions, tiers, vramGbMin, nvlink, numMin, numMax, pricePerGpuMax, includePreemptible } = requirements;
  const { vcpusMin, ramGbMin, diskGbMin, hasAgent, cudaMin } = requirements;
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
      (hasAgent === undefined || group.hasAgent === hasAgent),
    reliabilityMin: requirements.reliabilityMin ?? 0,
    sizeMin:
      vcpusMin === null && ramGbMin === null && diskGbMin === null && cudaMin === undefined
        ? null
        : { vcpus: vcpusMin ?? 0, ramGb: ramGbMin ?? 0, diskGb: diskGbMin ?? 0, cuda: cudaMin ?? 0 },
  };
}

/** Whether one offer fits, with the traits of its group. */
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

/** The entry of a list that has just one. */
export function onlyOf(list: readonly string[] | null): string | null {
  return list?.length === 1 ? list[0]! : null;
}
