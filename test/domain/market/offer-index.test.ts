import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OfferIndex, type OfferRange } from '../../../src/domain/inventory/offer-index.js';
import { checkFilter, type OfferSort, pageOf, positionOf } from '../../../src/domain/inventory/offer-search.js';
import { bestOffer } from '../../../src/domain/inventory/rules/best-offer.js';
import type { OfferedMachine, PricedModel } from '../../../src/domain/inventory/rules/offer.js';
import { criteriaOf } from '../../../src/domain/inventory/rules/offer-filter.js';
import { BY_PRICE, type OfferPosition } from '../../../src/domain/inventory/rules/offer-order.js';
import { randomHistories } from '../../support/long.js';
import {
  type NaiveHost,
  type NaiveMachine,
  naiveMachines,
  offeredHost,
  PLAIN,
  type Running,
} from '../../support/market/naive-host.js';

const RUNS = 200;

type Models = ReadonlyMap<string, PricedModel>;

/**
 * A few values of each, so that machines share groups and groups share prices. Two of model a cost as much as one b,
 * and c costs as much as a.
 */
const MODELS: Models = new Map([
  ['a', { onDemandRate: 100_000n, tier: 'CONSUMER', vramGb: 24 }],
  ['b', { onDemandRate: 200_000n, tier: 'DATACENTER', vramGb: 80 }],
  ['c', { onDemandRate: 100_000n, tier: 'DATACENTER', vramGb: 24 }],
]);
const OTHER_MODELS: Models = new Map([
  ['a', { onDemandRate: 300_000n, tier: 'CONSUMER', vramGb: 24 }],
  ['c', { onDemandRate: 50_000n, tier: 'FLAGSHIP', vramGb: 48 }],
  ['unpriced', { onDemandRate: 10_000n, tier: 'CONSUMER', vramGb: 8 }],
]);
const GPUS = ['a', 'b', 'c', 'unpriced'];
const REGIONS = ['x', 'y'];

/** A host with up to two GPUs that is rented whole. */
const wholeHost: fc.Arbitrary<NaiveHost> = fc
  .record({
    number: fc.nat({ max: 60 }),
    gpu: fc.constantFrom(...GPUS),
    region: fc.constantFrom(...REGIONS),
    numGpus: fc.integer({ min: 1, max: 2 }),
    reliability: fc.constantFrom(0.9, 0.95, 0.99),
    // Hosts are usually free, so that groups of a dozen machines have an order to maintain.
    preemptible: fc.constantFrom(false, false, false, true),
    diskGb: fc.integer({ min: 50, max: 60 }),
    vcpus: fc.constantFrom(32, 64),
    ramGb: fc.constantFrom(128, 256),
    nvlink: fc.constantFrom(false, false, true),
    hasAgent: fc.constantFrom(true, true, false),
  })
  .map(({ number, gpu, numGpus, preemptible, diskGb, ...given }) => ({
    ...PLAIN,
    ...given,
    hostId: idOf(number),
    models: Array.from({ length: numGpus }, () => gpu),
    running: preemptible ? [{ first: 0, count: numGpus, yields: true }] : [],
    diskGb,
    diskLeftGb: diskGb,
  }));

/** A host with up to eight GPUs of one or two models that is rented by the GPU, with its instances. */
const slicedHost: fc.Arbitrary<NaiveHost> = fc
  .record({
    number: fc.nat({ max: 60 }),
    models: fc.tuple(
      fc.constantFrom(...GPUS),
      fc.constantFrom(...GPUS),
      fc.constantFrom(8, 8, 4, 3, 6),
      fc.constantFrom(8, 8, 0, 3, 4),
    ),
    sizes: fc.oneof(fc.constant([0, 1, 2, 4, 8]), fc.subarray([0, 1, 2, 4, 8], { minLength: 1 })),
    missing: fc.constantFrom([], [], [], [1], [2, 5]),
    instances: fc.array(
      fc.record({ at: fc.nat({ max: 7 }), size: fc.constantFrom(1, 1, 2, 4), yields: fc.boolean() }),
      { maxLength: 4 },
    ),
    region: fc.constantFrom(...REGIONS),
    reliability: fc.constantFrom(0.9, 0.95, 0.99),
    diskGb: fc.constantFrom(800, 400, 390, 150),
    usedGb: fc.constantFrom(0, 0, 50, 345),
    vcpus: fc.constantFrom(64, 65, 256, 500),
    ramGb: fc.constantFrom(512, 1_023, 2_048),
    nvlink: fc.boolean(),
    hasAgent: fc.constantFrom(true, true, false),
  })
  .map(({ number, models: [one, other, first, last], instances, usedGb, ...given }) => {
    const models = Array.from({ length: Math.max(first, last) }, (_, place) => (place < first ? one : other));
    const running: Running[] = [];
    for (const { at, size, yields } of instances) {
      const block = { first: at - (at % size), count: size, yields };
      const isFree = (place: number) => !running.some((each) => each.first <= place && place < each.first + each.count);
      const places = Array.from({ length: size }, (_, n) => block.first + n);
      if (block.first + size <= models.length && places.every(isFree)) running.push(block);
    }
    return {
      ...PLAIN,
      ...given,
      hostId: idOf(number),
      models,
      running,
      diskLeftGb: Math.max(given.diskGb - usedGb, 0),
    };
  });

