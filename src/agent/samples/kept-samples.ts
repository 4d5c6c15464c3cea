import type { AgentClock } from '../clock.js';
import { type InstanceSample, MAX_INSTANCES, MAX_SAMPLE_AGE_SECONDS } from '../protocol.js';

/** Maximum samples kept of one instance: a minute of them. */
const MAX_KEPT = 6;
const MS_PER_SECOND = 1_000;

export type Sample = Omit<InstanceSample, 'age'>;

interface Kept {
  sample: Sample;
  /** Milliseconds since 1970. */
  at: number;
}

/**
 * Samples that no report has delivered yet. While the gateway is down, at most the six newest of each instance are
 * kept.
 */
export class KeptSamples {
  readonly #kept = new Map<string, Kept[]>();

  constructor(private readonly clock: AgentClock) {}

  keep(sample: Sample, at: number): void {
    const kept = [...(this.#kept.get(sample.id) ?? []), { sample, at }];
    this.#kept.set(sample.id, kept.slice(-MAX_KEPT));
  }

  /**
   * Returns the samples for one report: those that are not too old, newest first, as many as a report may hold. Call
   * `done` once it has arrived, or was refused: they are not sent again.
   */
  untold(): { samples: InstanceSample[]; done(): void } {
    const now = this.clock.now();
    const ageOf = ({ at }: Kept) => Math.floor((now - at) / MS_PER_SECOND);
    // Samples with a time after the current one, from before the clock was set back, are dropped: their age is unknown.
    this.#keepOnly((kept) => ageOf(kept) >= 0 && ageOf(kept) <= MAX_SAMPLE_AGE_SECONDS);
    const told = [...this.#kept.values()]
      .flat()
      .sort((one, other) => other.at - one.at)
      .slice(0, MAX_INSTANCES);
    const samples = told.map((kept) => ({ ...kept.sample, age: ageOf(kept) }));
    const sent = new Set(told);
    return { samples, done: () => this.#keepOnly((kept) => !sent.has(kept)) };
  }

  #keepOnly(isKept: (kept: Kept) => boolean): void {
    for (const [id, all] of this.#kept) {
      const rest = all.filter(isKept);
      if (rest.length === 0) this.#kept.delete(id);
      else this.#kept.set(id, rest);
    }
  }
}
