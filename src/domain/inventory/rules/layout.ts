import { type Block, blocksAround, blocksOf, overlaps, WHOLE_ONLY } from '../../kernel/slices.js';

/** A set of a host's GPUs, in which bit `p` represents the GPU at position `p`. */
export type GpuBits = number;

/** A block for sale. It is identical on all hosts with this layout. */
export interface LayoutBlock extends Block {
  gpu: string;
  /** The part of the machine's id that follows the host's id. Empty for the whole host. */
  suffix: string;
  bits: GpuBits;
  /** Larger blocks that contain this one and have no missing GPUs, largest first. */
  around: readonly { bits: GpuBits; count: number }[];
  nested: Nested;
}

/**
 * Numbers of a block's GPUs that are also in smaller blocks for sale. `within` is the size of the largest such block,
 * or 0 for GPUs that aren't in any. Equal values share one object.
 */
export type Nested = readonly { within: number; gpus: number }[];

/** A host's blocks. Hosts with the same models, sizes and missing GPUs share one object. */
export interface Layout {
  numGpus: number;
  blocks: readonly LayoutBlock[];
}

/** Returns the GPUs [first, first + count) as bits. */
export function bitsOf({ first, count }: Block): GpuBits {
  return ((1 << count) - 1) << first;
}

/**
 * Returns the layout of a machine that has GPUs of a single model and is rented as a whole. `numGpus` must be at most
 * 30.
 */
export function wholeLayout(gpu: string, numGpus: number): Layout {
  const models = Array.from({ length: numGpus }, () => gpu);
  return layoutOf(models, WHOLE_ONLY);
}

/** Returns a host's layout. The parameters have the same meaning as the properties of SlicedHost. */
export function layoutOf(models: readonly string[], sizes: readonly number[], missing: readonly number[] = []): Layout {
  const gone = missing.map((first) => ({ first, count: 1 }));
  const isComplete = (block: Block) => !gone.some((each) => overlaps(each, block));
  const sold = blocksOf({ id: '', models, sizes, missing });
  const blocks = sold.map(({ machineId: suffix, ...block }): LayoutBlock => {
    const around = blocksAround(models, block).filter(isComplete);
    return {
      ...block,
      suffix,
      bits: bitsOf(block),
      around: around.map((each) => ({ bits: bitsOf(each), count: each.count })),
      nested: nestedIn(block, sold),
    };
  });
  return { numGpus: models.length, blocks };
}

function nestedIn(block: Block, sold: readonly Block[]): Nested {
  const gpus = new Map<number, number>();
  for (let place = block.first; place < block.first + block.count; place += 1) {
    const smaller = sold.filter((each) => each.count < block.count && overlaps(each, { first: place, count: 1 }));
    const within = Math.max(0, ...smaller.map(({ count }) => count));
    gpus.set(within, (gpus.get(within) ?? 0) + 1);
  }
  return oneOf([...gpus].map(([within, count]) => ({ within, gpus: count })));
}

const nests = new Map<string, Nested>();

/**
 * Returns the shared object for equal values. There are only a few distinct values, because they depend only on block
 * sizes.
 */
function oneOf(nested: Nested): Nested {
  const text = nested.map(({ within, gpus }) => `${within}:${gpus}`).join();
  const known = nests.get(text);
  if (known === undefined) nests.set(text, nested);
  return known ?? nested;
}

/** Returns `nested` as if blocks with fewer than `least` GPUs weren't offered. */
export function nestedFrom(nested: Nested, least: number): Nested {
  if (least === 0 || nested.every(({ within }) => within === 0 || within >= least)) return nested;
  const kept = nested.filter(({ within }) => within >= least);
  const gpus = nested.reduce((sum, each) => (each.within >= least ? sum : sum + each.gpus), 0);
  return oneOf([{ within: 0, gpus }, ...kept]);
}

/**
 * The GPUs of a host's running instances. `taken` combines those of all instances that can't be preempted, and
 * `yielding` has one entry for each of the others.
 */
export interface RunningBits {
  taken: GpuBits;
  yielding: readonly GpuBits[];
}

/**
 * Returns the mode that determines whether a block is free, or null if no instance is running there. A single instance
 * that doesn't yield is enough to decide this.
 */
export function modeOn({ bits }: Pick<LayoutBlock, 'bits'>, { taken, yielding }: RunningBits) {
  if ((taken & bits) !== 0) return 'ON_DEMAND';
  return yielding.some((each) => (each & bits) !== 0) ? 'INTERRUPTIBLE' : null;
}

/**
 * Returns the size of the larger free block that renting this one would split, or 0 if it wouldn't split any. The
 * larger block is the largest one that contains this block and has no other running instance. Only aligned blocks and
 * the whole run of the block's model are considered. Renting out blocks that split small ones first keeps large blocks
 * intact.
 */
export function breaksOf({ bits, around }: LayoutBlock, { taken, yielding }: RunningBits): number {
  let others = taken;
  for (const each of yielding) if ((each & bits) === 0) others |= each;
  for (const each of around) if ((each.bits & others) === 0) return each.count;
  return 0;
}
