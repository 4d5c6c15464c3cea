import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bitsOf, breaksOf, layoutOf, modeOn, nestedFrom } from '../../src/domain/inventory/rules/layout.js';
import {
  ALL_SIZES,
  type Block,
  blocksAround,
  blocksOf,
  hostIdOf,
  machineIdOf,
  overlaps,
  shareOf,
  WHOLE,
} from '../../src/domain/kernel/slices.js';
import { randomHistories } from '../support/long.js';

/** Models by position, written as one letter per GPU. */
const host = (letters: string, sizes: readonly number[] = ALL_SIZES, missing: number[] = []) => ({
  id: 'm-1',
  models: [...letters],
  sizes,
  missing,
});
const ids = (...given: Parameters<typeof host>) => blocksOf(host(...given)).map(({ machineId }) => machineId);
const places = ({ first, count }: Block) => Array.from({ length: count }, (_, place) => first + place);

const models = fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 8 }).map((some) => some.sort());
const sizes = fc.subarray([...ALL_SIZES], { minLength: 1 });
const missing = fc.subarray([0, 1, 2, 3, 4, 5, 6, 7], { maxLength: 2 });
const anyHost = fc.record({ models, sizes, missing }).map((given) => ({ id: 'm-1', ...given }));

describe('the blocks for sale', () => {
  it.each([
    [1, 1, 'm-1'],
    [2, 3, 'm-1.g0 m-1.g1 m-1'],
    [3, 5, 'm-1.g0 m-1.g1 m-1.g2 m-1.g0-1 m-1'],
    [4, 7, 'm-1.g0 m-1.g1 m-1.g2 m-1.g3 m-1.g0-1 m-1.g2-3 m-1'],
    [5, 9, 'm-1.g0 m-1.g1 m-1.g2 m-1.g3 m-1.g4 m-1.g0-1 m-1.g2-3 m-1.g0-3 m-1'],
    [6, 11, null],
    [7, 12, null],
    [8, 15, null],
  ])('on a host with %i GPUs number %i: %s', (gpus, count, expected) => {
    const found = ids('a'.repeat(gpus));
    expect(found).toHaveLength(count);
    expect(new Set(found).size).toBe(count);
    if (expected !== null) expect(found.join(' ')).toBe(expected);
  });

  it('have only the sizes for sale', () => {
    expect(ids('aaaaaaaa', [2])).toEqual(['m-1.g0-1', 'm-1.g2-3', 'm-1.g4-5', 'm-1.g6-7']);
    expect(ids('aaaaaaaa', [4, WHOLE])).toEqual(['m-1.g0-3', 'm-1.g4-7', 'm-1']);
    expect(ids('aaaaaaaa', [8])).toEqual(['m-1']);
    expect(ids('aaaaaa', [WHOLE])).toEqual(['m-1']);
    expect(ids('aaa', [8])).toEqual([]);
    expect(ids('aaa', [4, 2])).toEqual(['m-1.g0-1']);
  });

  it('on a host with two models each have one model, so none covers the whole host', () => {
    const found = blocksOf(host('aaabbbbb'));
    for (const { gpu, ...block } of found)
      expect(new Set(places(block).map((place) => 'aaabbbbb'[place]))).toEqual(new Set([gpu]));
    expect(found.filter(({ count }) => count > 1).map(({ machineId }) => machineId)).toEqual([
      ...['m-1.g0-1', 'm-1.g3-4', 'm-1.g5-6', 'm-1.g3-6', 'm-1.g0-2', 'm-1.g3-7'],
    ]);
    expect(ids('ab', [WHOLE])).toEqual(['m-1.g0', 'm-1.g1']);
  });

  it('exclude missing GPUs', () => {
    expect(ids('aaaa', ALL_SIZES, [2])).toEqual(['m-1.g0', 'm-1.g1', 'm-1.g3', 'm-1.g0-1']);
    expect(ids('a', ALL_SIZES, [0])).toEqual([]);
  });

  it('are aligned blocks of one model within the host, in the sizes for sale', () => {
    fc.assert(
      fc.property(anyHost, (given) => {
        const found = blocksOf(given);
        expect(new Set(found.map(({ machineId }) => machineId)).size).toBe(found.length);
        for (const { first, count, gpu, machineId } of found) {
          expect(first + count).toBeLessThanOrEqual(given.models.length);
          for (const place of places({ first, count })) {
            expect(given.models[place]).toBe(gpu);
            expect(given.missing).not.toContain(place);
          }
          const start = given.models.indexOf(gpu as 'a');
          const length = given.models.filter((model) => model === gpu).length;
          const isWhole = first === start && count === length && given.sizes.includes(WHOLE);
          expect(isWhole || (given.sizes.includes(count) && (first - start) % count === 0)).toBe(true);
          expect(machineIdOf('m-1', given.models.length, { first, count })).toBe(machineId);
          expect(hostIdOf(machineId)).toBe(machineId === 'm-1' ? null : 'm-1');
        }
      }),
    );
  });
});

