import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OfferIndex, type OfferRange } from '../../src/domain/inventory/offer-index.js';
import { checkFilter, type OfferSort, pageOf, positionOf } from '../../src/domain/inventory/offer-search.js';
import type { OfferedMachine, PricedModel } from '../../src/domain/rules/offer.js';
import { criteriaOf } from '../../src/domain/rules/offer-filter.js';
import { BY_PRICE, type OfferPosition } from '../../src/domain/rules/offer-order.js';

const RUNS = Number(process.env.MODEL_RUNS ?? 200);

type Models = ReadonlyMap<string, PricedModel>;

/** Few of each, so that machines share groups and groups share prices: two a are one b, and c costs what a does. */
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

const PLAIN: OfferedMachine = {
  machineId: 'm-0',
  gpu: 'a',
  region: 'x',
  numGpus: 1,
  reliability: 0.99,
  preemptible: false,
  diskGb: 100,
  vcpus: 32,
  ramGb: 128,
  nvlink: false,
  cpu: 'AMD EPYC 9354',
  netMbps: { down: 5_000, up: 4_000 },
  ports: 128,
  pcie: 5,
  cudaMax: '12.8',
  demo: false,
  hasAgent: true,
};

const machine: fc.Arbitrary<OfferedMachine> = fc
  .record({
    number: fc.nat({ max: 60 }),
    gpu: fc.constantFrom(...GPUS),
    region: fc.constantFrom(...REGIONS),
    numGpus: fc.integer({ min: 1, max: 2 }),
    reliability: fc.constantFrom(0.9, 0.95, 0.99),
    // Mostly free: a dozen on a group have an order to keep.
    preemptible: fc.constantFrom(false, false, false, true),
    diskGb: fc.integer({ min: 50, max: 60 }),
    vcpus: fc.constantFrom(32, 64),
    ramGb: fc.constantFrom(128, 256),
    nvlink: fc.constantFrom(false, false, true),
    hasAgent: fc.constantFrom(true, true, false),
  })
  .map(({ number, ...given }) => ({
    // Also ids that are the beginning of others.
    ...PLAIN,
    machineId: `m-${number.toString(4)}`,
    ...given,
  }));

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('put' as const), machine }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), machine }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('look' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('reprice' as const), models: fc.constantFrom(MODELS, OTHER_MODELS) }),
  },
);

const anyOf = <T>(...values: T[]) => fc.option(fc.constantFrom(...values), { freq: 2 });
const anyList = <T>(...values: T[]) => fc.option(fc.subarray(values, { minLength: 1 }), { freq: 2 });
/** Mostly what is asked for is little, so that something fits. */
const filter = fc.record(
  {
    gpus: anyList(...GPUS, 'unknown'),
    regions: anyList(...REGIONS, 'unknown'),
    tiers: anyList('CONSUMER' as const, 'DATACENTER' as const, 'FLAGSHIP' as const),
    vramGbMin: anyOf(24, 25, 80),
    nvlink: anyOf(true, false),
    hasAgent: anyOf(true, false),
    reliabilityMin: anyOf(0, 0.9, 0.95, 0.96, 1),
    vcpusMin: anyOf(32, 64),
    ramGbMin: anyOf(128, 129),
    diskGbMin: anyOf(50, 55, 61),
    numMin: anyOf(1, 2),
    numMax: anyOf(1, 2),
    pricePerGpuMax: anyOf(0, 0.099999, 0.1, 0.2),
    includePreemptible: fc.boolean(),
  },
  { requiredKeys: ['includePreemptible'] },
);
type Filter = typeof filter extends fc.Arbitrary<infer T> ? T : never;

