import { stripVTControlCharacters } from 'node:util';
import { readCpuList } from '../processors.js';

/**
 * Each GPU's position in the topology, by index, from `nvidia-smi topo -m`. The map is empty if the tool reports
 * nothing.
 */
export type Topology = ReadonlyMap<number, GpuPlace>;

interface GpuPlace {
  /** How near this GPU is to others, by their indexes. A higher value is nearer. */
  nearness: ReadonlyMap<number, number>;
  /** Processors of the GPU's NUMA node. Empty if the node is unknown. */
  processors: readonly number[];
}

/**
 * Connections from far to near: between NUMA nodes, within a node, through one host bridge, through several PCIe
 * bridges, and through one PCIe bridge.
 */
const PATHS = ['SYS', 'NODE', 'PHB', 'PXB', 'PIX'];
/** A single NVLink link counts more than all PCIe paths between two blocks combined. */
const NVLINK = 1_000;
const GPU = /^GPU(\d+)$/;

export function readTopology(matrix: string): Topology {
  const rows = stripVTControlCharacters(matrix)
    .split('\n')
    .map((line) => line.split('\t').map((cell) => cell.trim()));
  const header = rows.find(([first, second = '']) => first === '' && GPU.test(second)) ?? [];
  return new Map(
    rows.flatMap(([name = '', ...cells]) => {
      const index = GPU.exec(name)?.[1];
      return index === undefined ? [] : [[Number(index), placeOf(header.slice(1), cells)] as const];
    }),
  );
}

function placeOf(columns: readonly string[], cells: readonly string[]): GpuPlace {
  const near = columns.flatMap((column, place) => {
    const index = GPU.exec(column)?.[1];
    return index === undefined ? [] : [[Number(index), nearnessOf(cells[place] ?? '')] as const];
  });
  return { nearness: new Map(near), processors: readCpuList(cells[columns.indexOf('CPU Affinity')] ?? '') };
}

function nearnessOf(cell: string): number {
  const links = /^NV(\d{1,3})$/.exec(cell)?.[1];
  // PCIe paths get even numbers, so that a shared NUMA node decides between two paths of the same kind.
  return links === undefined ? 2 * (PATHS.indexOf(cell) + 1) : NVLINK * Number(links);
}

/**
 * Places GPUs of one model next to each other, with the nearest ones in each aligned block of two, four and eight. Ties
 * are resolved by index.
 */
export function orderGpus<Gpu extends { index: number; name: string }>(
  gpus: readonly Gpu[],
  topology: Topology,
): Gpu[] {
  const models = [...new Set(gpus.map(({ name }) => name))];
  return models.flatMap((model) => {
    let blocks = gpus.filter(({ name }) => name === model).map((gpu) => [gpu]);
    const odd: Gpu[][] = [];
    while (blocks.length > 1) {
      const { pairs, left } = pairUp(blocks, topology);
      odd.unshift(...left);
      blocks = pairs;
    }
    // Larger blocks come first, so that every block is aligned.
    return [...blocks, ...odd].flat();
  });
}

/**
 * Pairs blocks of one size into blocks of twice the size, nearest first. If their number is odd, one block is left
 * over.
 */
function pairUp<Gpu extends { index: number }>(blocks: readonly Gpu[][], topology: Topology) {
  const pairs: Gpu[][] = [];
  let left = [...blocks];
  while (left.length > 1) {
    const candidates = left.flatMap((one, place) => left.slice(place + 1).map((other) => ({ one, other })));
    const values = candidates.map(({ one, other }) => between(one, other, topology));
    const { one, other } = candidates[values.indexOf(Math.max(...values))]!;
    pairs.push([...one, ...other]);
    left = left.filter((block) => block !== one && block !== other);
  }
  return { pairs: pairs.sort(([one], [other]) => one!.index - other!.index), left };
}

/** Returns how near two blocks are to each other, summed over all pairs of one GPU from each. */
function between(one: readonly { index: number }[], other: readonly { index: number }[], topology: Topology): number {
  const values = one.flatMap((from) =>
    other.map((to) => {
      const [here, there] = [from, to].map(({ index }) => topology.get(index)?.processors.join() ?? '');
      const isOneNode = here !== '' && here === there;
      return (topology.get(from.index)?.nearness.get(to.index) ?? 0) + (isOneNode ? 1 : 0);
    }),
  );
  return values.reduce((sum, value) => sum + value, 0);
}

/**
 * Divides the host's processors among the GPUs, in order. The shares are disjoint, cover all processors, and come from
 * each GPU's own NUMA node as far as possible. A block of GPUs gets at least its proportional share. Returns null if
 * there are fewer processors than GPUs.
 */
export function shareProcessors(
  indexes: readonly number[],
  processors: readonly number[],
  topology: Topology,
): number[][] | null {
  const count = indexes.length;
  if (processors.length < count) return null;
  const before = (place: number) => Math.floor((processors.length * place) / count);
  const free = new Set(processors);
  const take = (wanted: readonly number[], most: number) => {
    const taken = wanted.slice(0, most);
    for (const processor of taken) free.delete(processor);
    return taken;
  };
  const near = indexes.map((index, place) => {
    const node = new Set(topology.get(index)?.processors);
    return take(
      [...free].filter((processor) => node.has(processor)),
      before(place + 1) - before(place),
    );
  });
  return near.map((own, place) => {
    const rest = take([...free], before(place + 1) - before(place) - own.length);
    return [...own, ...rest].sort((one, other) => one - other);
  });
}
