import type { Instant } from '../../../src/domain/kernel/time.js';
import type { Rental } from '../billing/naive-rows.js';

interface Seconds {
  from: Instant;
  to: Instant;
}

type Run = Rental['runs'][number];

/** A run that ended before it was seen running, with its credit if enough of the day's quota remains. */
interface Unrun extends Seconds {
  rental: Rental;
  run: Run;
}

/** Maximum seconds credited per account and UTC day for failed starts of templates. */
const DAY_SECONDS = 600n;
const SECONDS_PER_DAY = 86_400n;

/** The reports of hosts and the credit for what they didn't deliver. Shares no code with the service. */
export class NaiveService {
  /** The last heartbeat, whether it is known to be unreachable, and silences of more than 30 s, by machine. */
  readonly #hosts = new Map<
    string,
    { at: Instant; isDown: boolean; silences: { from: Instant; to: Instant | null }[] }
  >();
  /** When each run was seen running. Keyed by run, because a machine may have two rentals within a second. */
  readonly #runningAt = new Map<object, Instant>();
  readonly #hostFailed = new Set<object>();
  /** Runs that started before the agent had ended the same account's previous one, with the time of their request. */
  readonly #waits = new Map<object, Instant | null>();
  /** Rentals that the agent was requested to run and hasn't ended yet. */
  readonly #active = new Set<Rental>();
  readonly #asked = new Set<Rental>();
  readonly #erasedAt = new Map<Rental, Instant>();
  readonly #given = new Map<Rental, bigint>();

  join(machine: string, at: Instant): void {
    this.#hosts.set(machine, { at, isDown: false, silences: [] });
  }

  isDown(machine: string): boolean {
    return this.#hosts.get(machine)!.isDown;
  }

  /** Lets time pass without a heartbeat. */
  wait(now: Instant): void {
    for (const host of this.#hosts.values()) {
      if (host.isDown || now - host.at <= 30n) continue;
      host.isDown = true;
      host.silences.push({ from: host.at, to: null });
    }
  }

  heartbeat(machine: string, now: Instant): void {
    const host = this.#hosts.get(machine)!;
    if (host.isDown) host.silences.at(-1)!.to = now;
    else if (now - host.at > 30n) host.silences.push({ from: host.at, to: now });
    host.isDown = false;
    host.at = now;
  }