const host = fc.oneof(wholeHost, slicedHost);
/** Returns ids, some of which are prefixes of others. */
const idOf = (number: number) => `m-${number.toString(4)}`;

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('put' as const), host }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), host }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('check' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('reprice' as const), models: fc.constantFrom(MODELS, OTHER_MODELS) }),
  },
);

const anyOf = <T>(...values: T[]) => fc.option(fc.constantFrom(...values), { freq: 2 });
const anyList = <T>(...values: T[]) => fc.option(fc.subarray(values, { minLength: 1 }), { freq: 2 });
/** Requirements are usually low, so that some machine fits. */
const filter = fc.record(
  {
    gpus: anyList(...GPUS, 'unknown'),
    regions: anyList(...REGIONS, 'unknown'),
    tiers: anyList('CONSUMER' as const, 'DATACENTER' as const, 'FLAGSHIP' as const),
    vramGbMin: anyOf(24, 25, 80),
    nvlink: anyOf(true, false),
    hasAgent: anyOf(true, false),
    reliabilityMin: anyOf(0, 0.9, 0.95, 0.96, 1),
    vcpusMin: anyOf(8, 32, 64),
    ramGbMin: anyOf(64, 128, 129),
    diskGbMin: anyOf(50, 55, 61, 100),
    numMin: anyOf(1, 2, 3),
    numMax: anyOf(1, 2, 4, 7),
    pricePerGpuMax: anyOf(0, 0.099999, 0.1, 0.2),
    includePreemptible: fc.boolean(),
  },
  { requiredKeys: ['includePreemptible'] },
);
type Filter = typeof filter extends fc.Arbitrary<infer T> ? T : never;

/** A past, current or possible position of a machine, with any price, reliability and id. */
const position: fc.Arbitrary<OfferPosition> = fc.record({
  pricePerGpu: fc.constantFrom(0n, 50_000n, 100_000n, 200_000n, 10n ** 17n),
  pricePerHour: fc.record({ onDemand: fc.constantFrom(0n, 100_000n, 200_000n, 400_000n, 10n ** 17n) }),
  reliability: fc.constantFrom(0, 0.9, 0.95, 0.96, 0.99, 1),
  machineId: fc.tuple(fc.nat({ max: 60 }), fc.constantFrom('', '.g0', '.g2-3')).map(([n, end]) => idOf(n) + end),
});
/** A number is the index of a machine in the current list. */
const cursor = fc.option(fc.oneof({ weight: 3, arbitrary: fc.nat({ max: 30 }) }, { weight: 1, arbitrary: position }), {
  freq: 2,
});

const search = fc.record({
  filter,
  priceMax: anyOf(0n, 99_999n, 100_000n, 200_000n, 250_000n),
  sort: fc.constantFrom<OfferSort>('PRICE', 'PRICE_PER_GPU', 'RELIABILITY'),
  after: cursor,
  before: cursor,
  limit: fc.integer({ min: 1, max: 30 }),
  fromEnd: fc.boolean(),
});
type Search = typeof search extends fc.Arbitrary<infer T> ? T : never;

type NaiveOffer = OfferedMachine & OfferPosition;
const KEYS: Record<OfferSort, ((offer: OfferPosition) => bigint | number | string)[]> = {
  PRICE: [(o) => o.pricePerHour.onDemand, (o) => -o.reliability, (o) => o.machineId],
  PRICE_PER_GPU: [(o) => o.pricePerGpu, (o) => o.pricePerHour.onDemand, (o) => -o.reliability, (o) => o.machineId],
  RELIABILITY: [(o) => -o.reliability, (o) => o.pricePerHour.onDemand, (o) => o.machineId],
};

