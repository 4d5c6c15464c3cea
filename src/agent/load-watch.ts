import type { AgentClock } from './clock.js';
import { cpuSecondsOf } from './cpu-time.js';
import type { Engine } from './engine/engine.js';
import { type GpuLoad, readGpuLoads } from './gpus/load.js';
import type { ObservedInstance } from './protocol.js';

export const SAMPLE_EVERY_MS = 10_000;
/** Of a GPU; where GPUs are simulated, of one processor. */
const BUSY_ABOVE_PERCENT = 5;
const MS_PER_SECOND = 1_000;

/** An instance that is to be stopped when it is idle. */
export interface WatchedInstance {
  id: string;
  start: number;
  gpuUuids: readonly string[];
  /** Its command has ended for good: nothing of it runs. */
  hasExited: boolean;
}

/** Null: not known. */
type Busy = boolean | null;

interface Sample {
  start: number;
  /** In this sample, and in those before that no report has told of. */
  busy: Busy;
  isTold: boolean;
  /** Of simulated GPUs: what its processes had used, and when, in milliseconds. */
  used: { cpuSeconds: number; at: number } | null;
}

export interface LoadWatchDeps {
  engine: Engine;
  clock: AgentClock;
  /** The GPUs are simulated: processors stand for them. */
  pretended: boolean;
  watched(): readonly WatchedInstance[];
  /** Something became busy that was not: whoever waits to stop it ought to hear at once. */
  becameBusy(): void;
}

/** Looks every 10 s whether the instances are busy that are to be stopped when they are not. Asks nobody while there are none. */
export class LoadWatch {
  readonly #samples = new Map<string, Sample>();

  constructor(private readonly deps: LoadWatchDeps) {}

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.sample();
      await this.deps.clock.sleep(SAMPLE_EVERY_MS, signal);
    }
  }

  async sample(): Promise<void> {
    const watched = this.deps.watched();
    const known = new Set(watched.map(({ id }) => id));
    for (const id of this.#samples.keys()) if (!known.has(id)) this.#samples.delete(id);
    if (watched.length === 0) return;
    const loads = this.deps.pretended ? null : await readGpuLoads();
    for (const instance of watched) await this.#note(instance, loads);
  }

  /** What is observed, with what is known of its load; call `told` once it has arrived. */
  withLoad(observed: readonly ObservedInstance[]): { instances: ObservedInstance[]; told(): void } {
    const watched = new Map(this.deps.watched().map((instance) => [instance.id, instance]));
    const used: Sample[] = [];
    const instances = observed.map((instance) => {
      const { id, start } = instance;
      const sample = this.#samples.get(id);
      if (watched.get(id)?.start !== start || sample?.start !== start) return instance;
      used.push(sample);
      return sample.busy === null ? instance : { ...instance, busy: sample.busy };
    });
    const told = () => {
      for (const sample of used) sample.isTold = true;
    };
    return { instances, told };
  }

  async #note(instance: WatchedInstance, loads: readonly GpuLoad[] | null): Promise<void> {
    const { id, start } = instance;
    const before = this.#samples.get(id);
    const last = before?.start === start ? before : null;
    const { busy, used } = await this.#look(instance, loads, last);
    const untold = last === null || last.isTold ? false : last.busy;
    this.#samples.set(id, { start, busy: either(busy, untold), isTold: false, used });
    if (busy === true && last?.busy !== true) this.deps.becameBusy();
  }

  async #look(
    { id, gpuUuids, hasExited }: WatchedInstance,
    loads: readonly GpuLoad[] | null,
    last: Sample | null,
  ): Promise<Pick<Sample, 'busy' | 'used'>> {
    if (hasExited) return { busy: false, used: null };
    if (!this.deps.pretended) return { busy: busyOf(gpuUuids, loads), used: null };
    const container = await this.deps.engine.inspect(id).catch(() => null);
    const cpuSeconds = container?.pid ? await cpuSecondsOf(container.pid) : null;
    const used = cpuSeconds === null ? null : { cpuSeconds, at: this.deps.clock.now() };
    return { busy: isBusyBetween(last?.used ?? null, used), used };
  }
}

/** Whether one of the GPUs is busy; null where that is not known of each, and none is known to be. */
export function busyOf(uuids: readonly string[], loads: readonly GpuLoad[] | null): Busy {
  if (uuids.length === 0) return null;
  const percents = uuids.map((uuid) => loads?.find((load) => load.uuid === uuid)?.busyPercent ?? null);
  const busy = percents.map((percent) => (percent === null ? null : percent > BUSY_ABOVE_PERCENT));
  return busy.reduce(either);
}

function isBusyBetween(before: Sample['used'], now: Sample['used']): Busy {
  if (before === null || now === null) return null;
  const seconds = (now.at - before.at) / MS_PER_SECOND;
  const used = now.cpuSeconds - before.cpuSeconds;
  // The host's clock was set, or the container was started anew.
  if (seconds <= 0 || used < 0) return null;
  return (used / seconds) * 100 > BUSY_ABOVE_PERCENT;
}

/** Busy if one is, not busy if both are not. */
function either(one: Busy, other: Busy): Busy {
  if (one === true || other === true) return true;
  return one === null || other === null ? null : false;
}
