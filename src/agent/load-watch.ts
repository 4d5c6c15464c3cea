import type { ObservedInstance } from '../agent-protocol/protocol.js';
import type { GpuLoad } from './gpus/load.js';
import type { Measurement, UpInstance } from './samples/sampler.js';

/** Load above which a GPU is busy. With simulated GPUs, the limit applies to one processor. */
const BUSY_ABOVE_PERCENT = 5;
const BUSY_ABOVE_PROCESSORS = BUSY_ABOVE_PERCENT / 100;

/** Null if unknown. */
type Busy = boolean | null;

interface LoadRecord {
  start: number;
  /** Combines the last measurement with earlier ones that have not been reported yet. */
  busy: Busy;
  isReported: boolean;
}

export interface LoadWatchDeps {
  /** Whether the GPUs are simulated, so that processors are measured instead. */
  pretended: boolean;
  up(): readonly UpInstance[];
}

/** Tracks whether the instances that are stopped when idle are busy. */
export class LoadWatch {
  readonly #records = new Map<string, LoadRecord>();

  constructor(private readonly deps: LoadWatchDeps) {}

  /** Records one measurement of each instance that is up. */
  record(measurements: readonly Measurement[]): void {
    const watched = measurements.filter(({ instance }) => instance.isWatched);
    const known = new Set(watched.map(({ instance }) => instance.id));
    for (const id of this.#records.keys()) if (!known.has(id)) this.#records.delete(id);
    for (const measurement of watched) this.#record(measurement);
  }

  /** Adds the known load to the observed instances. Call `markReported` once the report has arrived. */
  withLoad(observed: readonly ObservedInstance[]): { instances: ObservedInstance[]; markReported(): void } {
    const watched = this.deps.up().filter(({ isWatched }) => isWatched);
    const starts = new Map(watched.map(({ id, start }) => [id, start]));
    const used: LoadRecord[] = [];
    const instances = observed.map((instance) => {
      const { id, start } = instance;
      const record = this.#records.get(id);
      if (starts.get(id) !== start || record?.start !== start) return instance;
      used.push(record);
      return record.busy === null ? instance : { ...instance, busy: record.busy };
    });
    const markReported = () => {
      for (const record of used) record.isReported = true;
    };
    return { instances, markReported };
  }

  #record(measurement: Measurement): void {
    const { id, start } = measurement.instance;
    const before = this.#records.get(id);
    const last = before?.start === start ? before : null;
    const busy = this.#isBusy(measurement);
    const unreported = last === null || last.isReported ? false : last.busy;
    this.#records.set(id, { start, busy: either(busy, unreported), isReported: false });
  }

  #isBusy({ instance, processors, gpus }: Measurement): Busy {
    if (instance.hasExited) return false;
    if (this.deps.pretended) return processors === null ? null : processors > BUSY_ABOVE_PROCESSORS;
    return busyOf(gpus);
  }
}

/** Returns whether one of the GPUs is busy, or null if none is known to be busy and some are unknown. */
export function busyOf(gpus: readonly (Pick<GpuLoad, 'busyPercent'> | null)[]): Busy {
  if (gpus.length === 0) return null;
  const percents = gpus.map((gpu) => gpu?.busyPercent ?? null);
  return percents.map((percent) => (percent === null ? null : percent > BUSY_ABOVE_PERCENT)).reduce(either);
}

/** Returns true if either is busy, false if both are idle, and otherwise null. */
function either(one: Busy, other: Busy): Busy {
  if (one === true || other === true) return true;
  return one === null || other === null ? null : false;
}