function compareBy(sort: OfferSort, one: OfferPosition, other: OfferPosition): number {
  for (const key of KEYS[sort]) if (key(one) !== key(other)) return key(one) < key(other) ? -1 : 1;
  return 0;
}

/** Applies the rules to all machines. */
function naive(machines: Iterable<OfferedMachine>, models: Models, required: Filter, sort: OfferSort): NaiveOffer[] {
  const isIn = (list: readonly string[] | null | undefined, value: string) => list == null || list.includes(value);
  const isAtLeast = (value: number, min: number | null | undefined) => min == null || value >= min;
  return [...machines]
    .filter(({ gpu }) => models.has(gpu))
    .map((machine) => {
      const { onDemandRate } = models.get(machine.gpu)!;
      const onDemand = onDemandRate * BigInt(machine.numGpus);
      return { ...machine, pricePerGpu: onDemandRate, pricePerHour: { onDemand } };
    })
    .filter((offer) => {
      const { tier, vramGb } = models.get(offer.gpu)!;
      return (
        isIn(required.gpus, offer.gpu) &&
        isIn(required.regions, offer.region) &&
        isIn(required.tiers, tier) &&
        isAtLeast(vramGb, required.vramGbMin) &&
        (required.nvlink == null || offer.nvlink === required.nvlink) &&
        isAtLeast(offer.reliability, required.reliabilityMin) &&
        isAtLeast(offer.vcpus, required.vcpusMin) &&
        isAtLeast(offer.ramGb, required.ramGbMin) &&
        isAtLeast(offer.diskGb, required.diskGbMin) &&
        isAtLeast(offer.numGpus, required.numMin) &&
        isAtLeast(-offer.numGpus, required.numMax == null ? null : -required.numMax) &&
        isAtLeast(
          -Number(offer.pricePerGpu),
          required.pricePerGpuMax == null ? null : -required.pricePerGpuMax * 1e6,
        ) &&
        (required.includePreemptible || !offer.preemptible) &&
        (required.hasAgent == null || offer.hasAgent === required.hasAgent)
      );
    })
    .sort((one, other) => compareBy(sort, one, other));
}

const idsOf = (offers: readonly { machineId: string }[]) => offers.map(({ machineId }) => machineId);

/** Returns a page as cut from the full list. */
function naivePage(list: readonly NaiveOffer[], sort: OfferSort, { after, before, limit, fromEnd }: OfferRange) {
  const places = list.flatMap((offer, place) =>
    (after === null || compareBy(sort, offer, after) > 0) && (before === null || compareBy(sort, offer, before) < 0)
      ? [place]
      : [],
  );
  const page = fromEnd ? places.slice(-limit) : places.slice(0, limit);
  return {
    ids: idsOf(page.map((place) => list[place]!)),
    total: list.length,
    hasPrevious: page.length > 0 ? page[0]! > 0 : after !== null && list.length > 0,
    hasNext: page.length > 0 ? page.at(-1)! < list.length - 1 : before !== null && list.length > 0,
  };
}

