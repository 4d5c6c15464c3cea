import { type InstanceSample, MAX_INSTANCES, MAX_SAMPLE_AGE_SECONDS } from '../../agent-protocol/protocol.js';
import type { AgentClock } from '../clock.js';

/** Maximum samples to keep per instance, enough for one minute. */
const MAX_PENDING = 6;
const MS_PER_SECOND = 1_000;

export type Sample = Omit<InstanceSample, 'age'>;

interface Pending {
  sample: Sample;
  /** Unix time in milliseconds. */
  at: number;
}

/** Samples that no report has delivered yet. While the gateway is down, only the six newest per instance are kept. */
export class PendingSamples {
  readonly #pending = new Map<string, Pending[]>();

  constructor(private readonly clock: AgentClock) {}

  keep(sample: Sample, at: number): void {
    const pending = [...(this.#pending.get(sample.id) ?? []), { sample, at }];
    this.#pending.set(sample.id, pending.slice(-MAX_PENDING));
  }

  /**
   * Returns the samples for one report: those that are not too old, newest first, up to the maximum per report. Call
   * `done` once the report has been delivered or refused, so that they are not sent again.
   */
  unsent(): { samples: InstanceSample[]; done(): void } {
    const now = this.clock.now();
    const ageOf = ({ at }: Pending) => Math.floor((now - at) / MS_PER_SECOND);
    // Drops samples whose time is in the future, because the host's clock was set back and their age is unknown.
    this.#keepOnly((pending) => ageOf(pending) >= 0 && ageOf(pending) <= MAX_SAMPLE_AGE_SECONDS);
    const chosen = [...this.#pending.values()]
      .flat()
      .sort((one, other) => other.at - one.at)
      .slice(0, MAX_INSTANCES);
    const samples = chosen.map((pending) => ({ ...pending.sample, age: ageOf(pending) }));
    const sent = new Set(chosen);
    return { samples, done: () => this.#keepOnly((pending) => !sent.has(pending)) };
  }

  #keepOnly(mustKeep: (pending: Pending) => boolean): void {
    for (const [id, all] of this.#pending) {
      const rest = all.filter(mustKeep);
      if (rest.length === 0) this.#pending.delete(id);
      else this.#pending.set(id, rest);
    }
  }
}
