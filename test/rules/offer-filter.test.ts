import { describe, expect, it } from 'vitest';
import { type GroupTraits, type OfferedMachine, traitsOf } from '../../src/domain/inventory/rules/offer.js';
import { criteriaOf, fits, type OfferRequirements, onlyOf } from '../../src/domain/inventory/rules/offer-filter.js';

const ANY: OfferRequirements = {
  gpus: null,
  regions: null,
  tiers: null,
  vramGbMin: null,
  nvlink: null,
  reliabilityMin: null,
  vcpusMin: null,
  ramGbMin: null,
  diskGbMin: null,
  numMin: 1,
  numMax: null,
  pricePerGpuMax: null,
  includePreemptible: false,
};

const MACHINE: OfferedMachine = {
  machineId: 'm-1',
  gpu: 'h100',
  numGpus: 4,
  region: 'us-east',
  cpu: 'AMD EPYC 9354',
  vcpus: 64,
  ramGb: 256,
  diskGb: 500,
  netMbps: { down: 5_000, up: 4_000 },
  ports: 128,
  pcie: 5,
  nvlink: true,
  cudaMax: '12.8',
  reliability: 0.99,
  preemptible: false,
  demo: false,
  hasAgent: true,
  fuse: true,
};

function offer(changes: Partial<OfferedMachine> = {}): OfferedMachine & GroupTraits {
  const machine = { ...MACHINE, breaks: 0, ...changes };
  return { ...machine, ...traitsOf(machine, { tier: 'FLAGSHIP', vramGb: 80, onDemandRate: 2_000_000n }) };
}

const isFitting = (requirements: Partial<OfferRequirements>, of = offer()) =>
  fits(criteriaOf({ ...ANY, ...requirements }), of);

describe('an offer', () => {
  it('fits if nothing is required', () => {
    expect(isFitting({})).toBe(true);
  });

  it.each<[keyof OfferRequirements, Partial<OfferRequirements>, Partial<OfferRequirements>]>([
    ['gpus', { gpus: ['a100', 'h100'] }, { gpus: ['a100'] }],
    ['regions', { regions: ['us-east'] }, { regions: ['eu-west', 'us-west'] }],
    ['tiers', { tiers: ['CONSUMER', 'FLAGSHIP'] }, { tiers: ['CONSUMER'] }],
    ['vramGbMin', { vramGbMin: 80 }, { vramGbMin: 81 }],
    ['nvlink', { nvlink: true }, { nvlink: false }],
    ['hasAgent', { hasAgent: true }, { hasAgent: false }],
    ['fuse', { fuse: true }, { fuse: false }],
    ['reliabilityMin', { reliabilityMin: 0.99 }, { reliabilityMin: 0.991 }],
    ['vcpusMin', { vcpusMin: 64 }, { vcpusMin: 65 }],
    ['ramGbMin', { ramGbMin: 256 }, { ramGbMin: 257 }],
    ['diskGbMin', { diskGbMin: 500 }, { diskGbMin: 501 }],
    ['numMin', { numMin: 4 }, { numMin: 5 }],
    ['numMax', { numMax: 4 }, { numMax: 3 }],
    ['pricePerGpuMax', { pricePerGpuMax: 2_000_000n }, { pricePerGpuMax: 1_999_999n }],
  ])('meets a requirement for %s up to its bound', (_name, met, missed) => {
    expect(isFitting(met)).toBe(true);
    expect(isFitting(missed)).toBe(false);
  });

  it('without NVLink matches a renter who excludes NVLink', () => {
    expect(isFitting({ nvlink: false }, offer({ nvlink: false }))).toBe(true);
    expect(isFitting({ nvlink: true }, offer({ nvlink: false }))).toBe(false);
  });

  it('that would preempt an instance matches only renters who opt in', () => {
    expect(isFitting({}, offer({ preemptible: true }))).toBe(false);
    expect(isFitting({ includePreemptible: true }, offer({ preemptible: true }))).toBe(true);
    expect(isFitting({ includePreemptible: true })).toBe(true);
  });

  it('must satisfy all requirements', () => {
    expect(isFitting({ vcpusMin: 64, ramGbMin: 256, diskGbMin: 500 })).toBe(true);
    expect(isFitting({ vcpusMin: 64, ramGbMin: 256, diskGbMin: 501 })).toBe(false);
    expect(isFitting({ gpus: ['h100'], regions: ['eu-west'] })).toBe(false);
  });
});

describe('search criteria', () => {
  it("check machines individually only for requirements that groups can't answer", () => {
    expect(criteriaOf({ ...ANY, gpus: ['h100'], numMin: 2, reliabilityMin: 0.9 }).sizeMin).toBeNull();
    expect(criteriaOf({ ...ANY, ramGbMin: 1 }).sizeMin).not.toBeNull();
  });

  it('name the model or region if only one is possible', () => {
    expect(criteriaOf({ ...ANY, gpus: ['h100'], regions: ['a', 'b'] })).toMatchObject({ gpu: 'h100', region: null });
    expect([onlyOf(null), onlyOf(['a']), onlyOf(['a', 'b'])]).toEqual([null, 'a', null]);
  });
});

it.each<[number, string, boolean]>([
  [1204, '12.4', true],
  [1204, '12.8', true],
  [1204, '12.2', false],
  [1204, '13.0', true],
  [900, '12.0', true],
  [1204, '12', false],
  [1204, '', false],
])('a requirement of at least CUDA %i matches a machine with %s: %s', (cudaMin, cudaMax, isOne) => {
  expect(isFitting({ cudaMin }, offer({ cudaMax }))).toBe(isOne);
});
