import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { describeBlocks } from '../../../src/agent/blocks.js';
import { readMinors } from '../../../src/agent/gpus/nvidia-smi.js';
import { orderGpus, readTopology, shareProcessors } from '../../../src/agent/gpus/topology.js';
import { findProcessors, readCpuList } from '../../../src/agent/processors.js';

const H100 = 'NVIDIA H100 80GB HBM3';
const L4 = 'NVIDIA L4';

/** The driver's output, with underlined column names, a network card among the GPUs, and a legend below. */
function matrix(rows: readonly string[], nodes: readonly string[]): string {
  const columns = [...rows.map((_, index) => `GPU${index}`), 'NIC0', 'CPU Affinity', 'NUMA Affinity', 'GPU NUMA ID'];
  const lines = rows.map((row, index) =>
    [
      `GPU${index}`,
      ...row.split(' ').map((cell) => (cell === 'X' ? ' X ' : cell)),
      'PXB',
      nodes[index],
      '0',
      '',
      'N/A',
    ].join('\t'),
  );
  const card = ['NIC0', ...rows.map(() => 'PXB'), ' X '].join('\t');
  const legend = ['Legend:', '', '  X    = Self', '  NV#  = Connection traversing a bonded set of # NVLinks'];
  return [`\t\u001b[4m${columns.join('\t')}\u001b[0m`, ...lines, card, '', ...legend, ''].join('\n');
}

/** Returns the table rows for connections between pairs of indexes. */
function rowsOf(count: number, path: (one: number, other: number) => string): string[] {
  const indexes = Array.from({ length: count }, (_, index) => index);
  return indexes.map((one) => indexes.map((other) => (one === other ? 'X' : path(one, other))).join(' '));
}

const gpusOf = (...names: string[]) => names.map((name, index) => ({ index, name }));
const eight = gpusOf(...Array<string>(8).fill(H100));
const order = (gpus: readonly { index: number; name: string }[], text: string) =>
  orderGpus(gpus, readTopology(text)).map(({ index }) => index);
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** A host with two 48-core sockets and two threads per core. All of its GPUs are connected through a switch. */
const FIRST_NODE = '0-47,96-143';
const SECOND_NODE = '48-95,144-191';
const switched = (nodes: readonly string[]) =>
  matrix(
    rowsOf(8, () => 'NV18'),
    nodes,
  );
const inOrder = [...Array<string>(4).fill(FIRST_NODE), ...Array<string>(4).fill(SECOND_NODE)];
const alternating = range(0, 7).map((index) => (index % 2 === 0 ? FIRST_NODE : SECOND_NODE));

it("the driver's output is read for a single GPU", () => {
  const text =
    '\t\u001b[4mGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u001b[0m\nGPU0\t X \t0-15\t0\t\tN/A\n\nLegend:\n';
  expect([...readTopology(text)]).toEqual([[0, { nearness: new Map([[0, 0]]), processors: range(0, 15) }]]);
});

it('GPUs on a switch are ordered by NUMA node, then by number', () => {
  expect(order(eight, switched(inOrder))).toEqual(range(0, 7));
  expect(order(eight, switched(alternating))).toEqual([0, 2, 4, 6, 1, 3, 5, 7]);
});

it('without NVLink, pairs follow PCIe bridges and groups of four follow NUMA nodes', () => {
  // GPUs 0 and 5, 2 and 7, 1 and 4, and 3 and 6 share a bridge. The first two pairs share a NUMA node.
  const bridge = new Map(
    [0, 2, 1, 3].flatMap((one, pair) => [
      [one, pair],
      [one === 0 ? 5 : one === 2 ? 7 : one === 1 ? 4 : 6, pair],
    ]),
  );
  const nodeOf = (index: number) => Math.floor(bridge.get(index)! / 2);
  const path = (one: number, other: number) =>
    bridge.get(one) === bridge.get(other) ? 'PIX' : nodeOf(one) === nodeOf(other) ? 'NODE' : 'SYS';
  const nodes = range(0, 7).map((index) => (nodeOf(index) === 0 ? FIRST_NODE : SECOND_NODE));
  expect(order(eight, matrix(rowsOf(8, path), nodes))).toEqual([0, 5, 2, 7, 1, 4, 3, 6]);
});

it('NVLink is preferred to any other connection, and more links to fewer', () => {
  const four = gpusOf(L4, L4, L4, L4);
  const nodes = [FIRST_NODE, FIRST_NODE, SECOND_NODE, SECOND_NODE];
  const bridged = (one: number, other: number) =>
    Math.abs(one - other) === 2 ? 'NV4' : one + other === 1 ? 'PIX' : 'SYS';
  expect(order(four, matrix(rowsOf(4, bridged), nodes))).toEqual([0, 2, 1, 3]);
  const unequal = (one: number, other: number) => (one + other === 3 ? 'NV2' : 'NV1');
  expect(order(four, matrix(rowsOf(4, unequal), nodes))).toEqual([0, 3, 1, 2]);
});

it('GPUs of one model are adjacent, starting with the two that are closest', () => {
  const mixed = gpusOf(H100, L4, H100, L4, H100);
  expect(order(mixed, '')).toEqual([0, 2, 4, 1, 3]);
  const path = (one: number, other: number) => (one + other === 6 ? 'NV18' : 'SYS');
  expect(order(mixed, matrix(rowsOf(5, path), Array(5).fill(FIRST_NODE)))).toEqual([2, 4, 0, 1, 3]);
});