/** Where a machine stood, stands, or might: any price with any reliability and any id. */
const position: fc.Arbitrary<OfferPosition> = fc.record({
  pricePerGpu: fc.constantFrom(0n, 50_000n, 100_000n, 200_000n, 10n ** 17n),
  pricePerHour: fc.record({ onDemand: fc.constantFrom(0n, 100_000n, 200_000n, 400_000n, 10n ** 17n) }),
  reliability: fc.constantFrom(0, 0.9, 0.95, 0.96, 0.99, 1),
  machineId: fc.nat({ max: 60 }).map((number) => `m-${number.toString(4)}`),
});
/** A number is the place of a machine in the list as it is then. */
const cursor = fc.option(fc.oneof({ weight: 3, arbitrary: fc.nat({ max: 30 }) }, { weight: 1, arbitrary: position }), {
  freq: 2,
});

const question = fc.record({
  filter,
  priceMax: anyOf(0n, 99_999n, 100_000n, 200_000n, 250_000n),
  sort: fc.constantFrom<OfferSort>('PRICE', 'PRICE_PER_GPU', 'RELIABILITY'),
  after: cursor,
  before: cursor,
  limit: fc.integer({ min: 1, max: 30 }),
  fromEnd: fc.boolean(),
});
type Question = typeof question extends fc.Arbitrary<infer T> ? T : never;

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

/** The rules, on all machines at once. */
function naive(machines: Iterable<OfferedMachine>, models: Models, wanted: Filter, sort: OfferSort): NaiveOffer[] {
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
        isIn(wanted.gpus, offer.gpu) &&
        isIn(wanted.regions, offer.region) &&
        isIn(wanted.tiers, tier) &&
        isAtLeast(vramGb, wanted.vramGbMin) &&
        (wanted.nvlink == null || offer.nvlink === wanted.nvlink) &&
        isAtLeast(offer.reliability, wanted.reliabilityMin) &&
        isAtLeast(offer.vcpus, wanted.vcpusMin) &&
        isAtLeast(offer.ramGb, wanted.ramGbMin) &&
        isAtLeast(offer.diskGb, wanted.diskGbMin) &&
        isAtLeast(offer.numGpus, wanted.numMin) &&
        isAtLeast(-offer.numGpus, wanted.numMax == null ? null : -wanted.numMax) &&
        isAtLeast(-Number(offer.pricePerGpu), wanted.pricePerGpuMax == null ? null : -wanted.pricePerGpuMax * 1e6) &&
        (wanted.includePreemptible || !offer.preemptible) &&
        (wanted.hasAgent == null || offer.hasAgent === wanted.hasAgent)
      );
    })
    .sort((one, other) => compareBy(sort, one, other));
}

const idsOf = (offers: readonly { machineId: string }[]) => offers.map(({ machineId }) => machineId);

/** A page as the list itself says it is. */
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
  machines: ReadonlyMap<string, OfferedMachine>,
  models: Models,
  questions: readonly Question[],
): void {
  for (const { filter, priceMax, sort, limit, fromEnd, ...cursors } of questions) {
    const wanted = criteriaOf(checkFilter(filter));
    const byPrice = naive(machines.values(), models, filter, 'PRICE');
    const cheap = byPrice.filter(({ pricePerHour }) => priceMax === null || pricePerHour.onDemand <= priceMax);
    const found = index.cheapest(wanted, priceMax, limit);
    expect(found.map(({ pricePerHour: { onDemand }, ...offered }) => ({ ...offered, onDemand }))).toEqual(
      cheap.slice(0, limit).map(({ pricePerGpu: _, pricePerHour: { onDemand }, ...offered }) => ({
        ...offered,
        onDemand,
      })),
    );
    const passed = new Set(idsOf(byPrice.slice(0, 2)));
    expect(idsOf(index.best(wanted, BY_PRICE, limit, passed))).toEqual(idsOf(byPrice.slice(2, 2 + limit)));

    const list = naive(machines.values(), models, filter, sort);
    const whole = pageOf(index, wanted, { sort, after: null, before: null, limit: 100, fromEnd: false });
    expect(idsOf(whole.offers)).toEqual(idsOf(list));
    const at = (given: Question['after']) =>
      typeof given !== 'number' ? given : list[given] === undefined ? null : positionOf(whole.offers[given]!);
    const range = { after: at(cursors.after), before: at(cursors.before), limit, fromEnd };
    const { offers, ...page } = pageOf(index, wanted, { sort, ...range });
    expect({ ids: idsOf(offers), ...page }).toEqual(naivePage(list, sort, range));
  }
  for (const gpu of [...GPUS, 'unknown']) {
    const offered = [...machines.values()].filter((one) => one.gpu === gpu && !one.preemptible && models.has(gpu));
    expect([gpu, index.availableGpus(gpu)]).toEqual([gpu, offered.reduce((sum, { numGpus }) => sum + numGpus, 0)]);
  }
}

