import { describe, expect, it } from 'vitest';
import { type BestOfferRequest, bestOffer } from '../../src/domain/inventory/rules/best-offer.js';
import { type GroupKey, type OfferedMachine, traitsOf } from '../../src/domain/inventory/rules/offer.js';
import { fits } from '../../src/domain/inventory/rules/offer-filter.js';
import { compareOffers } from '../../src/domain/inventory/rules/offer-order.js';

const REQUEST: BestOfferRequest = {
  filter: {
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
    includePreemptible: true,
  },
  gpus: null,
  regions: null,
  maxRate: null,
  diskGb: 50,
  mode: 'ON_DEMAND',
};

function offer(machineId: string, onDemandRate: bigint, changes: Partial<OfferedMachine & GroupKey> = {}) {
  const machine: OfferedMachine & GroupKey = {
    machineId,
    gpu: 'a',
    numGpus: 1,
    region: 'x',
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
    fuse: false,
    breaks: 0,
    ...changes,
  };
  return { ...machine, ...traitsOf(machine, { tier: 'CONSUMER', vramGb: 24, onDemandRate }) };
}

/** Returns the ids of fitting offers, best first. */
function ranked(request: Partial<BestOfferRequest>, offers: ReturnType<typeof offer>[]): string {
  const { criteria, order } = bestOffer({ ...REQUEST, ...request });
  const fitting = offers.filter((one) => fits(criteria, one)).sort((one, other) => compareOffers(order, one, other));
  return fitting.map(({ machineId }) => machineId).join(' ');
}

describe('the best offer', () => {
  it('prefers machines that run containers, but only within the preferred model', () => {
    const offers = [offer('m-1', 10n, { hasAgent: false }), offer('m-2', 20n), offer('m-3', 5n, { gpu: 'b' })];
    expect(ranked({}, offers)).toBe('m-3 m-2 m-1');
    expect(ranked({ gpus: ['a', 'b'] }, offers)).toBe('m-2 m-1 m-3');
  });

  it('is the cheapest one, with ties broken by availability, reliability and id', () => {
    const offers = [
      offer('m-1', 20n, { numGpus: 2 }),
      offer('m-2', 30n, { preemptible: true, reliability: 1 }),
      offer('m-3', 30n, { reliability: 0.5 }),
      offer('m-5', 30n),
      offer('m-4', 30n),
    ];
    expect(ranked({}, offers)).toBe('m-4 m-5 m-3 m-2 m-1');
  });

  it('splits the smallest free block among equally cheap free machines', () => {
    const offers = [
      offer('m-1', 1n, { breaks: 8, reliability: 1 }),
      offer('m-2', 1n, { breaks: 2 }),
      offer('m-3', 1n, { preemptible: true }),
      offer('m-4', 1n),
      offer('m-5', 2n),
      offer('m-6', 1n, { breaks: 2, reliability: 0.999 }),
    ];
    expect(ranked({}, offers)).toBe('m-4 m-6 m-2 m-1 m-3 m-5');
  });

  it('is chosen by preferred model, then preferred region, regardless of price', () => {
    const offers = [
      offer('m-1', 1n, { gpu: 'b' }),
      offer('m-2', 3n, { gpu: 'a', region: 'y' }),
      offer('m-3', 2n, { gpu: 'a', region: 'x' }),
      offer('m-4', 1n, { gpu: 'c' }),
      offer('m-5', 1n, { gpu: 'a', region: 'z' }),
    ];
    expect(ranked({ gpus: ['a', 'b'] }, offers)).toBe('m-5 m-3 m-2 m-1');
    expect(ranked({ gpus: ['a', 'b'], regions: ['y', 'x'] }, offers)).toBe('m-2 m-3 m-1');
  });

  it('costs at most the limit in the requested mode', () => {
    const offers = [offer('m-1', 1_000n), offer('m-2', 1_001n)];
    expect(ranked({ maxRate: 1_000n }, offers)).toBe('m-1');
    expect(ranked({ maxRate: 650n, mode: 'RESERVED' }, offers)).toBe('m-1 m-2');
    expect(ranked({ maxRate: 649n, mode: 'RESERVED' }, offers)).toBe('');
  });

  it('has enough disk and meets every requirement of the filter', () => {
    const offers = [offer('m-1', 1n, { diskGb: 99 }), offer('m-2', 2n, { diskGb: 100 }), offer('m-3', 3n)];
    expect(ranked({ diskGb: 100 }, offers)).toBe('m-2 m-3');
    expect(ranked({ diskGb: 10, filter: { ...REQUEST.filter, diskGbMin: 101 } }, offers)).toBe('m-3');
  });

  it("preempts only if the renter opts in and doesn't rent as interruptible", () => {
    const offers = [offer('m-1', 1n, { preemptible: true }), offer('m-2', 2n)];
    expect(ranked({}, offers)).toBe('m-1 m-2');
    expect(ranked({ mode: 'INTERRUPTIBLE' }, offers)).toBe('m-2');
    expect(ranked({ filter: { ...REQUEST.filter, includePreemptible: false } }, offers)).toBe('m-2');
  });

  it('is sought within a single model or region if only one is given', () => {
    expect(
      bestOffer({ ...REQUEST, gpus: ['a'], filter: { ...REQUEST.filter, regions: ['y'] } }).criteria,
    ).toMatchObject({
      gpu: 'a',
      region: 'y',
    });
    expect(bestOffer({ ...REQUEST, regions: ['x', 'y'] }).criteria).toMatchObject({ gpu: null, region: null });
  });
});