describe('a share', () => {
  it('is proportional to the GPUs and rounded down, but at least 1 of a non-zero total', () => {
    expect([1, 2, 4, 8].map((count) => shareOf(100, { count }, 8))).toEqual([12, 25, 50, 100]);
    expect([shareOf(3, { count: 1 }, 8), shareOf(0, { count: 1 }, 8), shareOf(7, { count: 3 }, 3)]).toEqual([1, 0, 7]);
  });

  it('never adds up to more than a large enough total over all blocks of one size', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 8, max: 100_000 }), (hostGpus, amount) => {
        for (const count of [1, 2, 4, 8].filter((size) => size <= hostGpus))
          expect(shareOf(amount, { count }, hostGpus) * Math.floor(hostGpus / count)).toBeLessThanOrEqual(amount);
      }),
    );
  });
});

/**
 * Returns the size of the block that a rental breaks, which is the largest free block around it or the rented block
 * itself. It is computed with the blocks themselves, whereas the service uses bits.
 */
function brokenBlock(
  { models, missing }: { models: readonly string[]; missing: readonly number[] },
  block: Block,
  running: readonly Block[],
): number {
  const taken = [...running, ...missing.map((first) => ({ first, count: 1 }))].filter((each) => !overlaps(each, block));
  const whole = blocksAround(models, block).find((each) => !taken.some((other) => overlaps(each, other)));
  return whole?.count ?? block.count;
}

describe('the block split by a rental', () => {
  const broken = (letters: string, block: [number, number], running: [number, number][] = [], gone: number[] = []) => {
    const [[first, count], blocks] = [block, running.map(([at, length]) => ({ first: at, count: length }))];
    return brokenBlock({ models: [...letters], missing: gone }, { first, count }, blocks);
  };

  it('is the largest free block around the rented one', () => {
    expect(broken('aaaaaaaa', [0, 1])).toBe(8);
    expect(broken('aaaaaaaa', [0, 1], [[4, 1]])).toBe(4);
    expect(broken('aaaaaaaa', [0, 1], [[2, 1]])).toBe(2);
    expect(broken('aaaaaaaa', [0, 1], [[1, 1]])).toBe(1);
    expect(broken('aaaaaaaa', [4, 2], [[0, 1]])).toBe(4);
    expect(broken('aaaaaaaa', [0, 8])).toBe(8);
    expect(broken('aaaaaaaa', [0, 1], [], [7])).toBe(4);
    expect(broken('aaaaaa', [4, 2], [])).toBe(6);
    expect(broken('aaaaaa', [4, 1], [[0, 2]])).toBe(2);
    expect(broken('aaabbbbb', [3, 1])).toBe(5);
    expect(broken('aaabbbbb', [3, 1], [[7, 1]])).toBe(4);
    expect(broken('aaabbbbb', [2, 1])).toBe(3);
    expect(broken('aaabbbbb', [2, 1], [[0, 1]])).toBe(1);
  });

  it('ignores any instances that the rental preempts', () => {
    expect(broken('aaaaaaaa', [0, 1], [[0, 2]])).toBe(8);
    expect(
      broken(
        'aaaaaaaa',
        [0, 4],
        [
          [0, 1],
          [3, 1],
        ],
      ),
    ).toBe(8);
  });
});

describe('a layout', () => {
  /** Disjoint blocks, each with an instance that is interruptible or not. */
  const running = fc.array(fc.record({ of: fc.nat({ max: 30 }), yields: fc.boolean() }), { maxLength: 6 });

  it("agrees with its host's rules for every block", () => {
    fc.assert(
      fc.property(anyHost, running, fc.integer({ min: 0, max: 9 }), (given, wanted, least) => {
        const layout = layoutOf(given.models, given.sizes, given.missing);
        const sold = blocksOf(given);
        const runs: (Block & { yields: boolean })[] = [];
        for (const { of, yields } of wanted) {
          const block = sold[of % Math.max(sold.length, 1)];
          if (block !== undefined && !runs.some((other) => overlaps(block, other))) runs.push({ ...block, yields });
        }
        const bits = {
          taken: runs.filter(({ yields }) => !yields).reduce((sum, block) => sum | bitsOf(block), 0),
          yielding: runs.filter(({ yields }) => yields).map(bitsOf),
        };
        expect(layout.blocks.map(({ suffix }) => `m-1${suffix}`)).toEqual(sold.map(({ machineId }) => machineId));
        for (const block of layout.blocks) {
          const inTheWay = runs.filter((other) => overlaps(block, other));
          const mode = inTheWay.some(({ yields }) => !yields)
            ? 'ON_DEMAND'
            : inTheWay.length > 0
              ? 'INTERRUPTIBLE'
              : null;
          expect(modeOn(block, bits)).toBe(mode);
          if (mode === 'ON_DEMAND') continue;
          const size = brokenBlock(given, block, runs);
          expect(breaksOf(block, bits)).toBe(size === block.count ? 0 : size);
          // For each GPU, the size of the largest smaller block of at least `least` GPUs that contains it.
          const within = places(block).map((place) =>
            Math.max(
              0,
              ...sold
                .filter(({ count }) => count < block.count && count >= least)
                .filter((other) => overlaps(other, { first: place, count: 1 }))
                .map(({ count }) => count),
            ),
          );
          const nested = nestedFrom(block.nested, least);
          const counted = new Map<number, number>();
          for (const size of within) counted.set(size, (counted.get(size) ?? 0) + 1);
          expect(new Map(nested.map((each) => [each.within, each.gpus]))).toEqual(counted);
        }
      }),
      randomHistories(1_000),
    );
  });
});