describe('offers on groups', () => {
  test('are those of a naive sort, however they were put in, moved and taken out', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(machine, { maxLength: 60, size: 'max', selector: ({ machineId }) => machineId }),
        fc.array(step, { maxLength: 40, size: 'max' }),
        fc.array(question, { minLength: 1, maxLength: 6 }),
        (first, steps, questions) => {
          const machines = new Map(first.map((one) => [one.machineId, one]));
          const index = new OfferIndex(MODELS, first);
          expectSame(index, machines, MODELS, questions);
          let models = MODELS;
          for (const taken of steps) {
            if (taken.do === 'look') expectSame(index, machines, models, questions);
            else if (taken.do === 'reprice') {
              models = taken.models;
              index.reprice(models);
            } else if (taken.do === 'put') {
              index.put(taken.machine);
              machines.set(taken.machine.machineId, taken.machine);
            } else {
              index.remove(taken.machine.machineId);
              machines.delete(taken.machine.machineId);
            }
          }
          expectSame(index, machines, models, questions);
          // New prices are a new index; a model may get its first price, or lose it.
          expectSame(new OfferIndex(OTHER_MODELS, machines.values()), machines, OTHER_MODELS, questions);
        },
      ),
      { numRuns: RUNS },
    );
  });

  test('cost no more to count by size when there are fifty times as many machines', () => {
    const groups = Array.from({ length: 1_000 }, (_, number) => number);
    const machinesOf = (copies: number) =>
      groups.flatMap((group) =>
        Array.from({ length: 2 * copies }, (_, copy) => ({
          ...PLAIN,
          machineId: `m-${group}-${copy}`,
          gpu: GPUS[group % 3]!,
          region: `r-${group}`,
          vcpus: 32 * (1 + (copy % 2)),
          ramGb: 128 * (1 + (group % 5)),
        })),
      );
    const [few, many] = [1, 50].map((copies) => new OfferIndex(MODELS, machinesOf(copies))) as [OfferIndex, OfferIndex];
    const criteria = criteriaOf(checkFilter({ vcpusMin: 64, ramGbMin: 200 }));
    const range = { after: null, before: null, limit: 25, fromEnd: false };
    const timeOf = (index: OfferIndex) => {
      const startedAt = performance.now();
      expect(pageOf(index, criteria, { sort: 'PRICE', ...range }).offers).toHaveLength(25);
      return performance.now() - startedAt;
    };
    const times = Array.from({ length: 200 }, () => [timeOf(few), timeOf(many)] as const).slice(50);
    const leastOf = (which: 0 | 1) => Math.min(...times.map((pair) => pair[which]));
    // Both at the machine's quietest. Looked at one by one they take four times as long.
    expect(leastOf(1) / leastOf(0)).toBeLessThan(2.5);
  });

  test('of an index without machines are none', () => {
    const everything = criteriaOf(checkFilter({ includePreemptible: true }));
    const index = new OfferIndex(MODELS);
    expect([index.cheapest(everything, null, 10), index.availableGpus('a')]).toEqual([[], 0]);
    index.remove('m-0');
    expect(index.cheapest(everything, null, 10)).toEqual([]);
  });
});
