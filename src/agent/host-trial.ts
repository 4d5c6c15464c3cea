import type { AgentClock } from './clock.js';
import { type ContainerDetail, type Engine, EngineFault, type GpuGrant } from './engine/engine.js';
import { leastProgram } from './engine/least-program.js';
import type { GpuAccess } from './gpus/gpu-access.js';

/** With a registry's name, so that no other image has it: whether a host is at fault hangs on what is run here. */
const IMAGE = 'localhost/gpu-rental-probe';
/** A host that was tried is trusted for so long, until an image does not start. */
const TRUSTED_MS = 600_000;

export interface HostTrialDeps {
  engine: Engine;
  gpus: GpuAccess;
  clock: AgentClock;
  machineId: string;
}

/** The host, or the container that the engine made, does not have the GPUs that were rented. */
export class MissingGpus extends Error {}

/** Why a container does not have so many GPUs; null when it has. */
export function missingGpus(access: GpuAccess, gpus: number, container: ContainerDetail): string | null {
  const given = access.given(container);
  return given < gpus ? `the container has ${given} of ${gpus} GPUs` : null;
}

/** Tries a host without anything of a renter's: runs the agent's own program with GPUs, limits and network of a container. */
export class HostTrial {
  /** When the host passed, by the GPUs that it was tried with. */
  readonly #passed = new Map<number, number>();

  constructor(private readonly deps: HostTrialDeps) {}

  /** Rejects with MissingGpus or the engine's fault where the host fails. On a processor without a program nothing is tried. */
  async pass(gpus: number, limits: { vcpus: number; memoryMb: number }): Promise<void> {
    const { clock } = this.deps;
    const before = this.#passed.get(gpus);
    if (before !== undefined && clock.now() - before < TRUSTED_MS) return;
    const program = leastProgram(process.arch);
    if (program !== null) await this.#run(program, gpus, limits);
    this.#passed.set(gpus, clock.now());
  }

  forget(): void {
    this.#passed.clear();
  }

  async #run(program: Buffer, gpus: number, limits: { vcpus: number; memoryMb: number }): Promise<void> {
    const { engine, machineId } = this.deps;
    const instanceId = `probe-${machineId}`;
    const imageId = (await engine.imageId(`${IMAGE}:latest`)) ?? (await engine.importProgram(IMAGE, program));
    // One that an agent left which was killed.
    await engine.remove(instanceId);
    const spec = { ...limits, machineId, gpus: this.#grant(gpus), workspace: null, secrets: null, quotaGb: null };
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
      if (container === null) throw new EngineFault('missing', 'what was created is not there');
      const missing = missingGpus(this.deps.gpus, gpus, container);
      if (missing !== null) throw new MissingGpus(missing);
      await engine.start(instanceId);
    } finally {
      await engine.remove(instanceId);
    }
  }

  #grant(gpus: number): GpuGrant | null {
    const grant = gpus === 0 ? null : this.deps.gpus.grant(gpus);
    if (gpus > 0 && grant === null) throw new MissingGpus(`this host does not have ${gpus} GPUs to give`);
    return grant;
  }
}