function expectSame(
  index: OfferIndex,
  hosts: ReadonlyMap<string, NaiveHost>,
  models: Models,
  searches: readonly Search[],
): void {
  const all = new Map([...hosts.values()].flatMap(naiveMachines).map((each) => [each.offered.machineId, each]));
  const machines = new Map([...all].map(([id, { offered }]) => [id, offered]));
  const gpusOf = (some: readonly OfferedMachine[]) =>
    new Set(some.flatMap(({ machineId }) => all.get(machineId)!.gpus)).size;
  for (const { filter, priceMax, sort, limit, fromEnd, ...cursors } of searches) {
    const required = criteriaOf(checkFilter(filter));
    const byPrice = naive(machines.values(), models, filter, 'PRICE');
    const cheap = byPrice.filter(({ pricePerHour }) => priceMax === null || pricePerHour.onDemand <= priceMax);
    const found = index.cheapest(JSON.stringify(filter), () => required, priceMax, limit);
    expect(found.map(({ pricePerHour: { onDemand }, ...offered }) => ({ ...offered, onDemand }))).toEqual(
      cheap.slice(0, limit).map(({ pricePerGpu: _, pricePerHour: { onDemand }, ...offered }) => ({
        ...offered,
        onDemand,
      })),
    );
    const excluded = new Set(idsOf(byPrice.slice(0, 2)));
    expect(idsOf(index.best(required, BY_PRICE, limit, excluded))).toEqual(idsOf(byPrice.slice(2, 2 + limit)));
    expect(idsOf(index.best(required, BEST, limit, excluded))).toEqual(
      idsOf(
        [...byPrice]
          .sort((one, other) => compareBest(one, other, all) || compareBy('PRICE', one, other))
          .filter(({ machineId }) => !excluded.has(machineId))
          .slice(0, limit),
      ),
    );
    const gpus = [...new Set(byPrice.map(({ gpu }) => gpu))];
    expect(index.gpusBy('gpu', required)).toEqual(
      new Map(gpus.map((gpu) => [gpu, gpusOf(byPrice.filter((offer) => offer.gpu === gpu))])),
    );

    const list = naive(machines.values(), models, filter, sort);
    const whole = pageOf(index, required, { sort, after: null, before: null, limit: 1_000, fromEnd: false });
    expect(idsOf(whole.offers)).toEqual(idsOf(list));
    const at = (given: Search['after']) =>
      typeof given !== 'number' ? given : list[given] === undefined ? null : positionOf(whole.offers[given]!);
    const range = { after: at(cursors.after), before: at(cursors.before), limit, fromEnd };
    const { offers, ...page } = pageOf(index, required, { sort, ...range });
    expect({ ids: idsOf(offers), ...page }).toEqual(naivePage(list, sort, range));
  }
  for (const gpu of [...GPUS, 'unknown']) {
    const free = [...machines.values()].filter((one) => one.gpu === gpu && !one.preemptible && models.has(gpu));
    expect([gpu, index.availableGpus(gpu), index.offersOf(gpu)]).toEqual([gpu, gpusOf(free), free.length]);
  }
  for (const { machineId, gpu } of [...machines.values()].slice(0, 30))
    expect(index.offerOf(machineId)?.machineId).toBe(models.has(gpu) ? machineId : undefined);
}

/** The order for a renter who names neither a model nor a region. */
const BEST = bestOffer({
  filter: checkFilter(null),
  gpus: null,
  regions: null,
  maxRate: null,
  diskGb: 1,
  mode: 'ON_DEMAND',
}).order;

function compareBest(one: NaiveOffer, other: NaiveOffer, all: ReadonlyMap<string, NaiveMachine>): number {
  return (
    Number(other.hasAgent) - Number(one.hasAgent) ||
    Number(one.pricePerHour.onDemand - other.pricePerHour.onDemand) ||
    Number(one.preemptible) - Number(other.preemptible) ||
    all.get(one.machineId)!.breaks - all.get(other.machineId)!.breaks
  );
}

describe('an offer index', () => {
  test('matches a naive sort after any additions, changes and removals', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(host, { maxLength: 60, size: 'max', selector: ({ hostId }) => hostId }),
        fc.array(step, { maxLength: 40, size: 'max' }),
        fc.array(search, { minLength: 1, maxLength: 6 }),
        (first, steps, searches) => {
          const hosts = new Map(first.map((one) => [one.hostId, one]));
          const index = new OfferIndex(MODELS, first.map(offeredHost));
          expectSame(index, hosts, MODELS, searches);
          let models = MODELS;
          for (const taken of steps) {
            if (taken.do === 'check') expectSame(index, hosts, models, searches);
            else if (taken.do === 'reprice') {
              models = taken.models;
              index.reprice(models);
            } else if (taken.do === 'put') {
              index.put(offeredHost(taken.host));
              hosts.set(taken.host.hostId, taken.host);
            } else {
              index.remove(taken.host.hostId);
              hosts.delete(taken.host.hostId);
            }
          }
          expectSame(index, hosts, models, searches);
          // New prices require a new index, since a model may get its first price or lose it.
          expectSame(new OfferIndex(OTHER_MODELS, [...hosts.values()].map(offeredHost)), hosts, OTHER_MODELS, searches);
        },
      ),
      randomHistories(RUNS),
    );
  });

  test('has no offers if there are no machines', () => {
    const everything = criteriaOf(checkFilter({ includePreemptible: true }));
    const index = new OfferIndex(MODELS);
    expect([index.cheapest('all', () => everything, null, 10), index.availableGpus('a')]).toEqual([[], 0]);
    index.remove('m-0');
    expect(index.cheapest('all', () => everything, null, 10)).toEqual([]);
  });
});
