import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type AgentClock, hostClock } from '../../../src/agent/clock.js';
import { openDisks } from '../../../src/agent/disks.js';
import {
  type Container,
  type ContainerDetail,
  type ContainerSpec,
  type Engine,
  EngineFault,
  PullFault,
} from '../../../src/agent/engine/engine.js';
import { openGpuAccess } from '../../../src/agent/gpus/gpu-access.js';
import { findProcessors } from '../../../src/agent/processors.js';
import { Reconciler } from '../../../src/agent/reconciler.js';
import { Registries } from '../../../src/agent/registries.js';
import { SecretFiles } from '../../../src/agent/secret-files.js';
import { StartRecords } from '../../../src/agent/start-records.js';
import { HostVolumes } from '../../../src/agent/volumes/host-volumes.js';
import type { ObservedInstance } from '../../../src/agent-protocol/protocol.js';
import { desiredInstance } from '../../support/hosts/agent-process.js';

const ID = 'i-00000001';
const OTHER = 'i-00000002';
const THIRD = 'i-00000003';
const LAST = 'i-00000004';
const MACHINE = 'm-test';
const OWN_IMAGE = 'own/image';
const FASTER = 100;
const SIMULATED = { count: 4, name: 'NVIDIA L4', vramMb: 23_034 };

/** Speeds up the agent's pauses and deadlines a hundredfold. */
const fastClock: AgentClock = {
  now: () => hostClock.now() * FASTER,
  sleep: (ms, signal) => hostClock.sleep(ms / FASTER, signal),
};

/** An engine with failures that can't be provoked in a real one. It has every image that isn't in a registry. */
class FailingEngine implements Partial<Engine> {
  readonly info = { name: 'docker', runtimes: [] as string[] } as unknown as Engine['info'];
  readonly containers = new Map<string, ContainerDetail>();
  /** Instances whose containers the engine refuses to remove. */
  readonly stuck = new Set<string>();
  /** Which kinds of containers the engine starts: those that only probe the host, and those of instances. */
  starts = { probe: true, instance: true };
  /** Whether the engine refuses to pin a container to processors, like one without the cpuset cgroup. */
  refusesCpus = false;
  /** The processors to which each instance's container was pinned when it was created. */
  readonly cpus = new Map<string, readonly number[] | null>();
  /** The device that every container gets, regardless of which one was requested. */
  device: string | null = null;
  /** Delays every stop until this promise is resolved. */
  stops: Promise<void> = Promise.resolve();
  /** Delays the removal of a container until its promise is resolved. */
  readonly removals = new Map<string, Promise<void>>();
  probed = 0;
  pullSeconds = 0;
  readonly #probes = new Set<string>();

