import { describe, expect, it } from 'vitest';
import { readStat } from '../../../src/agent/cpu-time.js';
import { parseGpuLoads, parseGpuProcesses } from '../../../src/agent/gpus/load.js';
import { busyOf, LoadWatch } from '../../../src/agent/load-watch.js';
import type { UpInstance } from '../../../src/agent/samples/sampler.js';
import { seen } from '../../support/agent.js';

const UUID = 'GPU-5f1b6f6e-6f0c-2f6e-93a4-0d8f4a1c9f10';
const ID = 'i-00000001';

describe('the load reported by nvidia-smi', () => {
  it('is parsed into numbers with fixed units', () => {
    expect(parseGpuLoads(`${UUID}, 97, 1523, 81559, 699.87, 61, 1980, 2\n`)).toEqual([
      {
        uuid: UUID,
        busyPercent: 97,
        memoryUsedMb: 1_523,
        memoryTotalMb: 81_559,
        powerWatts: 699.87,
        celsius: 61,
        smMhz: 1_980,
        faults: 2,
      },
    ]);
  });

  it.each(['[N/A]', '[Not Supported]', 'ERR!', '101', '-1', '', '5 %', '1e1', 'nan', '[Unknown Error]'])(
    'is unknown for %o',
    (text) => {
      expect(parseGpuLoads(`${UUID}, ${text}, 1, 2, 3, 4, 5, 6`)).toMatchObject([
        { busyPercent: null, memoryUsedMb: 1 },
      ]);
    },
  );

  it('is parsed from real drivers’ output', () => {
    const other = UUID.replace('5', '6');
    // A partitioned GPU (MIG) inside and outside a container, a consumer card without ECC, a faulty card, and an old
    // driver.
    const lines = [
      `${UUID}, [N/A], [Insufficient Permissions], [Insufficient Permissions], 87.04, 33, 1410, 0`,
      `${UUID}, [N/A], 36537, 81920, 87.12, 33, 1410, 0`,
      `${other}, 5, 1, 24564, 27.48, 35, 0, [N/A]`,
      `${other}, [Unknown Error], 12, 24576, [Unknown Error], [GPU requires reset], [Not Found], ERR!`,
      `${other}, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]`,
      `${other}, 12 %, 512 MiB, 11019 MiB, [Not Supported], 41, 1350 MHz, [Not Supported]\r`,
    ];
    const read = parseGpuLoads(`${lines.join('\n')}\n`);
    const values = read.map(({ uuid: _, ...each }) => Object.values(each));
    expect(values).toEqual([
      [null, null, null, 87.04, 33, 1_410, 0],
      [null, 36_537, 81_920, 87.12, 33, 1_410, 0],
      [5, 1, 24_564, 27.48, 35, 0, null],
      [null, 12, 24_576, null, null, null, null],
      [null, null, null, null, null, null, null],
      [null, null, null, null, 41, null, null],
    ]);
    expect(busyOf(read.slice(0, 1))).toBe(null);
  });

  it.each([
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n\n",
    'Unable to determine the device handle for GPU0000:A1:00.0: Unknown Error\n',
    'Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.  Reboot the system to recover this GPU\n',
    'Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161\n',
    'Field "ecc.errors.uncorrected.volatile.total" is not a valid field to query.\n\n',
    'WARNING: infoROM is corrupted at gpu 0000:0B:00.0\n',
    // With a decimal comma, the cell boundaries are ambiguous.
    `${UUID}, 97, 1523, 81559, 699,87, 61, 1980, 2\n`,
    `${UUID}; 97; 1523; 81559; 699,87; 61; 1980; 2\n`,
    'MIG-5f1b6f6e-6f0c-2f6e-93a4-0d8f4a1c9f10, 1, 2, 3, 4, 5, 6, 7\n',
    '[Unknown Error], 1, 2, 3, 4, 5, 6, 7\n',
    'GPU-, 1, 2, 3, 4, 5, 6, 7\n',
    `${UUID}${'0'.repeat(100_000)}, 1, 2, 3, 4, 5, 6, 7`,
  ])('is ignored if the output is %j', (text) => {
    expect(parseGpuLoads(text)).toEqual([]);
    expect(parseGpuProcesses(text)).toEqual(new Map());
  });

  it("includes the number of processes in real drivers' output", () => {
    const lines = [
      `${UUID}, 4711`,
      // This process is on another partition of the same GPU.
      `${UUID}, 4711`,
      `${UUID}, [Insufficient Permissions]`,
      `${UUID}, [Not Found]\r`,
      'No running processes found',
      'No devices were found',
      `[N/A], 4712`,
    ];
    expect(parseGpuProcesses(lines.join('\n'))).toEqual(new Map([[UUID, 1]]));
  });

  it('excludes lines in other formats', () => {
    expect(parseGpuLoads('No devices were found\n')).toEqual([]);
    expect(parseGpuLoads(`${UUID}, 0, 1, 2\n0, 0, 1, 2, 3, 4, 5, 6`)).toEqual([]);
  });

  it('counts each process once for every GPU that it uses', () => {
    const other = UUID.replace('5', '6');
    const lines = [`${UUID}, 41`, `${UUID}, 42`, `${UUID}, 42`, `${other}, 41`, `${other}, [N/A]`, 'No processes'];
    expect(parseGpuProcesses(lines.join('\n'))).toEqual(
      new Map([
        [UUID, 2],
        [other, 1],
      ]),
    );
    expect(parseGpuProcesses('')).toEqual(new Map());
  });
});