  /** Records that the rental starts to run. */
  begin(rental: Rental): void {
    const run = rental.runs.at(-1)!;
    for (const other of this.#active)
      if (other.machine === rental.machine && other.account === rental.account) this.#waits.set(run, null);
  }

  /** Records that the agent is requested to run the rental. */
  requestStart(rental: Rental, run: number, now: Instant): void {
    this.#active.add(rental);
    this.#asked.add(rental);
    const begun = rental.runs[run]!;
    if (this.#waits.get(begun) === null) this.#waits.set(begun, now);
  }

  /** Treats rentals that the agent was never requested to run as erased at the agent's next poll. */
  dropUnrequested(rentals: Iterable<Rental>, machine: string, now: Instant): void {
    for (const rental of rentals)
      if (rental.machine === machine && rental.to !== null && !this.#asked.has(rental)) this.sawErased(rental, now);
  }

  sawRunning(rental: Rental, run: number, now: Instant): void {
    const seen = rental.runs[run]!;
    if (!this.#runningAt.has(seen)) this.#runningAt.set(seen, now);
  }

  sawFail(rental: Rental, run: number, byHost: boolean): void {
    if (byHost) this.#hostFailed.add(rental.runs[run]!);
    this.#active.delete(rental);
  }

  sawStopped(rental: Rental): void {
    this.#active.delete(rental);
  }

  sawErased(rental: Rental, now: Instant): void {
    this.#active.delete(rental);
    if (!this.#erasedAt.has(rental)) this.#erasedAt.set(rental, now);
  }

  /**
   * Returns the new credit for each of an account's rentals since the last call. `idOf` orders rentals of the same
   * second.
   */
  owed(rentals: readonly Rental[], now: Instant, idOf: (rental: Rental) => string): Map<Rental, bigint> {
    const templates = this.#ofTemplates(rentals, now, idOf);
    return new Map(
      rentals.map((rental) => {
        let units = 0n;
        for (const run of rental.runs) {
          const silences = this.#silences(rental, run);
          const given = [...silences, ...this.#slow(rental, run, now), ...(templates.get(run) ?? [])];
          units += rental.gpuRate * secondsOf(given) + rental.diskRate * secondsOf(silences);
        }
        const given = this.#given.get(rental) ?? 0n;
        // The host was heard from again within the rental's last second, which was credited when the rental ended.
        const known = given - units === rental.gpuRate + rental.diskRate ? given : units;
        this.#given.set(rental, known);
        return [rental, known - given];
      }),
    );
  }

  #silences(rental: Rental, run: Run): Seconds[] {
    const silences: Seconds[] = [];
    for (const { from, to } of this.#hosts.get(rental.machine)!.silences) {
      const end = to === null ? run.to : run.to === null || to < run.to ? to : run.to;
      if (end !== null && end > max(from, run.from)) silences.push({ from: max(from, run.from), to: end });
    }
    return silences;
  }

  /** Returns when credit may begin: after the minimum of a start that preempted, and after waits for own containers. */
  #begin(rental: Rental, run: Run): Instant {
    let begin = run.from + run.least;
    const wait = this.#waits.get(run);
    if (wait !== undefined) begin = max(begin, wait ?? run.to ?? 1n << 60n);
    const runningAt = this.#runningAt.get(run);
    for (const [other, at] of this.#erasedAt) {
      const isOwn = other !== rental && other.account === rental.account && other.machine === rental.machine;
      if (isOwn && other.to! <= run.from + 1n && at > run.from && runningAt !== undefined && at <= runningAt)
        begin = max(begin, at);
    }
    return begin;
  }

  #ran(run: Run): boolean {
    const at = this.#runningAt.get(run);
    return at !== undefined && (run.to === null || at < run.to);
  }

  /** Credits the lag of a start, at most one second for each second that the run lasted. */
  #slow(rental: Rental, run: Run, now: Instant): Seconds[] {
    const isOver = run.to !== null && run.to < now;
    if (!this.#ran(run)) {
      if (run.to === null || !isOver || !this.#hostFailed.has(run)) return [];
      return [{ from: run.from + run.least, to: run.to }];
    }
    const runningAt = this.#runningAt.get(run)!;
    const begin = this.#begin(rental, run);
    const lag = runningAt > begin ? min(runningAt - begin, 600n) : 0n;
    const ran = max(min(run.to ?? now, now) - max(runningAt, run.from), 0n);
    if (!isOver && ran < lag) return [];
    return [{ from: begin, to: begin + min(lag, ran) }];
  }

  #ofTemplates(rentals: readonly Rental[], now: Instant, idOf: (rental: Rental) => string): Map<Run, Seconds[]> {
    const unrun: Unrun[] = [];
    for (const rental of rentals)
      for (const run of rental.runs) {
        if (run.to === null || run.to >= now || this.#ran(run) || this.#hostFailed.has(run)) continue;
        unrun.push({ rental, run, from: this.#begin(rental, run), to: run.to });
      }
    unrun.sort((a, b) =>
      a.to !== b.to ? (a.to < b.to ? -1 : 1) : a.rental === b.rental ? 0 : idOf(a.rental) < idOf(b.rental) ? -1 : 1,
    );
    const left = new Map<bigint, bigint>();
    const given = new Map<Run, Seconds[]>();
    for (const { run, from, to } of unrun) {
      const day = (to - 1n) / SECONDS_PER_DAY;
      const rest = left.get(day) ?? DAY_SECONDS;
      const seconds = to > from ? min(to - from, rest) : 0n;
      left.set(day, rest - seconds);
      given.set(run, [{ from, to: from + seconds }]);
    }
    return given;
  }
}

/** Returns how many seconds are in at least one of the stretches. */
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

function min(one: Instant, other: Instant): Instant {
  return one < other ? one : other;
}
