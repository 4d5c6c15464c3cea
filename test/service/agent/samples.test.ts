import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/agent/engine/engine.js';
import { findControlGroup, readControlGroup } from '../../../src/agent/samples/control-group.js';
import { readNetworkCounts } from '../../../src/agent/samples/network.js';
import { PendingSamples, type Sample } from '../../../src/agent/samples/pending-samples.js';
import { Sampler, type SamplerDeps, type UpInstance } from '../../../src/agent/samples/sampler.js';
import { Slots } from '../../../src/agent/samples/slots.js';
import { withTimeLimit } from '../../../src/agent/samples/time-limit.js';
import { MAX_INSTANCES, type Report, report } from '../../../src/agent-protocol/protocol.js';
import { until } from '../../support/until.js';

const ID = 'i-00000001';
const UUID = 'GPU-5f1b6f6e-6f0c-2f6e-93a4-0d8f4a1c9f10';
const ENGINE_ID = 'ab'.repeat(32);

const dirs: string[] = [];
function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'samples-'));
  dirs.push(dir);
  return dir;
}
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

describe('control groups', () => {
  it("in version 2 resolve to the container's own group, not one created inside it", async () => {
    const root = folder();
    const mounts = [{ target: root, type: 'cgroup2', options: 'rw' }];
    const own = join(root, 'machine.slice', `libpod-${ENGINE_ID}.scope`);
    const group = findControlGroup(`0::/machine.slice/libpod-${ENGINE_ID}.scope/container/hidden\n`, mounts, ENGINE_ID);
    expect(group.cpu).toEqual({ version: 2, dir: own });
    expect(await readControlGroup(group)).toEqual({ cpuSeconds: null, memoryBytes: null, processes: null });
    write(join(own, 'cpu.stat'), 'usage_usec 2500000\nuser_usec 1\n');
    write(join(own, 'memory.current'), '5000\n');
    write(join(own, 'memory.stat'), 'anon 7\nactive_file 300\ninactive_file 1000\n');
    write(join(own, 'pids.current'), '12\n');
    expect(await readControlGroup(group)).toEqual({ cpuSeconds: 2.5, memoryBytes: 4_000, processes: 12 });
    // This is read a moment later than the total.
    write(join(own, 'memory.stat'), 'inactive_file 6000\n');
    expect(await readControlGroup(group)).toMatchObject({ memoryBytes: 0 });
  });

  it('in version 1 are each read from their own hierarchy', async () => {
    const root = folder();
    const mounts = [
      { target: join(root, 'cpu'), type: 'cgroup', options: 'rw,cpu,cpuacct' },
      { target: join(root, 'memory'), type: 'cgroup', options: 'rw,memory' },
      { target: join(root, 'unified'), type: 'cgroup2', options: 'rw' },
    ];
    const text = `5:pids:/docker/${ENGINE_ID}\n4:memory:/docker/${ENGINE_ID}\n2:cpu,cpuacct:/docker/${ENGINE_ID}\n0::/\n`;
    const group = findControlGroup(text, mounts, ENGINE_ID);
    expect(group.pids).toBe(null);
    write(join(root, 'cpu/docker', ENGINE_ID, 'cpuacct.usage'), '1500000000\n');
    write(join(root, 'memory/docker', ENGINE_ID, 'memory.usage_in_bytes'), '5000\n');
    write(join(root, 'memory/docker', ENGINE_ID, 'memory.stat'), 'inactive_file 1\ntotal_inactive_file 2000\n');
    expect(await readControlGroup(group)).toEqual({ cpuSeconds: 1.5, memoryBytes: 3_000, processes: null });
  });

  it("outside the agent's view are ignored", () => {
    const mounts = [{ target: '/sys/fs/cgroup', type: 'cgroup2', options: 'rw' }];
    const nothing = { cpu: null, memory: null, pids: null };
    expect(findControlGroup(`0::/../../${ENGINE_ID}\n`, mounts, ENGINE_ID)).toEqual(nothing);
    expect(findControlGroup('0::/a\n', [], ENGINE_ID)).toEqual(nothing);
    expect(findControlGroup('nonsense\n', mounts, ENGINE_ID)).toEqual(nothing);
  });
});

