import { describe, expect, it } from 'vitest';
import { readStat } from '../../src/agent/cpu-time.js';
import type { Engine } from '../../src/agent/engine/engine.js';
import { parseGpuLoads } from '../../src/agent/gpus/load.js';
import { busyOf, LoadWatch, type WatchedInstance } from '../../src/agent/load-watch.js';
import { seen } from '../support/agent.js';

const UUID = 'GPU-5f1b6f6e-6f0c-2f6e-93a4-0d8f4a1c9f10';
const ID = 'i-00000001';

describe('what nvidia-smi says of load', () => {
  it('is read as numbers with units of their own', () => {
    expect(parseGpuLoads(`${UUID}, 97, 1523, 81559, 699.87, 61, 1980\n`)).toEqual([
      {
        uuid: UUID,
        busyPercent: 97,
        memoryUsedMb: 1_523,
        memoryTotalMb: 81_559,
        powerWatts: 699.87,
        celsius: 61,
        smMhz: 1_980,
      },
    ]);
  });

  it.each(['[N/A]', '[Not Supported]', 'ERR!', '101', '-1', '', '5 %', '1e1', 'nan', '[Unknown Error]'])(
    'is not known where it says %o',
    (text) => {
      expect(parseGpuLoads(`${UUID}, ${text}, 1, 2, 3, 4, 5`)).toMatchObject([{ busyPercent: null, memoryUsedMb: 1 }]);
    },
  );

  it('is nothing where a line has another form', () => {
    expect(parseGpuLoads('No devices were found\n')).toEqual([]);
    expect(parseGpuLoads(`${UUID}, 0, 1, 2\n0, 0, 1, 2, 3, 4, 5`)).toEqual([]);
  });
});

describe('whether GPUs are busy', () => {
  const load = (uuid: string, busyPercent: number | null) => ({
    ...parseGpuLoads(`${UUID},0,0,0,0,0,0`)[0]!,
    uuid,
    busyPercent,
  });

  it('is so above 5 %, of one of them', () => {
    expect(busyOf(['a'], [load('a', 5)])).toBe(false);
    expect(busyOf(['a', 'b'], [load('a', 0), load('b', 6), load('c', 0)])).toBe(true);
    expect(busyOf(['a'], [load('a', 0), load('b', 100)])).toBe(false);
  });

  it('is not known where one is missing or does not say, unless another is busy', () => {
    expect(busyOf(['a', 'b'], [load('a', 0)])).toBe(null);
    expect(busyOf(['a', 'b'], [load('a', null), load('b', 0)])).toBe(null);
    expect(busyOf(['a', 'b'], [load('a', null), load('b', 50)])).toBe(true);
    expect(busyOf(['a'], null)).toBe(null);
    expect(busyOf([], [])).toBe(null);
  });
});

describe('a line of /proc/PID/stat', () => {
  it('is read after its name, whatever that holds', () => {
    const rest = 'S 41 1 1 0 -1 4194560 1 2 3 4 150 25 10 15 20 0 1 0 100';
    expect(readStat(`42 (a) b (c) ${rest}`)).toEqual({ parent: 41, ticks: 200 });
    expect(readStat('')).toBe(null);
  });
});

/** The watch on this very process: its first sample of a start can't be compared with one before. */
describe('the watch of load', () => {
  const watched: WatchedInstance[] = [{ id: ID, start: 1, gpuUuids: [UUID], hasExited: false }];
  const observed = [seen(ID, 'RUNNING')];
  let now = 1_000;

  function watchOf(seen: readonly WatchedInstance[], pid: () => number | null) {
    return new LoadWatch({
      engine: { inspect: async () => ({ pid: pid() }) } as unknown as Engine,
      clock: { now: () => now, sleep: async () => {} },
      pretended: true,
      watched: () => seen,
      becameBusy: () => {},
    });
  }
  const busy = (watch: LoadWatch) => watch.withLoad(observed).instances[0]!.busy;

  it('keeps what was busy until a report of it has arrived', async () => {
    const watch = watchOf(watched, () => process.pid);
    await watch.sample();
    expect(busy(watch)).toBeUndefined();
    watch.withLoad(observed).told();
    // Everything of this namespace within a hundredth of a second: far more than 5 %.
    for (const end = Date.now() + 200; Date.now() < end; );
    now += 10;
    await watch.sample();
    expect(busy(watch)).toBe(true);
    now += 1_000_000_000;
    await watch.sample();
    expect(busy(watch)).toBe(true);
    watch.withLoad(observed).told();
    now += 1_000_000_000;
    await watch.sample();
    expect(busy(watch)).toBe(false);
  });

  it('does not know the load of a container that is gone, and says nothing of one that nobody asks about', async () => {
    const watch = watchOf(watched, () => null);
    await watch.sample();
    now += 10_000;
    await watch.sample();
    expect(busy(watch)).toBeUndefined();
    const exited = watchOf([{ ...watched[0]!, hasExited: true }], () => null);
    await exited.sample();
    expect(busy(exited)).toBe(false);
    const unwatched = watchOf([], () => process.pid);
    await unwatched.sample();
    expect(unwatched.withLoad(observed).instances).toEqual(observed);
  });
});
