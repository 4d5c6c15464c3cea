import type { Instant } from '../../src/domain/rules/time.js';
import type { Rental } from '../billing/naive-model.js';

interface Seconds {
  from: Instant;
  to: Instant;
}

/** What a host was heard to say, and what is owed for what it did not deliver. It shares no code with the service. */
export class NaiveService {
  /** By machine: the last heartbeat, whether it is known to be away, and its silences of more than 30 s. */
  readonly #heard = new Map<
    string,
    { at: Instant; isAway: boolean; silences: { from: Instant; to: Instant | null }[] }
  >();
  /** By run, as the naive model keeps it: a machine may have two rentals within a second. */
  readonly #runningAt = new Map<object, Instant>();
  readonly #failed = new Set<object>();
  readonly #given = new Map<Rental, bigint>();

  join(machine: string, at: Instant): void {
    this.#heard.set(machine, { at, isAway: false, silences: [] });
  }

  isAway(machine: string): boolean {
    return this.#heard.get(machine)!.isAway;
  }

  /** As time passes without a word. */
  wait(now: Instant): void {
    for (const host of this.#heard.values()) {
      if (host.isAway || now - host.at <= 30n) continue;
      host.isAway = true;
      host.silences.push({ from: host.at, to: null });
    }
  }

  hear(machine: string, now: Instant): void {
    const host = this.#heard.get(machine)!;
    if (host.isAway) host.silences.at(-1)!.to = now;
    else if (now - host.at > 30n) host.silences.push({ from: host.at, to: now });
    host.isAway = false;
    host.at = now;
  }

  sawRunning(rental: Rental, run: number, now: Instant): void {
    const seen = rental.runs[run]!;
    if (!this.#runningAt.has(seen)) this.#runningAt.set(seen, now);
  }

  sawFail(rental: Rental, run: number): void {
    this.#failed.add(rental.runs[run]!);
  }

  /** What has become owed for the rental since it was last asked. */
  owed(rental: Rental): bigint {
    let units = 0n;
    for (const run of rental.runs) {
      const silences: Seconds[] = [];
      for (const { from, to } of this.#heard.get(rental.machine)!.silences) {
        const end = to === null ? run.to : run.to === null || to < run.to ? to : run.to;
        if (end !== null && end > max(from, run.from)) silences.push({ from: max(from, run.from), to: end });
      }
      const runningAt = this.#runningAt.get(run);
      const until = [run.from + 600n, runningAt, run.to]
        .filter((at): at is bigint => at !== undefined && at !== null)
        .reduce((a, b) => (a < b ? a : b));
      const waited: Seconds[] = [];
      // Whoever sent another away pays for that much in any case.
      const from = run.from + run.least;
      if (runningAt === undefined && run.to !== null && this.#failed.has(run)) waited.push({ from, to: run.to });
      else if (runningAt !== undefined || run.to !== null) waited.push({ from, to: until });
      units += rental.gpuRate * secondsOf([...silences, ...waited]) + rental.diskRate * secondsOf(silences);
    }
    const owed = units - (this.#given.get(rental) ?? 0n);
    this.#given.set(rental, units);
    return owed;
  }
}

/** Seconds that lie in any of the stretches. */
function secondsOf(stretches: readonly Seconds[]): bigint {
  let [sum, end] = [0n, 0n];
  for (const { from, to } of [...stretches].sort((a, b) => (a.from < b.from ? -1 : 1))) {
    if (to > max(from, end)) sum += to - max(from, end);
    end = max(end, to);
  }
  return sum;
}

function max(one: Instant, other: Instant): Instant {
  return one > other ? one : other;
}