describe('network counters', () => {
  it('include all devices except loopback', () => {
    const text = [
      'Inter-|   Receive                                                |  Transmit',
      ' face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed',
      '    lo: 9999 1 0 0 0 0 0 0 9999 1 0 0 0 0 0 0',
      '  eth0:1000 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0',
      '  eth1: 1 1 0 0 0 0 0 0 2 1 0 0 0 0 0 0',
      '  eth2: none',
    ].join('\n');
    expect(readNetworkCounts(text)).toEqual({ bytesIn: 1_001, bytesOut: 22 });
  });
});

describe('a query with a timeout', () => {
  it('is not repeated while a response is pending', async () => {
    let queries = 0;
    const refuse = () => Promise.reject(new Error('no'));
    let answer: (value: number) => void = () => {};
    const query = withTimeLimit(() => {
      queries += 1;
      return new Promise<number>((resolve) => {
        answer = resolve;
      });
    }, 20);
    expect([await query(), await query(), queries]).toEqual([null, null, 1]);
    answer(1);
    await until(
      'it is queried again',
      async () => {
        await query();
        return queries === 2;
      },
      20_000,
    );
    answer(2);
    expect(await withTimeLimit(refuse, 20)()).toBe(null);
    expect(await withTimeLimit(async () => 3, 20_000)()).toBe(3);
  });
});

const NOTHING: Omit<Sample, 'id'> = {
  start: 1,
  cpuPercent: null,
  memoryUsedBytes: null,
  diskUsedBytes: null,
  networkInBytesPerSecond: null,
  networkOutBytesPerSecond: null,
  processes: null,
  gpus: [],
};

describe('unreported samples', () => {
  let now = 1_000_000;
  const createKeptSamples = () => new PendingSamples({ now: () => now, sleep: async () => {} });
  const ages = (kept: PendingSamples) => kept.unsent().samples.map(({ age }) => age);

  it('are reported once, newest first, with their age in whole seconds', () => {
    const kept = createKeptSamples();
    kept.keep({ ...NOTHING, id: ID }, now);
    now += 9_999;
    const first = kept.unsent();
    expect(first.samples).toEqual([{ ...NOTHING, id: ID, age: 9 }]);
    // This sample is taken while the report is in flight.
    kept.keep({ ...NOTHING, id: ID }, now);
    expect(ages(kept)).toEqual([0, 9]);
    first.done();
    expect(ages(kept)).toEqual([0]);
  });

  it('are limited to six per instance and dropped after a minute', () => {
    const kept = createKeptSamples();
    for (let round = 0; round < 100; round += 1) {
      kept.keep({ ...NOTHING, id: ID }, now);
      now += 10_000;
    }
    expect(ages(kept)).toEqual([10, 20, 30, 40, 50, 60]);
    for (let each = 0; each < 10; each += 1) kept.keep({ ...NOTHING, id: ID }, now - each);
    expect(ages(kept)).toHaveLength(6);
    now += 10_000;
    now += 1_000;
    expect(ages(kept)).toEqual([11, 11, 11, 11, 11, 11]);
    now += 1_000_000;
    expect(ages(kept)).toEqual([]);
    kept.keep({ ...NOTHING, id: ID }, now + 5_000);
    expect(ages(kept)).toEqual([]);
  });

  it('are limited to the newest that fit into a report', () => {
    const kept = createKeptSamples();
    for (let each = 0; each < MAX_INSTANCES; each += 1) {
      const id = `i-${each.toString(16).padStart(8, '0')}`;
      for (const age of [1_000, 0]) kept.keep({ ...NOTHING, id }, now - age);
    }
    const { samples } = kept.unsent();
    expect(samples).toHaveLength(MAX_INSTANCES);
    expect(samples.every(({ age }) => age === 0)).toBe(true);
  });
});

