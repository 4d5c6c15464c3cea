import { readFile } from 'node:fs/promises';
import type { AgentClock } from '../clock.js';
import { cpuSecondsOf, type Processes, readProcess } from '../cpu-time.js';
import type { Engine } from '../engine/engine.js';
import { mounts } from '../file-systems.js';
import { type ControlGroup, findControlGroup, readControlGroup } from './control-group.js';
import { type NetworkCounts, networkCountsOf } from './network.js';

const MS_PER_SECOND = 1_000;

/** A container's resource use. Rates are averages since the previous measurement, and null means unknown. */
export interface Usage {
  /** Time of the measurement, as Unix time in milliseconds. */
  at: number;
  /** Average number of processors in use. For example, 0.5 is half of one processor's time. */
  processors: number | null;
  memoryUsedBytes: number | null;
  networkInBytesPerSecond: number | null;
  networkOutBytesPerSecond: number | null;
  /** Includes threads. */
  processes: number | null;
}

/** One run of the container, identified by its first process. */
interface Run {
  pid: number;
  begunAt: number;
  group: ControlGroup;
}

/** Counts since the run began. */
interface Counts {
  run: Run;
  at: number;
  cpu: { seconds: number; by: 'group' | 'processes' } | null;
  network: NetworkCounts | null;
}

export interface ContainerUsageDeps {
  engine: Engine;
  clock: AgentClock;
}

/** Measures one container repeatedly, querying the engine only once per run. */
export class ContainerUsage {
  #run: Run | null = null;
  #before: Counts | null = null;

  constructor(
    readonly instanceId: string,
    private readonly deps: ContainerUsageDeps,
  ) {}

  /**
   * Returns null if the container is not running. `processes` returns the current processes, for a container whose CPU
   * time no control group counts.
   */
  async measure(processes: () => Promise<Processes>): Promise<Usage | null> {
    const run = await this.#current();
    if (run === null) return null;
    const [group, network] = await Promise.all([readControlGroup(run.group), networkCountsOf(run.pid)]);
    const cpu = await cpuOf(run, group.cpuSeconds, processes);
    const at = this.deps.clock.now();
    const now: Counts = { run, at, cpu, network };
    const before = this.#before?.run === run ? this.#before : null;
    this.#before = now;
    return {
      at,
      processors: before?.cpu?.by === now.cpu?.by ? perSecond(before, now, ({ cpu }) => cpu?.seconds) : null,
      memoryUsedBytes: group.memoryBytes,
      networkInBytesPerSecond: rounded(perSecond(before, now, (each) => each.network?.bytesIn)),
      networkOutBytesPerSecond: rounded(perSecond(before, now, (each) => each.network?.bytesOut)),
      processes: group.processes,
    };
  }

  async #current(): Promise<Run | null> {
    if (this.#run !== null && (await readProcess(this.#run.pid))?.begunAt === this.#run.begunAt) return this.#run;
    this.#run = null;
    const container = await this.deps.engine.inspect(this.instanceId);
    if (container === null || container.pid === null) return null;
    const { pid, engineId } = container;
    const [first, cgroup] = await Promise.all([readProcess(pid), readFile(`/proc/${pid}/cgroup`, 'utf8')]);
    if (first === null) return null;
    this.#run = { pid, begunAt: first.begunAt, group: findControlGroup(cgroup, await mounts(), engineId) };
    return this.#run;
  }
}

async function cpuOf(
  { pid }: Run,
  ofGroup: number | null,
  processes: () => Promise<Processes>,
): Promise<Counts['cpu']> {
  if (ofGroup !== null) return { seconds: ofGroup, by: 'group' };
  const seconds = cpuSecondsOf(await processes(), pid);
  return seconds === null ? null : { seconds, by: 'processes' };
}

/** Returns how fast a count grew, or null if one of the two is unknown or the host's clock was set back. */
function perSecond(before: Counts | null, now: Counts, countOf: (counts: Counts) => number | undefined): number | null {
  const [from, to] = [before === null ? undefined : countOf(before), countOf(now)];
  const seconds = before === null ? 0 : (now.at - before.at) / MS_PER_SECOND;
  if (from === undefined || to === undefined || seconds <= 0 || to < from) return null;
  return (to - from) / seconds;
}

function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value);
}
