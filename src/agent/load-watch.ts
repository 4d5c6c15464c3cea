import type { GpuLoad } from './gpus/load.js';
import type { ObservedInstance } from './protocol.js';
import type { Look, UpInstance } from './samples/sampler.js';

/** Load above which a GPU is busy; where GPUs are simulated, one processor. */
const BUSY_ABOVE_PERCENT = 5;
const BUSY_ABOVE_PROCESSORS = BUSY_ABOVE_PERCENT / 100;

/** Null: not known. */
type Busy = boolean | null;

interface Noted {
  start: number;
  /** Combines the last look with earlier looks that are not reported yet. */
  busy: Busy;
  isTold: boolean;
}

export interface LoadWatchDeps {
  /** Whether the GPUs are simulated: processors then replace them. */
  pretended: boolean;
  up(): readonly UpInstance[];
}

/** Tracks whether instances are busy, for those that are stopped when idle. */
export class LoadWatch {
  readonly #noted = new Map<string, Noted>();

  constructor(private readonly deps: LoadWatchDeps) {}

  /** Takes one look at each instance that is up. */
  note(looks: readonly Look[]): void {
    const watched = looks.filter(({ instance }) => instance.isWatched);
    const known = new Set(watched.map(({ instance }) => instance.id));
    for (const id of this.#noted.keys()) if (!known.has(id)) this.#noted.delete(id);
    for (const look of watched) this.#note(look);
  }

  /** Adds the known load to the observed instances; call `told` once the report has arrived. */
  withLoad(observed: readonly ObservedInstance[]): { instances: ObservedInstance[]; told(): void } {
    const watched = this.deps.up().filter(({ isWatched }) => isWatched);
    const starts = new Map(watched.map(({ id, start }) => [id, start]));
    const used: Noted[] = [];
    const instances = observed.map((instance) => {
      const { id, start } = instance;
      const noted = this.#noted.get(id);
      if (starts.get(id) !== start || noted?.start !== start) return instance;
      used.push(noted);
      return noted.busy === null ? instance : { ...instance, busy: noted.busy };
    });
    const told = () => {
      for (const noted of used) noted.isTold = true;
    };
    return { instances, told };
  }

  #note(look: Look): void {
    const { id, start } = look.instance;
    const before = this.#noted.get(id);
    const last = before?.start === start ? before : null;
    const busy = this.#isBusy(look);
    const untold = last === null || last.isTold ? false : last.busy;
    this.#noted.set(id, { start, busy: either(busy, untold), isTold: false });
  }

  #isBusy({ instance, processors, gpus }: Look): Busy {
    if (instance.hasExited) return false;
    if (this.deps.pretended) return processors === null ? null : processors > BUSY_ABOVE_PROCESSORS;
    return busyOf(gpus);
  }
}

/** Whether one of the GPUs is busy; null when none is known to be busy and some are unknown. */
export function busyOf(gpus: readonly (Pick<GpuLoad, 'busyPercent'> | null)[]): Busy {
  if (gpus.length === 0) return null;
  const percents = gpus.map((gpu) => gpu?.busyPercent ?? null);
  return percents.map((percent) => (percent === null ? null : percent > BUSY_ABOVE_PERCENT)).reduce(either);
}

/** True if one is busy, false if both are idle. */
function either(one: Busy, other: Busy): Busy {
  if (one === true || other === true) return true;
  return one === null || other === null ? null : false;
}