describe("the GPUs' busy state", () => {
  const gpus = (...percents: (number | null)[]) => percents.map((busyPercent) => ({ busyPercent }));

  it("is true if any GPU's load is above 5%", () => {
    expect(busyOf(gpus(5))).toBe(false);
    expect(busyOf(gpus(0, 6))).toBe(true);
  });

  it('is unknown if a GPU is missing or silent, unless another one is busy', () => {
    expect(busyOf([...gpus(0), null])).toBe(null);
    expect(busyOf(gpus(null, 0))).toBe(null);
    expect(busyOf(gpus(null, 50))).toBe(true);
    expect(busyOf([null])).toBe(null);
    expect(busyOf([])).toBe(null);
  });
});

describe('a line of /proc/PID/stat', () => {
  it('is parsed after the process name, which may contain anything', () => {
    const rest = 'S 41 1 1 0 -1 4194560 1 2 3 4 150 25 10 15 20 0 1 0 100';
    expect(readStat(`42 (a) b (c) ${rest}`)).toEqual({ parent: 41, ticks: 200, begunAt: 100 });
    expect(readStat('')).toBe(null);
  });
});

describe('the load watch', () => {
  const instance: UpInstance = {
    id: ID,
    start: 1,
    vcpus: 1,
    gpuUuids: [UUID],
    workspaceVolume: null,
    hasExited: false,
    isWatched: true,
  };
  const observed = [seen(ID, 'RUNNING')];
  const watchOf = (up: UpInstance, pretended = true) => new LoadWatch({ pretended, up: () => [up] });
  const busy = (watch: LoadWatch) => watch.withLoad(observed).instances[0]!.busy;
  const processors = (used: number | null, up = instance) => [{ instance: up, processors: used, gpus: [] }];

  it('retains a busy state until a report has delivered it', () => {
    const watch = watchOf(instance);
    watch.record(processors(null));
    expect(busy(watch)).toBeUndefined();
    watch.withLoad(observed).markReported();
    watch.record(processors(0.06));
    expect(busy(watch)).toBe(true);
    watch.record(processors(0.05));
    expect(busy(watch)).toBe(true);
    watch.withLoad(observed).markReported();
    watch.record(processors(0));
    expect(busy(watch)).toBe(false);
  });

  it("uses the processors' load only if there are no real GPUs", () => {
    const watch = watchOf(instance, false);
    const gpu = parseGpuLoads(`${UUID}, 6, 1, 2, 3, 4, 5, 6`);
    watch.record([{ instance, processors: 0, gpus: gpu }]);
    expect(busy(watch)).toBe(true);
    watch.withLoad(observed).markReported();
    watch.record([{ instance, processors: 1, gpus: [{ ...gpu[0]!, busyPercent: 0 }] }]);
    expect(busy(watch)).toBe(false);
  });

  it('reports false for an ended command and nothing for an unwatched or other start', () => {
    const exited = { ...instance, hasExited: true };
    const ended = watchOf(exited);
    ended.record(processors(null, exited));
    expect(busy(ended)).toBe(false);
    const unmonitored = { ...instance, isWatched: false };
    const unwatched = watchOf(unmonitored);
    unwatched.record(processors(1, unmonitored));
    expect(unwatched.withLoad(observed).instances).toEqual(observed);
    const watch = watchOf(instance);
    watch.record(processors(1, { ...instance, start: 2 }));
    expect(busy(watch)).toBeUndefined();
  });
});
