import { layoutOf } from '../../../src/domain/inventory/rules/layout.js';
import type { OfferedHost, OfferedMachine } from '../../../src/domain/inventory/rules/offer.js';

/** An instance on GPUs [first, first + count) of its host. */
export interface Running {
  first: number;
  count: number;
  yields: boolean;
}

/** A host as a list of GPUs. All amounts are for the whole host. */
export interface NaiveHost extends Omit<OfferedMachine, 'machineId' | 'gpu' | 'numGpus' | 'preemptible'> {
  hostId: string;
  models: readonly string[];
  /** Block sizes. 0 stands for the whole host. */
  sizes: readonly number[];
  missing: readonly number[];
  running: readonly Running[];
  diskLeftGb: number;
}

/** A host that is sold as a whole and on which nothing runs. */
export const PLAIN: NaiveHost = {
  hostId: 'm-0',
  models: ['a'],
  sizes: [0],
  missing: [],
  running: [],
  region: 'x',
  reliability: 0.99,
  diskGb: 100,
  diskLeftGb: 100,
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
  fuse: false,
};

/** Computes the host's offers GPU by GPU, each with its GPUs and the size of the block that its rental splits. */
export interface NaiveMachine {
  offered: OfferedMachine;
  gpus: string[];
  breaks: number;
}

const LEAST_DISK_GB = 50;

export function naiveMachines(host: NaiveHost): NaiveMachine[] {
  const { hostId, models, sizes, missing, running, diskLeftGb, nvlink, ...same } = host;
  const n = models.length;
  const wayOf = (place: number) => running.find(({ first, count }) => first <= place && place < first + count);
  const share = (amount: number, count: number) =>
    count === n ? amount : Math.max(Math.floor((amount * count) / n), Math.min(amount, 1));
  const machines: NaiveMachine[] = [];
  for (const places of blocks(models, sizes)) {
    const inTheWay = new Set(places.map(wayOf).filter((each) => each !== undefined));
    if (places.some((place) => missing.includes(place)) || [...inTheWay].some(({ yields }) => !yields)) continue;
    const count = places.length;
    const diskGb = Math.min(share(host.diskGb, count), diskLeftGb);
    if (diskGb < LEAST_DISK_GB) continue;
    const isFree = (place: number) => {
      const way = wayOf(place);
      return !missing.includes(place) && (way === undefined || inTheWay.has(way));
    };
    const around = blocks(models, [0, 1, 2, 4, 8]).filter(
      (each) => each.length > count && places.every((place) => each.includes(place)) && each.every(isFree),
    );
    const last = places.at(-1)!;
    machines.push({
      offered: {
        ...same,
        machineId: count === n ? hostId : `${hostId}.g${places[0]}${count === 1 ? '' : `-${last}`}`,
        gpu: models[places[0]!]!,
        numGpus: count,
        nvlink: nvlink && (n === 1 || count > 1),
        vcpus: share(same.vcpus, count),
        ramGb: share(same.ramGb, count),
        diskGb,
        netMbps: { down: share(same.netMbps.down, count), up: share(same.netMbps.up, count) },
        ports: share(same.ports, count),
        preemptible: inTheWay.size > 0,
      },
      gpus: places.map((place) => `${hostId} ${place}`),
      breaks: Math.max(0, ...around.map(({ length }) => length)),
    });
  }
  return machines;
}

/** Returns blocks of each size. They are adjacent GPUs of one model, starting at a multiple of the size. */
function blocks(models: readonly string[], sizes: readonly number[]): number[][] {
  const found = new Map<string, number[]>();
  const add = (places: number[]) => found.set(places.join(), places);
  for (const model of new Set(models)) {
    const run = models.flatMap((each, place) => (each === model ? [place] : []));
    for (const size of sizes.filter((each) => each > 0))
      for (let at = 0; at + size <= run.length; at += size) add(run.slice(at, at + size));
    if (sizes.includes(0)) add(run);
  }
  return [...found.values()];
}

/** Converts the host to what the inventory would have read. */
export function offeredHost(host: NaiveHost): OfferedHost {
  const { models, sizes, missing, running, netMbps, ...same } = host;
  const bits = ({ first, count }: Running) =>
    Array.from({ length: count }, (_, n) => 2 ** (first + n)).reduce((a, b) => a + b);
  return {
    ...same,
    ...netMbps,
    layout: layoutOf(models, sizes, missing),
    taken: running.filter(({ yields }) => !yields).reduce((sum, each) => sum + bits(each), 0),
    yielding: running.filter(({ yields }) => yields).map(bits),
  };
}
