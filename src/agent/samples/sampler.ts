import type { GpuSample } from '../../agent-protocol/protocol.js';
import type { AgentClock } from '../clock.js';
import { type Processes, readProcesses } from '../cpu-time.js';
import type { Disks } from '../disks.js';
import type { Engine } from '../engine/engine.js';
import { type GpuLoad, readGpuLoads, readGpuProcesses } from '../gpus/load.js';
import type { HostVolumes } from '../volumes/host-volumes.js';
import { ContainerUsage, type Usage } from './container-usage.js';
import type { Sample } from './pending-samples.js';
import { Slots } from './slots.js';
import { withTimeLimit } from './time-limit.js';

/** Measurements that take longer are omitted from this sample, because the next one is due soon after. */
const ANSWERS_WITHIN_MS = 5_000;
const PERCENT = 100;

/** An instance that should run and whose container is up or has ended permanently. */
export interface UpInstance {
  id: string;
  start: number;
  vcpus: number;
  gpuUuids: readonly string[];
  /** The volume mounted at the instance's /workspace, or null if it uses its own disk. */
  workspaceVolume: string | null;
  /** Whether the command has ended permanently, so that nothing is running. */
  hasExited: boolean;
  /** Whether the instance is stopped when idle. */
  isWatched: boolean;
}

/** Measurements of one instance at one point in time. */
export interface Measurement {
  instance: UpInstance;
  /** Average number of processors in use since the previous measurement, or null if unknown. */
  processors: number | null;
  /** Load of each GPU, in the instance's order. A load is null if it is unknown. */
  gpus: readonly (GpuLoad | null)[];
}

export interface SamplerDeps {
  engine: Engine;
  disks: Pick<Disks, 'usedBytes'>;
  volumes: Pick<HostVolumes, 'usedBytes'>;
  clock: AgentClock;
  /** Whether the GPUs are simulated, so that processors are measured instead. */
  pretended: boolean;
  up(): readonly UpInstance[];
  keep(sample: Sample, at: number): void;
  onMeasured(measurements: readonly Measurement[]): void;
}

/** Data read once for all containers, and only if needed. */
interface Round {
  gpuLoads: Promise<readonly GpuLoad[] | null>;
  /** Number of compute processes by GPU UUID. */
  gpuProcesses: Promise<ReadonlyMap<string, number> | null>;
  processes(): Promise<Processes>;
}

/** Meters for one container, kept while its instance stays up within one start. */
interface Meters {
  start: number;
  usage(processes: Round['processes']): Promise<Usage | null>;
  diskUsedBytes(): Promise<number | null>;
}

/**
 * Measures the resource use of all instances concurrently, every 10 s. A source that does not respond is omitted
 * without delaying the others.
 */
export class Sampler {
  readonly #meters = new Map<string, Meters>();
  readonly slots: Slots;
  readonly #gpuLoads = withTimeLimit(readGpuLoads, ANSWERS_WITHIN_MS);
  readonly #gpuProcesses = withTimeLimit(readGpuProcesses, ANSWERS_WITHIN_MS);

