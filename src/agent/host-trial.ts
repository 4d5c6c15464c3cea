import type { Logger } from 'pino';
import type { DesiredInstance } from '../agent-protocol/protocol.js';
import type { AgentClock } from './clock.js';
import { type Engine, EngineFault } from './engine/engine.js';
import { leastProgram } from './engine/least-program.js';
import { type GpuAccess, MissingGpus, type WantedGpus, wrongGpus } from './gpus/gpu-access.js';

/**
 * The name includes a registry, so that no other image can have it. The result of running this image decides whether
 * the host is at fault.
 */
const IMAGE = 'localhost/gpu-rental-probe';
/** Time to trust a host that passed a trial, unless an image fails to start. */
const TRUSTED_MS = 600_000;

/** The parts of an instance's desired state used by a trial. */
export type Tried = WantedGpus & Pick<DesiredInstance, 'cpus' | 'vcpus' | 'memoryMb'>;

export interface HostTrialDeps {
  engine: Engine;
  gpus: GpuAccess;
  /** Whether containers may mount FUSE file systems. */
  allowsFuse: boolean;
  clock: AgentClock;
  log: Logger;
  machineId: string;
}

/** A passed trial, which also covers any subset of its GPUs and processors. */
interface Passed {
  at: number;
  uuids: readonly string[];
  cpus: readonly number[];
  /** Whether the engine kept the container on its processors. */
  isPinned: boolean;
}

/**
 * Tests a host without using anything supplied by a renter. It runs the agent's own program with a container's GPUs,
 * limits and network.
 */
export class HostTrial {
  #passed: Passed[] = [];
  #isUnpinnedLogged = false;

  constructor(private readonly deps: HostTrialDeps) {}

  /**
   * Returns whether the engine keeps containers on their processors. Rejects with MissingGpus or the engine's error if
   * the host fails the trial. Skips the trial if there is no program for the processor's architecture.
   */
  async pass(tried: Tried): Promise<boolean> {
    const now = this.deps.clock.now();
    const uuids = this.deps.gpus.uuids(tried);
    const { cpus = [] } = tried;
    this.#passed = this.#passed.filter(({ at }) => now - at < TRUSTED_MS);
    const before = this.#passed.find((passed) => isPartOf(uuids, passed.uuids) && isPartOf(cpus, passed.cpus));
    if (before !== undefined && uuids.length >= tried.gpus) return before.isPinned;
    const program = leastProgram(process.arch);
    const isPinned = program === null || (await this.#runPinned(program, tried));
    this.#passed.push({ at: this.deps.clock.now(), uuids: this.deps.gpus.uuids(tried), cpus, isPinned });
    return isPinned;
  }

  forget(): void {
    this.#passed = [];
  }

  /**
   * Runs the program on its processors. If that fails but it runs without pinning, the engine can't assign processors,
   * as with some rootless engines.
   */
  async #runPinned(program: Buffer, tried: Tried): Promise<boolean> {
    const { cpus = [] } = tried;
    try {
      await this.#run(program, tried, cpus.length > 0 ? cpus : null);
      return true;
    } catch (error) {
      const isUnreachable = error instanceof EngineFault && error.kind === 'unreachable';
      if (cpus.length === 0 || isUnreachable || error instanceof MissingGpus) throw error;
      await this.#run(program, tried, null);
      const { message } = error as Error;
      if (!this.#isUnpinnedLogged)
        this.deps.log.warn({ message }, "the engine can't restrict containers to specific processors");
      this.#isUnpinnedLogged = true;
      return false;
    }
  }

  async #run(program: Buffer, tried: Tried, cpus: readonly number[] | null): Promise<void> {
    const { engine, machineId, gpus, allowsFuse } = this.deps;
    const instanceId = `probe-${machineId}`;
    const imageId = (await engine.imageId(`${IMAGE}:latest`)) ?? (await engine.importProgram(IMAGE, program));
    // May have been left behind by an agent that was killed.
    await engine.remove(instanceId);
    const limits = { vcpus: tried.vcpus, memoryMb: tried.memoryMb, cpus };
    const spec = {
      ...limits,
      machineId,
      gpus: await gpus.grant(tried),
      fuse: allowsFuse,
      user: null,
      workspace: null,
      volumes: [],
      secrets: null,
      quotaGb: null,
    };
    try {
      await engine.create({
        ...spec,
        instanceId,
        imageId,
        entrypoint: null,
        command: ['/program'],
        env: {},
        start: null,
      });
      await engine.prepare(instanceId);
      const container = await engine.inspect(instanceId);
      if (container === null) throw new EngineFault('missing', 'the container is missing after its creation');
      const wrong = wrongGpus(gpus, tried, container);
      if (wrong !== null) throw new MissingGpus(wrong);
      await engine.start(instanceId);
    } finally {
      await engine.remove(instanceId);
    }
  }
}

function isPartOf<T>(some: readonly T[], all: readonly T[]): boolean {
  return some.every((each) => all.includes(each));
}