  list = async (): Promise<Container[]> =>
    [...this.containers.values()].filter(({ instanceId }) => !this.#probes.has(instanceId));
  inspect = async (id: string) => this.containers.get(id) ?? null;
  imageId = async (image: string) => (image.startsWith('registry.example') ? null : image);
  prepare = async () => {};
  watch = (_machine: string, opened: () => void, _onEvent: () => void, signal: AbortSignal) => {
    opened();
    return hostClock.sleep(60_000, signal);
  };

  async create({ instanceId, machineId, start, gpus, cpus }: ContainerSpec): Promise<void> {
    if (this.refusesCpus && cpus !== null) throw new EngineFault('refused', 'cpuset.cpus: no such file');
    if (start === null) this.#probes.add(instanceId);
    else this.cpus.set(instanceId, cpus);
    if (start === null) this.probed += 1;
    const nodes = gpus?.kind === 'nodes' ? gpus.nodes.map(({ inside }) => inside) : [];
    const devices = { nodes: start === null ? nodes : this.device === null ? nodes : [this.device], requested: [] };
    const made = { instanceId, machineId, running: false, pid: null, exitCode: null, startedAt: '', imagePorts: [] };
    this.containers.set(instanceId, { ...made, engineId: instanceId, devices });
  }

  async start(id: string): Promise<void> {
    if (!this.starts[this.#probes.has(id) ? 'probe' : 'instance']) throw new EngineFault('refused', 'no start today');
    this.containers.get(id)!.running = true;
  }

  async remove(id: string): Promise<void> {
    if (this.stuck.has(id)) throw new EngineFault('refused', 'its layer is in use');
    await this.removals.get(id);
    this.containers.delete(id);
  }

  async stop(id: string): Promise<void> {
    await this.stops;
    this.containers.get(id)!.running = false;
  }

  async pull(_image: string, _login: unknown, _onProgress: unknown, signal: AbortSignal): Promise<void> {
    await fastClock.sleep(this.pullSeconds * 1_000, signal);
    throw new PullFault('the registry is not responding', { detail: 'i/o timeout' });
  }
}

let dataDir: string;
let engine: FailingEngine;
let reconciler: Reconciler;
let running: Promise<void>;
let logged: string[];

beforeEach(async () => {
  logged = [];
  dataDir = mkdtempSync(join(tmpdir(), 'reconciler-'));
  engine = new FailingEngine();
  reconciler = new Reconciler({
    engine: engine as Partial<Engine> as Engine,
    disks: openDisks(dataDir, 'none'),
    volumes: await HostVolumes.open(dataDir, ''),
    gpus: await openGpuAccess(SIMULATED, engine as Partial<Engine> as Engine, pino({ level: 'silent' })),
    allowsFuse: false,
    clock: fastClock,
    log: pino({ level: 'warn' }, { write: (line: string) => logged.push(line) }),
    machineId: MACHINE,
    stopSeconds: 1,
    registries: new Registries(['registry.example']),
    ownImages: new Set([OWN_IMAGE]),
    pullLimits: { seconds: 100, kbPerSecond: 0 },
    secretFiles: new SecretFiles(dataDir),
    records: new StartRecords(dataDir),
    secretsOf: () => Promise.reject(new Error('there are none')),
    volumeAccess: () => Promise.reject(new Error('there are none')),
    changed: () => {},
  });
  running = reconciler.run();
});
afterEach(async () => {
  reconciler.end();
  await running;
  rmSync(dataDir, { recursive: true, force: true });
});

async function sees(id: string, phase: ObservedInstance['phase']): Promise<ObservedInstance> {
  const found = () => reconciler.state.instances.find((each) => each.id === id);
  await expect.poll(() => found()?.phase).toBe(phase);
  return found()!;
}

it('the agent starts other instances even if one container can’t be erased', async () => {
  await engine.create({ instanceId: OTHER, machineId: MACHINE, start: 1 } as ContainerSpec);
  engine.stuck.add(OTHER);
  const instances = [desiredInstance(OTHER, 'absent'), desiredInstance(ID, 'running', { image: OWN_IMAGE })];
  await reconciler.apply({ generation: 1, instances });
  await sees(ID, 'RUNNING');
  expect(await sees(OTHER, 'STOPPING')).toMatchObject({
    message: 'the machine has a problem with this instance; its agent is retrying',
  });
});

it('the agent probes the host again after an image has failed to start', async () => {
  const image = { image: OWN_IMAGE };
  engine.starts.instance = false;
  await reconciler.apply({ generation: 1, instances: [desiredInstance(ID, 'running', image)] });
  expect(await sees(ID, 'FAILED')).toMatchObject({ start: 1, fault: 'image' });
  engine.starts.probe = false;
  await reconciler.apply({ generation: 2, instances: [desiredInstance(ID, 'running', { ...image, start: 2 })] });
  await expect.poll(() => reconciler.state.instances[0]).toMatchObject({ start: 2, phase: 'FAILED', fault: 'host' });
});

it('a start has one deadline for all its pulls, regardless of how each one ends', async () => {
  engine.pullSeconds = 40;
  await reconciler.apply({
    generation: 1,
    instances: [desiredInstance(ID, 'running', { image: 'registry.example/a' })],
  });
  expect(await sees(ID, 'FAILED')).toMatchObject({
    message: 'the image was not pulled within 100 s',
    fault: 'image',
  });
});

/** Returns an instance that uses these GPUs of the host. */
function on(id: string, places: readonly number[], rest = {}) {
  const gpuUuids = places.map((place) => `GPU-pretended-${place}`);
  return desiredInstance(id, 'running', { image: OWN_IMAGE, gpus: places.length, gpuUuids, ...rest });
}

it('a start waits for containers to stop on its own GPUs, but not on other GPUs', async () => {
  let stopped = () => {};
  const old = on(THIRD, [2, 3]);
  await reconciler.apply({ generation: 1, instances: [old] });
  await sees(THIRD, 'RUNNING');
  engine.stops = new Promise((resolve) => {
    stopped = resolve;
  });
  const instances = [{ ...old, phase: 'stopped' as const }, on(ID, [0, 1]), on(OTHER, [3])];
  await reconciler.apply({ generation: 2, instances });
  await sees(ID, 'RUNNING');
  await expect.poll(() => reconciler.state.instances.find(({ id }) => id === OTHER)?.message).toMatch(/to stop$/);
  expect(engine.containers.get(OTHER)).toBeUndefined();
  stopped();
  await sees(OTHER, 'RUNNING');
});

it('a start waits until its GPUs’ previous container is erased, but for no others', async () => {
  let removed = () => {};
  const old = on(THIRD, [2, 3]);
  await reconciler.apply({ generation: 1, instances: [{ ...old, phase: 'stopped' }] });
  await sees(THIRD, 'STOPPED');
  engine.removals.set(
    THIRD,
    new Promise((resolve) => {
      removed = resolve;
    }),
  );
  const instances = [{ ...old, phase: 'absent' as const }, on(ID, [0, 1]), on(OTHER, [3])];
  await reconciler.apply({ generation: 2, instances });
  await sees(ID, 'RUNNING');
  await expect.poll(() => reconciler.state.instances.find(({ id }) => id === OTHER)?.message).toMatch(/to be erased$/);
  expect(engine.containers.get(OTHER)).toBeUndefined();
  removed();
  await sees(OTHER, 'RUNNING');
});

it('a start waits for unknown containers on its GPUs, or on any if it has no GPU ids', async () => {
  await reconciler.apply({ generation: 1, instances: [on(THIRD, [2])] });
  await sees(THIRD, 'RUNNING');
  engine.stops = new Promise(() => {});
  // No document names this container, and it ignores the stop.
  await reconciler.apply({ generation: 2, instances: [on(ID, [0]), on(OTHER, [2])] });
  await sees(ID, 'RUNNING');
  await expect.poll(() => reconciler.state.instances.find(({ id }) => id === OTHER)?.message).toMatch(/to stop$/);
  const whole = desiredInstance(LAST, 'running', { image: OWN_IMAGE, gpus: 1 });
  await reconciler.apply({ generation: 3, instances: [on(ID, [0]), whole] });
  await expect.poll(() => reconciler.state.instances.find(({ id }) => id === LAST)?.message).toMatch(/^waiting/);
  expect(engine.containers.get(LAST)).toBeUndefined();
});

it('the agent runs nothing in a container with the wrong GPU and blames the host', async () => {
  engine.device = '/dev/gpu-pretended1';
  await reconciler.apply({ generation: 1, instances: [on(ID, [2])] });
  expect(await sees(ID, 'FAILED')).toMatchObject({ message: 'the container has 0 of 1 GPUs', fault: 'host' });
  expect(engine.containers.get(ID)?.running).toBe(false);
  const gone = on(OTHER, [0], { gpuUuids: ['GPU-pretended-0', 'GPU-gone'] });
  await reconciler.apply({ generation: 2, instances: [gone] });
  const message = '1 of 2 GPUs are missing on this host: GPU-gone';
  expect(await sees(OTHER, 'FAILED')).toMatchObject({ message, fault: 'host' });
});

it('the agent reuses a probe of the whole host for its parts and probes CPU pinning', async () => {
  const [processor] = await findProcessors();
  await reconciler.apply({ generation: 1, instances: [on(ID, [0], { cpus: [processor] }), on(OTHER, [1, 2])] });
  await Promise.all([sees(ID, 'RUNNING'), sees(OTHER, 'RUNNING')]);
  expect(engine.cpus).toEqual(
    new Map([
      [ID, [processor]],
      [OTHER, null],
    ]),
  );
  expect([engine.probed, logged]).toEqual([1, []]);
  // The host lacked these processors when it was probed, so a second probe finds that they are missing.
  engine.refusesCpus = true;
  const instances = [on(THIRD, [3], { cpus: [4_000] }), on(LAST, [0], { cpus: [4_001] })];
  await reconciler.apply({ generation: 2, instances: [{ ...on(ID, [0]), phase: 'stopped' }, ...instances] });
  await Promise.all([sees(THIRD, 'RUNNING'), sees(LAST, 'RUNNING')]);
  expect([engine.cpus.get(THIRD), engine.cpus.get(LAST)]).toEqual([null, null]);
  expect(logged.filter((line) => line.includes("can't restrict containers to specific processors"))).toHaveLength(1);
});
