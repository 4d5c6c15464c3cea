import { randomBytes } from 'node:crypto';
import type { Hardware, InstanceSample, ObservedInstance, Report } from '../../src/agent-protocol/protocol.js';
import type { Deps } from '../../src/compose/deps.js';
import { enrol, join } from '../../src/domain/fleet/enrolment.js';
import { markUnreachable } from '../../src/domain/fleet/heartbeats.js';
import { recordReport } from '../../src/domain/fleet/observations.js';
import { settleService } from '../../src/domain/fleet/service-credits.js';

export function hardware(changes: Partial<Hardware> = {}): Hardware {
  const gpu = {
    uuid: `GPU-${randomBytes(8).toString('hex')}`,
    name: 'NVIDIA GeForce RTX 4090',
    vramMb: 24_564,
    pcieGen: 4,
  };
  return {
    hostname: 'host-1',
    cpu: 'AMD EPYC 9354',
    vcpus: 32,
    ramGb: 128,
    diskGb: 1_000,
    diskLimit: 'volume',
    engine: { name: 'podman', version: '4.3.1' },
    driver: '570.00',
    cudaMax: '12.8',
    gpus: [{ index: 0, ...gpu }],
    nvlink: false,
    pretended: false,
    ...changes,
  };
}

export function seen(
  id: string,
  phase: ObservedInstance['phase'],
  changes: Partial<ObservedInstance> = {},
): ObservedInstance {
  return {
    id,
    phase,
    start: 1,
    pulledBytes: null,
    totalBytes: null,
    message: null,
    exitCode: null,
    restarts: 0,
    ...changes,
  };
}

/** Returns a sample of an idle container with one GPU. */
export function sampled(id: string, changes: Partial<InstanceSample> = {}): InstanceSample {
  return {
    id,
    start: 1,
    age: 0,
    cpuPercent: 0,
    memoryUsedBytes: 0,
    diskUsedBytes: null,
    networkInBytesPerSecond: 0,
    networkOutBytesPerSecond: 0,
    processes: 1,
    gpus: [gpuSampled()],
    ...changes,
  };
}

export function gpuSampled(changes: Partial<InstanceSample['gpus'][number]> = {}): InstanceSample['gpus'][number] {
  return {
    place: 0,
    busyPercent: 0,
    memoryUsedMb: 0,
    memoryTotalMb: 24_564,
    powerWatts: 20,
    celsius: 30,
    smMhz: 210,
    faults: null,
    processes: 0,
    ...changes,
  };
}

/** A machine's agent as seen by the domain. It reports what the test sets. */
export class TestAgent {
  readonly #deps: Deps;
  readonly machineId: string;
  readonly token: string;
  session = randomBytes(8).toString('hex');
  sequence = 0;
  generation = 0;

  private constructor(deps: Deps, machineId: string, token: string) {
    this.#deps = deps;
    this.machineId = machineId;
    this.token = token;
  }

  static async join(deps: Deps, found: Partial<Hardware> = {}, machineId: string | null = null): Promise<TestAgent> {
    const input = { machineId, gpu: null, region: 'us-tx', online: true, demo: false };
    const { code } = await enrol(deps, input);
    const answer = await join(deps, code, hardware(found));
    const agent = new TestAgent(deps, answer.machineId, answer.token);
    await agent.report();
    return agent;
  }

  /** Fetches the newest document. */
  async fetch() {
    const state = (await this.#deps.fleet.desired.current(this.machineId))!;
    this.generation = state.generation;
    return state;
  }

  buildReport(instances: ObservedInstance[] = [], changes: Partial<Report> = {}): Report {
    this.sequence += 1;
    const { session, sequence, generation } = this;
    return {
      protocol: 2,
      session,
      sequence,
      generation,
      instances,
      unknown: [],
      engine: 'ok',
      launches: true,
      loads: true,
      users: true,
      ...changes,
    };
  }

  /** Sends a report and writes the heartbeat. */
  async report(instances: ObservedInstance[] = [], changes: Partial<Report> = {}): Promise<void> {
    await recordReport(this.#deps, this.machineId, this.buildReport(instances, changes));
    await this.#deps.fleet.heartbeats.flush();
    await this.#deps.db.notices.caughtUp();
  }
}

/** Runs a gateway's background tasks once. */
export async function tick(deps: Deps): Promise<void> {
  await markUnreachable(deps.db, deps.clock.now());
  await settleService(deps);
  await deps.db.notices.caughtUp();
}
