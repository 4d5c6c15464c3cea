import { required } from '../../std/required.js';
/**
 * A host's GPUs are sold in blocks: aligned blocks of 1, 2, 4 and 8 GPUs by position, and the whole host. Each block is
 * a machine with its own id. GPUs of the same model are adjacent, and closely connected GPUs are next to each other, so
 * that each block has a single model and fast connections.
 */

/** Maximum number of GPUs per host. */
export const MAX_HOST_GPUS = 8;
/** Represents the whole host in a list of sizes. */
export const WHOLE = 0;
const BLOCK_SIZES = [1, 2, 4, 8];
/** All sizes, which are sold by default. */
export const ALL_SIZES: readonly number[] = [...BLOCK_SIZES, WHOLE];
export const WHOLE_ONLY: readonly number[] = [WHOLE];

/** The host properties that determine its blocks. */
export interface SlicedHost {
  id: string;
  /** The slug of each GPU's model, by position. */
  models: readonly string[];
  /** A subset of ALL_SIZES. */
  sizes: readonly number[];
  /** Positions whose GPUs are missing. Blocks that contain such a position aren't sold. */
  missing?: readonly number[];
}

/** The GPUs [first, first + count) of a host. */
export interface Block {
  first: number;
  count: number;
}

/** A block sold as a machine. */
export interface SoldBlock extends Block {
  machineId: string;
  gpu: string;
}

/** Returns the blocks for sale without duplicates, smallest first. Eight GPUs of one model form at most 15 blocks. */
export function blocksOf({ id, models, sizes, missing = [] }: SlicedHost): SoldBlock[] {
  const runs = runsOf(models);
  const blocks: SoldBlock[] = [];
  const add = (run: Run, first: number, count: number) => {
    const block = { first, count };
    if (missing.some((place) => overlaps(block, { first: place, count: 1 }))) return;
    blocks.push({ machineId: machineIdOf(id, models.length, block), gpu: run.model, ...block });
  };
  for (const size of BLOCK_SIZES.filter((each) => sizes.includes(each))) {
    for (const run of runs)
      for (let first = run.first; first + size <= run.first + run.count; first += size) add(run, first, size);
  }
  if (!sizes.includes(WHOLE)) return blocks;
  for (const run of runs)
    if (!(BLOCK_SIZES.includes(run.count) && sizes.includes(run.count))) add(run, run.first, run.count);
  return blocks;
}

/** Adjacent GPUs of the same model. */
interface Run extends Block {
  model: string;
}

function runsOf(models: readonly string[]): Run[] {
  const runs: Run[] = [];
  models.forEach((model, place) => {
    const last = runs.at(-1);
    if (last?.model === model) last.count += 1;
    else runs.push({ model, first: place, count: 1 });
  });
  return runs;
}

/**
 * Returns a machine's id. The whole host has the host's own id. Other machines' ids give the positions of their GPUs,
 * such as `m-1.g0` or `m-1.g4-7`.
 */
export function machineIdOf(hostId: string, hostGpus: number, { first, count }: Block): string {
  if (count === hostGpus) return hostId;
  return `${hostId}.g${first}${count === 1 ? '' : `-${first + count - 1}`}`;
}

/** Returns the id of the host that would contain a block with this machine id, or null if the id isn't a block's. */
export function hostIdOf(machineId: string): string | null {
  return /^(.+)\.g\d(-\d)?$/.exec(machineId)?.[1] ?? null;
}

export function overlaps(one: Block, other: Block): boolean {
  return one.first < other.first + other.count && other.first < one.first + one.count;
}

/**
 * Returns a block's share of a resource, in proportion to its number of GPUs. `amount` is the whole host's. The share
 * is at least 1 unless the host has none.
 */
export function shareOf(amount: number, { count }: Pick<Block, 'count'>, hostGpus: number): number {
  return count === hostGpus ? amount : Math.max(Math.floor((amount * count) / hostGpus), amount > 0 ? 1 : 0);
}

/**
 * Whether a block's GPUs are linked. `areLinked` is whether its host's GPUs are. A single GPU of a larger host isn't
 * linked.
 */
export function isLinked(areLinked: boolean, { count }: Pick<Block, 'count'>, hostGpus: number): boolean {
  return areLinked && (count > 1 || hostGpus === 1);
}

/**
 * Returns the larger blocks that contain this one, whether or not they are sold: the aligned blocks and the whole run
 * of its model. The largest block comes first.
 */
export function blocksAround(models: readonly string[], block: Block): Block[] {
  const { first, count: length } = required(
    runsOf(models).find((each) => overlaps(each, block)),
    'run of a block',
  );
  const run = { first, count: length };
  const around = [run, ...[8, 4, 2].flatMap((size) => alignedAround(run, block, size))];
  return around.filter(({ count }) => count > block.count).sort((one, other) => other.count - one.count);
}

function alignedAround(run: Block, block: Block, size: number): Block[] {
  const first = run.first + Math.floor((block.first - run.first) / size) * size;
  const isWithin = first + size <= run.first + run.count && first + size >= block.first + block.count;
  return size > block.count && isWithin ? [{ first, count: size }] : [];
}