describe('sampling slots', () => {
  /** A host whose clock is `behindMs` behind the gateway's. */
  function hostOf(startedAt: number, behindMs = 0) {
    let gatewayMs = startedAt;
    const slots = new Slots({ now: () => gatewayMs - behindMs, sleep: async () => {} });
    return {
      slots,
      pass: (ms: number) => {
        gatewayMs += ms;
      },
      set: (ms: number) => {
        behindMs += ms;
      },
      /** Receives a response that took `ms`. */
      receive: (ms = 0) => {
        const sent = gatewayMs - behindMs;
        gatewayMs += ms / 2;
        const seconds = Math.floor(gatewayMs / 1_000);
        gatewayMs += ms / 2;
        slots.syncTime(seconds, sent);
      },
      now: () => gatewayMs,
    };
  }

  it.each([0, 1, 40, 9_960, 9_999])('are consecutive even with inexact timers, from %i ms after a boundary', (ms) => {
    const host = hostOf(1_000_000 + ms);
    const taken: number[] = [];
    for (let round = 0; round < 600; round += 1) {
      taken.push(host.slots.take());
      // A round takes some time, and a timer may be slightly early or late.
      host.pass(20);
      host.pass(host.slots.untilNext() + ((round * 7) % 50) - 3);
    }
    expect(taken).toEqual(Array.from(taken, (_, round) => taken[0]! + round));
    expect([99, 100]).toContain(taken[0]);
  });

  it.each([-4_000_000, -2_600, -1_900, 0, 1_900, 2_600, 4_000_000])(
    "match the gateway's slots on a host whose clock is %i ms behind",
    (behindMs) => {
      for (let start = 1_000_000; start < 1_010_000; start += 500) {
        const host = hostOf(start, behindMs);
        host.receive(900);
        const taken: number[] = [];
        for (let round = 0; round < 5; round += 1) {
          taken.push(host.slots.take());
          // A slot is never in the future, not even by the gateway's clock, which is read in whole seconds.
          expect(taken.at(-1)! * 10).toBeLessThanOrEqual(Math.floor(host.now() / 1_000));
          expect(host.now() - taken.at(-1)! * 10_000).toBeLessThan(14_000);
          host.pass(host.slots.untilNext());
          host.receive(100 * round);
        }
        expect(taken).toEqual(Array.from(taken, (_, round) => taken[0]! + round));
      }
    },
  );

  it('are skipped if missed during a long round and stay correct when the clock is set', () => {
    const host = hostOf(1_000_000);
    host.receive();
    expect(host.slots.take()).toBe(99);
    host.pass(25_000);
    expect([host.slots.untilNext(), host.slots.take()]).toEqual([0, 101]);
    for (const ms of [100_000_000, -100_000_000]) {
      host.set(ms);
      expect(host.slots.untilNext()).toBeLessThanOrEqual(20_000);
      host.receive();
      host.pass(host.slots.untilNext());
      expect(host.slots.take()).toBe(Math.floor((host.now() - 3_000) / 10_000));
    }
    // A late response is ignored.
    host.set(50_000);
    host.receive(1_500);
    host.pass(10_000);
    expect(host.slots.take()).toBeLessThanOrEqual(Math.floor((host.now() - 50_000) / 10_000));
  });
});