  constructor(private readonly deps: SamplerDeps) {
    this.slots = new Slots(deps.clock);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.sample();
      await this.deps.clock.sleep(this.slots.untilNext(), signal);
    }
  }

  async sample(): Promise<void> {
    const slot = this.slots.take();
    const up = this.deps.up();
    const starts = new Map(up.map(({ id, start }) => [id, start]));
    for (const [id, { start }] of this.#meters) if (starts.get(id) !== start) this.#meters.delete(id);
    const round = this.#round(up);
    this.deps.onMeasured(await Promise.all(up.map((instance) => this.#measure(instance, slot, round))));
  }

  #round(up: readonly UpInstance[]): Round {
    const hasGpus = up.some(({ gpuUuids, hasExited }) => gpuUuids.length > 0 && !hasExited);
    const queriesDriver = hasGpus && !this.deps.pretended;
    let read: Promise<Processes> | undefined;
    return {
      gpuLoads: queriesDriver ? this.#gpuLoads() : Promise.resolve(null),
      gpuProcesses: queriesDriver ? this.#gpuProcesses() : Promise.resolve(null),
      processes: () => {
        read ??= readProcesses();
        return read;
      },
    };
  }

  async #measure(
    instance: UpInstance,
    slot: number,
    { gpuLoads, gpuProcesses, processes }: Round,
  ): Promise<Measurement> {
    if (instance.hasExited) return { instance, processors: 0, gpus: [] };
    const { usage: measure, diskUsedBytes: measureDisk } = this.#metersOf(instance);
    const [usage, diskUsedBytes, loads, counts] = await Promise.all([
      measure(processes),
      measureDisk(),
      gpuLoads,
      gpuProcesses,
    ]);
    const gpus = instance.gpuUuids.map((uuid) => loads?.find((load) => load.uuid === uuid) ?? null);
    // Nothing is known about the container: it may have ended, or the engine does not respond.
    if (usage === null && gpus.every((load) => load === null)) return { instance, processors: null, gpus };
    const cpuPercent = this.#cpuPercent(instance, usage);
    this.deps.keep(
      {
        id: instance.id,
        start: instance.start,
        slot,
        cpuPercent,
        memoryUsedBytes: usage?.memoryUsedBytes ?? null,
        diskUsedBytes,
        networkInBytesPerSecond: usage?.networkInBytesPerSecond ?? null,
        networkOutBytesPerSecond: usage?.networkOutBytesPerSecond ?? null,
        processes: usage?.processes ?? null,
        gpus: gpus.map((load, place) => ({
          place,
          ...gpuSample(load, this.deps.pretended ? cpuPercent : null),
          processes: load === null || counts === null ? null : (counts.get(load.uuid) ?? 0),
        })),
      },
      usage?.at ?? this.deps.clock.now(),
    );
    return { instance, processors: usage?.processors ?? null, gpus };
  }

  /**
   * Returns the CPU load as a percentage of the vCPUs that the instance may use. A host with fewer processors provides
   * fewer.
   */
  #cpuPercent({ vcpus }: UpInstance, usage: Usage | null): number | null {
    if (usage === null || usage.processors === null) return null;
    const share = usage.processors / Math.min(vcpus, this.deps.engine.info.cpus);
    return Math.min(PERCENT, toTenth(share * PERCENT));
  }

  #metersOf({ id, start, workspaceVolume }: UpInstance): Meters {
    const known = this.#meters.get(id);
    if (known !== undefined) return known;
    const { disks, volumes } = this.deps;
    const container = new ContainerUsage(id, this.deps);
    const meters: Meters = {
      start,
      usage: withTimeLimit((processes) => container.measure(processes), ANSWERS_WITHIN_MS),
      diskUsedBytes: withTimeLimit(
        () => (workspaceVolume === null ? disks.usedBytes(id) : volumes.usedBytes(workspaceVolume)),
        ANSWERS_WITHIN_MS,
      ),
    };
    this.#meters.set(id, meters);
    return meters;
  }
}

/** Converts a GPU's load to a sample. `busyPercent` is used if the driver reports nothing. */
function gpuSample(load: GpuLoad | null, busyPercent: number | null): Omit<GpuSample, 'place' | 'processes'> {
  return {
    busyPercent: load?.busyPercent ?? busyPercent,
    memoryUsedMb: rounded(load?.memoryUsedMb),
    memoryTotalMb: rounded(load?.memoryTotalMb),
    powerWatts: load?.powerWatts ?? null,
    celsius: load?.celsius ?? null,
    smMhz: load?.smMhz ?? null,
    faults: rounded(load?.faults),
  };
}

function rounded(value: number | null | undefined): number | null {
  return value === null || value === undefined ? null : Math.round(value);
}

function toTenth(value: number): number {
  return Math.round(value * 10) / 10;
}
