import { describe, expect, it } from 'vitest';
import { isOffered, type OfferedMachine, traitsOf } from '../../src/domain/inventory/rules/offer.js';
import {
  BY_PRICE,
  BY_PRICE_PER_GPU,
  BY_RELIABILITY,
  compareOffers,
  type OfferOrder,
} from '../../src/domain/inventory/rules/offer-order.js';

type Of = Pick<OfferedMachine, 'machineId' | 'numGpus' | 'reliability'> & { usd: bigint };

/** `usd` is the price per GPU. */
function offer({ usd, ...machine }: Of) {
  const key = {
    gpu: 'a',
    region: 'x',
    nvlink: false,
    preemptible: false,
    hasAgent: true,
    fuse: false,
    breaks: 0,
    ...machine,
  };
  return { ...key, ...traitsOf(key, { tier: 'FLAGSHIP', vramGb: 80, onDemandRate: usd }) };
}

const OFFERS = [
  { machineId: 'm-b', numGpus: 1, reliability: 0.9, usd: 40n },
  { machineId: 'm-a', numGpus: 2, reliability: 0.9, usd: 20n },
  { machineId: 'm-c', numGpus: 2, reliability: 0.99, usd: 20n },
  { machineId: 'm-d', numGpus: 4, reliability: 0.95, usd: 20n },
  { machineId: 'm-e', numGpus: 1, reliability: 0.95, usd: 30n },
  { machineId: 'm-B', numGpus: 1, reliability: 0.9, usd: 40n },
];
const sorted = (order: OfferOrder, offers = OFFERS) =>
  offers
    .map(offer)
    .sort((one, other) => compareOffers(order, one, other))
    .map(({ machineId }) => machineId)
    .join(' ');

describe('offers', () => {
  it.each<[string, OfferOrder, string]>([
    ['cheapest first', BY_PRICE, 'm-e m-c m-B m-a m-b m-d'],
    ['cheapest GPU first, then as by price', BY_PRICE_PER_GPU, 'm-c m-a m-d m-e m-B m-b'],
    ['most reliable first, then as by price', BY_RELIABILITY, 'm-c m-e m-d m-B m-a m-b'],
  ])('are sorted %s, regardless of their order of arrival', (_name, order, expected) => {
    expect(sorted(order)).toBe(expected);
    expect(sorted(order, [...OFFERS].reverse())).toBe(expected);
  });

  it('compare as equal to themselves', () => {
    for (const order of [BY_PRICE, BY_PRICE_PER_GPU, BY_RELIABILITY])
      expect(compareOffers(order, offer(OFFERS[0]!), offer(OFFERS[0]!))).toBe(0);
  });

  it('have the price of the whole machine in each mode', () => {
    expect(offer({ machineId: 'm', numGpus: 4, reliability: 1, usd: 1_000n })).toMatchObject({
      ...{
        gpu: 'a',
        region: 'x',
        numGpus: 4,
        nvlink: false,
        preemptible: false,
        hasAgent: true,
        fuse: false,
        tier: 'FLAGSHIP',
        vramGb: 80,
      },
      ...{ pricePerGpu: 1_000n, pricePerHour: { onDemand: 4_000n, interruptible: 2_000n, reserved: 2_600n } },
    });
  });

  it('are only for available machines with at least 50 GB of disk', () => {
    for (const availability of ['FREE', 'PREEMPTIBLE'] as const)
      expect([49, 50, 51].map((gb) => isOffered(availability, gb))).toEqual([false, true, true]);
    for (const availability of ['TAKEN', 'NOT_LISTED'] as const) expect(isOffered(availability, 500)).toBe(false);
  });
});