it('six GPUs are split into a group of four followed by a group of two', () => {
  const node = (index: number) => (index < 2 || index === 5 ? 0 : 1);
  const path = (one: number, other: number) => (node(one) === node(other) ? 'NODE' : 'SYS');
  const nodes = range(0, 5).map((index) => (node(index) === 0 ? FIRST_NODE : SECOND_NODE));
  const ordered = order(gpusOf(...Array<string>(6).fill(L4)), matrix(rowsOf(6, path), nodes));
  expect(ordered.toSorted()).toEqual(range(0, 5));
  expect([ordered.slice(0, 2), ordered.slice(2, 4), ordered.slice(4)]).toContainEqual([0, 1]);
  expect([ordered.slice(0, 2), ordered.slice(2, 4), ordered.slice(4)]).toContainEqual([2, 3]);
});

it.each([
  ['nothing', ''],
  ['an error', 'Unable to determine the device handle for GPU0000:41:00.0: Unknown Error\n'],
  ['a table in another format', 'GPU0 GPU1\nGPU0 X NV4\nGPU1\t\n\tGPU0\nGPU9\tNV4x\tNV-1\n'],
])('GPUs are ordered by number if the driver reports %s', (_, text) => {
  expect(order(eight, text)).toEqual(range(0, 7));
});

it("each GPU gets an equal share of its NUMA node's processors, in whole cores", () => {
  const topology = readTopology(switched(alternating));
  // The threads of each core are adjacent, in the order found on the host.
  const processors = range(0, 95).flatMap((core) => [core, core + 96]);
  const shares = shareProcessors([0, 2, 4, 6, 1, 3, 5, 7], processors, topology)!;
  expect(shares[0]).toEqual([...range(0, 11), ...range(96, 107)]);
  expect(shares[4]).toEqual([...range(48, 59), ...range(144, 155)]);
  expect(shares.flat().toSorted((a, b) => a - b)).toEqual(range(0, 191));
});

it("a node's missing processors are taken from another node, without duplicates", () => {
  // Three GPUs are on one node and one is on the other.
  const topology = readTopology(
    matrix(
      rowsOf(4, () => 'SYS'),
      ['0-3', '0-3', '0-3', '4-7'],
    ),
  );
  expect(shareProcessors([0, 1, 2, 3], range(0, 7), topology)).toEqual([
    [0, 1],
    [2, 3],
    [6, 7],
    [4, 5],
  ]);
});

it('every block gets at least its share of processors, no matter how many exist', () => {
  for (let gpus = 1; gpus <= 8; gpus += 1) {
    for (let count = gpus; count <= 40; count += 1) {
      const shares = shareProcessors(range(0, gpus - 1), range(0, count - 1), new Map())!;
      expect(shares.flat()).toEqual(range(0, count - 1));
      for (let first = 0; first < gpus; first += 1) {
        for (let end = first + 1; end <= gpus; end += 1) {
          const least = Math.floor((count * (end - first)) / gpus);
          expect(shares.slice(first, end).flat().length).toBeGreaterThanOrEqual(least);
        }
      }
    }
  }
  expect(shareProcessors(range(0, 7), range(0, 6), new Map())).toBeNull();
});

it('online processors are listed with those on the same core next to each other', async () => {
  const dir = folderOf({ online: '0-2,4-7\n' });
  for (const core of [0, 1, 2, 3]) {
    for (const processor of [core, core + 4]) {
      mkdirSync(join(dir, `cpu${processor}/topology`), { recursive: true });
      writeFileSync(join(dir, `cpu${processor}/topology/thread_siblings_list`), `${core},${core + 4}\n`);
    }
  }
  expect(await findProcessors(dir)).toEqual([0, 4, 1, 5, 2, 6, 7]);
  expect((await findProcessors(join(dir, 'none'))).length).toBeGreaterThan(0);
  expect(readCpuList('3,0-1,9999,x,5-4,-1')).toEqual([0, 1, 3]);
});

it("device node numbers are read from the driver, regardless of the GPUs' order", async () => {
  const dir = folderOf({});
  const reported = [
    ['0000:01:00.0', 'GPU-a', '3'],
    ['0000:02:00.0', 'GPU-b', '0'],
    ['0000:03:00.0', '', '1'],
  ];
  for (const [bus, uuid, minor] of reported) {
    mkdirSync(join(dir, bus!));
    const text = `Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t ${uuid}\nBus Location: \t ${bus}\nDevice Minor: \t ${minor}\n`;
    writeFileSync(join(dir, bus!, 'information'), text);
  }
  expect([...(await readMinors(dir))].toSorted()).toEqual([
    ['GPU-a', 3],
    ['GPU-b', 0],
  ]);
  expect((await readMinors(join(dir, 'none'))).size).toBe(0);
});

it('the blocks for sale are counted separately for each model', () => {
  expect(describeBlocks(Array(8).fill(H100))).toBe('8 of 1, 4 of 2, 2 of 4, 1 of 8');
  expect(describeBlocks([H100, H100, H100, L4, L4])).toBe('5 of 1, 2 of 2, 1 of 3');
  expect(describeBlocks([])).toBe('');
});

function folderOf(files: Record<string, string>): string {
  const dir = mkdtempSync(join(tmpdir(), 'topology-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  return dir;
}