/** Replaces the driver's tool with a script that hangs while the file `hangs` exists. */
function fakeDriver(loads: string, processes: string): { hangs: string; queries(): string[] } {
  const dir = folder();
  const [hangs, log] = [join(dir, 'hangs'), join(dir, 'queries')];
  const answer = `case "$1" in --query-gpu=*) printf '${loads}';; *) printf '${processes}';; esac`;
  const wait = `while test -e '${hangs}'; do sleep 0.05; done`;
  writeFileSync(join(dir, 'nvidia-smi'), `#!/bin/sh\necho "$1" >> '${log}'\n${wait}\n${answer}\n`);
  chmodSync(join(dir, 'nvidia-smi'), 0o755);
  process.env.PATH = `${dir}${delimiter}${process.env.PATH}`;
  const read = () => execFileSync('cat', [log], { encoding: 'utf8' }).trim().split('\n');
  return { hangs, queries: () => (existsSync(log) ? read() : []) };
}

describe('a sample', () => {
  const { PATH } = process.env;
  const instance: UpInstance = {
    id: ID,
    start: 3,
    vcpus: 4,
    gpuUuids: [`${UUID}-b`, `${UUID}-a`, `${UUID}-lost`],
    workspaceVolume: null,
    hasExited: false,
    isWatched: false,
  };
  const samples: Sample[] = [];
  let up = [instance];
  function samplerOf(deps: Partial<SamplerDeps> = {}): Sampler {
    samples.length = 0;
    return new Sampler({
      engine: { info: { cpus: 2 }, inspect: async () => null } as unknown as Engine,
      disks: { usedBytes: async () => 7 },
      volumes: { usedBytes: async () => 8 },
      clock: { now: () => Date.now(), sleep: async () => {} },
      pretended: false,
      up: () => up,
      // Slots have their own tests.
      keep: ({ slot: _, ...sample }) => samples.push(sample),
      onMeasured: () => {},
      ...deps,
    });
  }
  afterEach(() => {
    process.env.PATH = PATH;
    up = [instance];
  });

  const CSV = `${UUID}-a, 97, 1523, 81559, 699.87, 61, 1980, 2\\n${UUID}-b, [N/A], 0, 24564, [N/A], 30, 0, [N/A]\\n`;

  it("lists its instance's GPUs in order, using one query for all instances", async () => {
    const driver = fakeDriver(CSV, `${UUID}-a, 4711\\n`);
    up = [instance, { ...instance, id: 'i-00000002', gpuUuids: [`${UUID}-a`] }];
    await samplerOf().sample();
    expect(driver.queries()).toHaveLength(2);
    const a = { memoryUsedMb: 1_523, memoryTotalMb: 81_559, powerWatts: 699.87, celsius: 61, smMhz: 1_980, faults: 2 };
    const b = { memoryUsedMb: 0, memoryTotalMb: 24_564, powerWatts: null, celsius: 30, smMhz: 0, faults: null };
    const lost = {
      memoryUsedMb: null,
      memoryTotalMb: null,
      powerWatts: null,
      celsius: null,
      smMhz: null,
      faults: null,
    };
    expect(samples).toEqual([
      {
        ...NOTHING,
        id: ID,
        start: 3,
        diskUsedBytes: 7,
        gpus: [
          { place: 0, busyPercent: null, processes: 0, ...b },
          { place: 1, busyPercent: 97, processes: 1, ...a },
          { place: 2, busyPercent: null, processes: null, ...lost },
        ],
      },
      {
        ...NOTHING,
        id: 'i-00000002',
        start: 3,
        diskUsedBytes: 7,
        gpus: [{ place: 0, busyPercent: 97, processes: 1, ...a }],
      },
    ]);
    expectValid(samples);
  });

  it('has all other values while the driver hangs, without querying it again', async () => {
    const driver = fakeDriver(CSV, '');
    writeFileSync(driver.hangs, '');
    const engine = {
      info: { cpus: 2 },
      inspect: async () => ({ pid: process.pid, engineId: '' }),
    } as unknown as Engine;
    const sampler = samplerOf({ engine });
    await sampler.sample();
    await sampler.sample();
    expect(driver.queries()).toHaveLength(2);
    expect(samples).toHaveLength(2);
    expect(samples[1]).toMatchObject({ gpus: [{ busyPercent: null }, {}, {}] });
    expect(samples[1]!.cpuPercent).toEqual(expect.any(Number));
    // The network is this host's. Its counters fall when another program removes an interface, in which case the
    // rate is null.
    for (let more = 0; more < 20 && samples.at(-1)!.networkInBytesPerSecond === null; more += 1) await sampler.sample();
    expect(samples.at(-1)!.networkInBytesPerSecond).toEqual(expect.any(Number));
    expectValid(samples.slice(0, 2));
    rmSync(driver.hangs);
    await until(
      'it is queried again',
      async () => {
        await sampler.sample();
        return samples.at(-1)!.gpus[1]!.busyPercent === 97;
      },
      60_000,
    );
  });

  it('has the GPU values while the engine hangs, and is omitted if it would be empty', async () => {
    fakeDriver(CSV, '');
    const engine = { info: { cpus: 2 }, inspect: () => new Promise(() => {}) } as unknown as Engine;
    const sampler = samplerOf({ engine });
    await sampler.sample();
    expect(samples).toMatchObject([{ cpuPercent: null, gpus: [{}, { busyPercent: 97 }, {}] }]);
    up = [{ ...instance, gpuUuids: [] }];
    await sampler.sample();
    expect(samples).toHaveLength(1);
  });

  it('has no rates after its container restarts, since the counters restart too', async () => {
    const sleeper = spawn('sleep', ['1000']);
    const pids = [sleeper.pid, process.pid];
    const engine = { info: { cpus: 2 }, inspect: async () => ({ pid: pids[0], engineId: '' }) } as unknown as Engine;
    up = [{ ...instance, gpuUuids: [] }];
    const sampler = samplerOf({ engine });
    await sampler.sample();
    await sampler.sample();
    const ended = new Promise((resolve) => sleeper.once('exit', resolve));
    sleeper.kill();
    await ended;
    pids.shift();
    await sampler.sample();
    expect(samples.map(({ cpuPercent }) => cpuPercent)).toEqual([null, expect.any(Number), null]);
    expect(samples[2]).toMatchObject({ networkInBytesPerSecond: null, networkOutBytesPerSecond: null });
  });

  it('needs no driver for unused GPUs or for simulated GPUs, which mirror the CPU load', async () => {
    const driver = fakeDriver(CSV, '');
    up = [
      { ...instance, gpuUuids: [] },
      { ...instance, hasExited: true, id: 'i-00000002' },
    ];
    await samplerOf().sample();
    up = [instance];
    let now = 0;
    const engine = {
      info: { cpus: 2 },
      inspect: async () => ({ pid: process.pid, engineId: '' }),
    } as unknown as Engine;
    const sampler = samplerOf({ engine, pretended: true, clock: { now: () => now, sleep: async () => {} } });
    await sampler.sample();
    for (const end = Date.now() + 200; Date.now() < end; );
    // Attributes 200 ms of work to 10 ms. The result would exceed 100%, so it is capped.
    now += 10;
    await sampler.sample();
    expect(samples.map(({ cpuPercent, gpus }) => [cpuPercent, ...gpus.map((gpu) => gpu.busyPercent)])).toEqual([
      [null, null, null, null],
      [100, 100, 100, 100],
    ]);
    // The host's clock was set back.
    now -= 5;
    await sampler.sample();
    expect(samples[2]).toMatchObject({ cpuPercent: null, networkInBytesPerSecond: null });
    expect(driver.queries()).toEqual([]);
    expectValid(samples);
  });
});

function expectValid(samples: readonly Sample[]): void {
  const body: Report = {
    protocol: 2,
    session: 's',
    sequence: 1,
    generation: 0,
    instances: [],
    unknown: [],
    engine: 'ok',
    samples: samples.map((sample) => ({ ...sample, age: 0 })),
  };
  expect(report.parse(body)).toEqual(body);
}
