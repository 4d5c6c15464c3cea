import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type OfferedMachine, OfferIndex, type WantedShelf } from '../../src/domain/offer-index.js';

const RUNS = Number(process.env.MODEL_RUNS ?? 200);

/** Few of each, so that machines share shelves and shelves share prices: two a are one b, and c costs what a does. */
const RATES = new Map([
  ['a', 100_000n],
  ['b', 200_000n],
  ['c', 100_000n],
]);
const OTHER_RATES = new Map([
  ['a', 300_000n],
  ['c', 50_000n],
  ['unpriced', 10_000n],
]);
const GPUS = ['a', 'b', 'c', 'unpriced'];
const REGIONS = ['x', 'y'];

const machine: fc.Arbitrary<OfferedMachine> = fc
  .record({
    number: fc.nat({ max: 60 }),
    gpu: fc.constantFrom(...GPUS),
    region: fc.constantFrom(...REGIONS),
    numGpus: fc.integer({ min: 1, max: 2 }),
    reliability: fc.constantFrom(0.9, 0.95, 0.99),
    // Mostly free: a dozen on a shelf have an order to keep.
    preemptible: fc.constantFrom(false, false, false, true),
    diskGb: fc.integer({ min: 50, max: 60 }),
  })
  .map(({ number, ...given }) => ({
    // Also ids that are the beginning of others.
    machineId: `m-${number.toString(4)}`,
    cpu: 'AMD EPYC 9354',
    vcpus: 32,
    ramGb: 256,
    netMbps: { down: 5_000, up: 4_000 },
    ports: 128,
    pcie: 5,
    nvlink: false,
    cudaMax: '12.8',
    demo: false,
    ...given,
  }));

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('put' as const), machine }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), machine }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('look' as const) }) },
);

const anyOf = <T>(...values: T[]) => fc.option(fc.constantFrom(...values));
const wanted: fc.Arbitrary<WantedShelf & { limit: number }> = fc.record({
  gpu: anyOf(...GPUS, 'unknown'),
  region: anyOf(...REGIONS, 'unknown'),
  numMin: fc.integer({ min: 1, max: 3 }),
  priceMax: anyOf(0n, 99_999n, 100_000n, 200_000n, 250_000n),
  includePreemptible: fc.boolean(),
  limit: fc.integer({ min: 1, max: 30 }),
});

/** The rule, on all machines at once. */
function naive(machines: Iterable<OfferedMachine>, rates: ReadonlyMap<string, bigint>, want: WantedShelf) {
  return [...machines]
    .filter(({ gpu }) => rates.has(gpu))
    .map((offered) => ({ ...offered, price: rates.get(offered.gpu)! * BigInt(offered.numGpus) }))
    .filter(
      ({ gpu, region, numGpus, price, preemptible }) =>
        (want.gpu === null || gpu === want.gpu) &&
        (want.region === null || region === want.region) &&
        numGpus >= want.numMin &&
        (want.priceMax === null || price <= want.priceMax) &&
        (want.includePreemptible || !preemptible),
    )
    .sort(
      (one, other) =>
        Number(one.price - other.price) ||
        other.reliability - one.reliability ||
        (one.machineId < other.machineId ? -1 : 1),
    );
}

function expectSame(
  index: OfferIndex,
  machines: ReadonlyMap<string, OfferedMachine>,
  rates: ReadonlyMap<string, bigint>,
  wants: readonly (WantedShelf & { limit: number })[],
): void {
  for (const { limit, ...want } of wants) {
    const found = index.cheapest(want, limit).map(({ pricePerHour, ...offered }) => ({
      ...offered,
      price: pricePerHour.onDemand,
    }));
    expect(found).toEqual(naive(machines.values(), rates, want).slice(0, limit));
  }
  for (const gpu of [...GPUS, 'unknown']) {
    const offered = [...machines.values()].filter((one) => one.gpu === gpu && !one.preemptible && rates.has(gpu));
    expect([gpu, index.availableGpus(gpu)]).toEqual([gpu, offered.reduce((sum, { numGpus }) => sum + numGpus, 0)]);
  }
}

describe('offers by price', () => {
  test('are those of a naive sort, however they were put in, moved and taken out', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(machine, { maxLength: 60, size: 'max', selector: ({ machineId }) => machineId }),
        fc.array(step, { maxLength: 40, size: 'max' }),
        fc.array(wanted, { minLength: 1, maxLength: 6 }),
        (first, steps, wants) => {
          const machines = new Map(first.map((one) => [one.machineId, one]));
          const index = new OfferIndex(RATES, first);
          expectSame(index, machines, RATES, wants);
          for (const taken of steps) {
            if (taken.do === 'look') expectSame(index, machines, RATES, wants);
            else if (taken.do === 'put') {
              index.put(taken.machine);
              machines.set(taken.machine.machineId, taken.machine);
            } else {
              index.remove(taken.machine.machineId);
              machines.delete(taken.machine.machineId);
            }
          }
          expectSame(index, machines, RATES, wants);
          // New prices are a new index; a model may get its first price, or lose it.
          expectSame(new OfferIndex(OTHER_RATES, machines.values()), machines, OTHER_RATES, wants);
        },
      ),
      { numRuns: RUNS },
    );
  });

  test('of an index without machines are none', () => {
    const everything = { gpu: null, region: null, numMin: 1, priceMax: null, includePreemptible: true };
    const index = new OfferIndex(RATES);
    expect([index.cheapest(everything, 10), index.availableGpus('a')]).toEqual([[], 0]);
    index.remove('m-0');
    expect(index.cheapest(everything, 10)).toEqual([]);
  });
});
