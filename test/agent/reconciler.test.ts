import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type AgentClock, hostClock } from '../../src/agent/clock.js';
import { openDisks } from '../../src/agent/disks.js';
import {
  type Container,
  type ContainerDetail,
  type ContainerSpec,
  type Engine,
  EngineFault,
  PullFault,
} from '../../src/agent/engine/engine.js';
import type { ObservedInstance } from '../../src/agent/protocol.js';
import { Reconciler } from '../../src/agent/reconciler.js';
import { Registries } from '../../src/agent/registries.js';
import { SecretFiles } from '../../src/agent/secret-files.js';
import { StartRecords } from '../../src/agent/start-records.js';
import { wished } from './support/agent-process.js';

const ID = 'i-00000001';
const OTHER = 'i-00000002';
const MACHINE = 'm-test';
const OWN_IMAGE = 'own/image';
const FASTER = 100;

/** A hundred seconds of the agent's pauses and deadlines pass in one. */
const fastClock: AgentClock = {
  now: () => hostClock.now() * FASTER,
  sleep: (ms, signal) => hostClock.sleep(ms / FASTER, signal),
};

/** An engine that fails as no real one can be made to; it has every image but those of a registry. */
class FailingEngine implements Partial<Engine> {
  readonly containers = new Map<string, ContainerDetail>();
  /** Refuses to remove them. */
  readonly stuck = new Set<string>();
  /** Refuses to start what is none of these: a container that only tries the host, one of an instance. */
  starts = { probe: true, instance: true };
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

  async create({ instanceId, machineId, start }: ContainerSpec): Promise<void> {
    if (start === null) this.#probes.add(instanceId);
    const devices = { nodes: [], requested: [] };
    const made = { instanceId, machineId, running: false, pid: null, exitCode: null, startedAt: '', imagePorts: [] };
    this.containers.set(instanceId, { ...made, devices });
  }

  async start(id: string): Promise<void> {
    if (!this.starts[this.#probes.has(id) ? 'probe' : 'instance']) throw new EngineFault('refused', 'no start today');
    this.containers.get(id)!.running = true;
  }

  async remove(id: string): Promise<void> {
    if (this.stuck.has(id)) throw new EngineFault('refused', 'its layer is in use');
    this.containers.delete(id);
  }

  async stop(id: string): Promise<void> {
    this.containers.get(id)!.running = false;
  }

  async pull(_image: string, _login: unknown, _onProgress: unknown, signal: AbortSignal): Promise<void> {
    await fastClock.sleep(this.pullSeconds * 1_000, signal);
    throw new PullFault('the registry does not answer', { words: 'i/o timeout' });
  }
}

let dataDir: string;
let engine: FailingEngine;
let reconciler: Reconciler;
let running: Promise<void>;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'reconciler-'));
  engine = new FailingEngine();
  reconciler = new Reconciler({
    engine: engine as Partial<Engine> as Engine,
    disks: openDisks(dataDir, 'none'),
    gpus: { found: [], look: async () => true, uuids: () => [], grant: async () => null, given: () => [] },
    clock: fastClock,
    log: pino({ level: 'silent' }),
    machineId: MACHINE,
    stopSeconds: 1,
    registries: new Registries(['registry.example']),
    ownImages: new Set([OWN_IMAGE]),
    pullLimits: { seconds: 100, kbPerSecond: 0 },
    secretFiles: new SecretFiles(dataDir),
    records: new StartRecords(dataDir),
    secretsOf: () => Promise.reject(new Error('there are none')),
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

it('a container that can’t be erased keeps nobody else from starting', async () => {
  await engine.create({ instanceId: OTHER, machineId: MACHINE, start: 1 } as ContainerSpec);
  engine.stuck.add(OTHER);
  const instances = [wished(OTHER, 'absent'), wished(ID, 'running', { image: OWN_IMAGE })];
  await reconciler.apply({ generation: 1, instances });
  await sees(ID, 'RUNNING');
  expect(await sees(OTHER, 'STOPPING')).toMatchObject({ message: 'its layer is in use' });
});

it('a host is tried anew after an image that did not start: it may be what broke since', async () => {
  const image = { image: OWN_IMAGE };
  engine.starts.instance = false;
  await reconciler.apply({ generation: 1, instances: [wished(ID, 'running', image)] });
  expect(await sees(ID, 'FAILED')).toMatchObject({ start: 1, fault: 'image' });
  engine.starts.probe = false;
  await reconciler.apply({ generation: 2, instances: [wished(ID, 'running', { ...image, start: 2 })] });
  await expect.poll(() => reconciler.state.instances[0]).toMatchObject({ start: 2, phase: 'FAILED', fault: 'host' });
});

it('all pulls of a start have one deadline, however each of them ends', async () => {
  engine.pullSeconds = 40;
  await reconciler.apply({ generation: 1, instances: [wished(ID, 'running', { image: 'registry.example/a' })] });
  expect(await sees(ID, 'FAILED')).toMatchObject({
    message: 'the image was not pulled within 100 s',
    fault: 'image',
  });
});
