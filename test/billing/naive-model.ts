import type { Clock, Instant } from '../../src/domain/rules/time.js';

/**
 * The billing rules once more, as plainly as can be: lists of what happened, sums over all of them at every look, and a
 * search by halves for the second at which credit ran out. It shares no code with the service.
 */
type Mode = 'ON_DEMAND' | 'INTERRUPTIBLE' | 'RESERVED';

/** What happens in it: begins at `at`, ends at `end`. */
interface Second {
  at: Instant;
  end: Instant;
}

interface Run {
  from: Instant;
  to: Instant | null;
  /** Seconds that are paid for in any case. */
  least: bigint;
}

export interface Rental {
  account: Renter;
  machine: string;
  mode: Mode;
  gpuRate: bigint;
  diskRate: bigint;
  discount: bigint;
  from: Instant;
  runs: Run[];
  to: Instant | null;
  /** What was charged at once: an early exit, the rests of minimums. */
  charges: { at: Instant; units: bigint }[];
  why: string | null;
}

interface Renter {
  credits: { at: Instant; units: bigint }[];
  rentals: Rental[];
  exhaustedAt: Instant | null;
  /** Top-up payments that were paid in. */
  transactions: Set<string>;
  /** The last second in which something was written for the account. */
  written: Instant;
}

const HOUR = 3_600n;
/** Of GPU, for sending another instance away. */
const LEAST = 60n;
const SHARE: Record<Mode, bigint> = { ON_DEMAND: 100n, INTERRUPTIBLE: 50n, RESERVED: 65n };

export class NaiveModel {
  readonly renters: Renter[] = [];
  readonly #clock: Clock;
  readonly #grace: bigint;

  constructor(clock: Clock, grace: bigint) {
    this.#clock = clock;
    this.#grace = grace;
  }

  join(creditUnits: bigint): void {
    const at = this.#clock.now();
    this.renters.push({
      credits: [{ at, units: creditUnits }],
      rentals: [],
      exhaustedAt: null,
      transactions: new Set(),
      written: at,
    });
  }

  spend(renter: Renter, at: Instant): bigint {
    return renter.rentals.reduce((sum, rental) => {
      const charged = rental.charges.reduce((units, charge) => units + (charge.at <= at ? charge.units : 0n), 0n);
      return sum + rental.gpuRate * gpuSeconds(rental, at) + rental.diskRate * overlap(rental, at) + charged;
    }, 0n);
  }

  credit(renter: Renter): bigint {
    return renter.credits.reduce((sum, { units }) => sum + units, 0n);
  }

  /** Lets happen what fell due before the second of the clock; returns what the renters are seen at. */
  look(...renters: Renter[]): Instant {
    return max(this.#second(renters).at, ...renters.map(({ written }) => written));
  }

  /**
   * The second in which something is done, and its end: what begins takes the second, what ends takes the rest of it.
   * It is never before what was written for those concerned, or sold of the machine, but for the second it ended.
   */
  #second(renters: readonly Renter[], machine?: string): Second {
    const ms = BigInt(this.#clock.nowMs());
    const known = max(this.#sold(machine), ...renters.map(({ written }) => written)) - 1n;
    const clock = { at: ms / 1_000n, end: (ms + 999n) / 1_000n };
    const second = clock.at < known ? { at: known, end: known + 1n } : clock;
    for (const renter of renters) this.#settle(renter, second.at);
    return second;
  }

  /** The end of the last second that was sold of the machine. */
  #sold(machine: string | undefined): Instant {
    const rentals = this.renters.flatMap((renter) => renter.rentals).filter((rental) => rental.machine === machine);
    return max(0n, ...rentals.flatMap(({ runs }) => runs.map(({ to }) => to ?? 0n)));
  }

  #settle(renter: Renter, now: Instant): void {
    if (renter.exhaustedAt === null) {
      const at = this.#exhaustion(renter, now);
      if (at === null) return;
      const then = { at, end: at };
      for (const rental of live(renter)) if (isRunning(rental)) this.#halt(rental, then, 'BALANCE_EXHAUSTED');
      renter.exhaustedAt = at;
      renter.written = max(renter.written, at);
    }
    const end = renter.exhaustedAt + this.#grace;
    if (end >= now || live(renter).length === 0) return;
    for (const rental of live(renter)) this.#end(rental, { at: end, end }, 'BALANCE_EXHAUSTED');
  }

  /** The first second before `now`, from the last write on, whose balance is zero or less. */
  #exhaustion(renter: Renter, now: Instant): Instant | null {
    const isDry = (at: Instant) => this.#isDry(renter, at);
    if (live(renter).length === 0 || renter.written >= now || !isDry(now - 1n)) return null;
    let [wet, dry] = [renter.written - 1n, now - 1n];
    while (dry - wet > 1n) {
      const middle = (wet + dry) / 2n;
      if (isDry(middle)) dry = middle;
      else wet = middle;
    }
    return dry;
  }

  #isDry(renter: Renter, at: Instant): boolean {
    return this.credit(renter) - this.spend(renter, at) <= 0n;
  }

  deploy(renter: Renter, machine: string, onDemandRate: bigint, mode: Mode, diskRate: bigint): boolean {
    const holder = this.holder(machine);
    const second = this.#second([...new Set([renter, ...(holder ? [holder.account] : [])])], machine);
    const gpuRate = (onDemandRate * SHARE[mode]) / 100n;
    const preempted = this.#claim(renter, machine, mode, gpuRate + diskRate, second.at);
    if (preempted === false) return false;
    if (preempted) this.#halt(preempted, second, 'PREEMPTED');
    const run = this.#run(machine, second, preempted !== null);
    const discount = onDemandRate - gpuRate;
    const made = {
      account: renter,
      machine,
      mode,
      gpuRate,
      diskRate,
      discount,
      from: second.at,
      runs: [run],
      to: null,
      charges: [],
      why: null,
    };
    renter.rentals.push(made);
    renter.written = max(renter.written, run.from);
    return true;
  }

  /** A second that is sold is not sold again: the run begins after it. */
  #run(machine: string, { at }: Second, preempts: boolean): Run {
    return { from: max(at, this.#sold(machine)), to: null, least: preempts ? LEAST : 0n };
  }

  start(rental: Rental): boolean {
    const renter = rental.account;
    const holder = this.holder(rental.machine);
    const second = this.#second([...new Set([renter, ...(holder ? [holder.account] : [])])], rental.machine);
    if (rental.to !== null || isRunning(rental)) return false;
    const preempted = this.#claim(renter, rental.machine, rental.mode, rental.gpuRate, second.at);
    if (preempted === false) return false;
    if (preempted) this.#halt(preempted, second, 'PREEMPTED');
    const run = this.#run(rental.machine, second, preempted !== null);
    rental.runs.push(run);
    rental.why = null;
    renter.written = max(renter.written, run.from);
    return true;
  }

  stop(rental: Rental): boolean {
    const second = this.#second([rental.account]);
    if (!isRunning(rental)) return false;
    this.#halt(rental, second, 'USER');
    return true;
  }

  /** The container could not be started. */
  fail(rental: Rental): void {
    const second = this.#second([rental.account]);
    if (isRunning(rental)) this.#halt(rental, second, 'START_FAILED');
  }

  destroy(rental: Rental): boolean {
    const renter = rental.account;
    const second = this.#second([renter]);
    if (rental.to !== null) return false;
    const end = this.#endOf(rental, second);
    const cost = exitCost(rental, end);
    if (cost > 0n && this.credit(renter) - this.spend(renter, max(end, renter.written)) < cost) return false;
    this.#end(rental, second, 'USER');
    return true;
  }

  /**
   * A payment processor tells of a transaction: what is final is paid in, once for each transaction of a top-up, the
   * first sum that is told. Anything else changes nothing, not even what was looked at.
   */
  tell(renter: Renter, transaction: string, micro: bigint, isFinal: boolean): void {
    if (!isFinal || micro <= 0n || renter.transactions.has(transaction)) return;
    renter.transactions.add(transaction);
    this.pay(renter, micro * HOUR);
  }

  pay(renter: Renter, units: bigint): void {
    const { at } = this.#second([renter]);
    renter.credits.push({ at, units });
    renter.written = max(renter.written, at);
    if (this.credit(renter) > this.spend(renter, renter.written)) renter.exhaustedAt = null;
  }

  holder(machine: string): Rental | undefined {
    return this.renters.flatMap(live).find((rental) => rental.machine === machine && isRunning(rental));
  }

  /** The rental that must yield, null when none must, false when the machine can't be had or paid. */
  #claim(renter: Renter, machine: string, mode: Mode, added: bigint, at: Instant): Rental | null | false {
    const holder = this.holder(machine) ?? null;
    if (holder !== null && (holder.mode !== 'INTERRUPTIBLE' || mode === 'INTERRUPTIBLE')) return false;
    const paying = live(renter)
      .filter((rental) => rental !== holder)
      .reduce((sum, rental) => sum + rental.diskRate + (isRunning(rental) ? rental.gpuRate : 0n), 0n);
    const kept = holder?.account === renter ? holder.diskRate : 0n;
    if (this.credit(renter) - this.spend(renter, max(at, renter.written)) < (paying + kept + added) * HOUR)
      return false;
    return holder;
  }

  /** The end of the second, but not after credit, or the grace, ran out in it. */
  #endOf({ account, from, runs }: Rental, { at, end }: Second): Instant {
    const last = runs.at(-1)!;
    const isOver =
      account.exhaustedAt === null
        ? account.written <= at && this.#isDry(account, at)
        : account.exhaustedAt + this.#grace === at;
    return max(isOver ? at : end, from, last.to ?? last.from);
  }

  #halt(rental: Rental, second: Second, why: string): void {
    const run = rental.runs.at(-1)!;
    const to = this.#endOf(rental, second);
    run.to = to;
    const left = run.least - (to - run.from);
    if (left > 0n) rental.charges.push({ at: to, units: left * rental.gpuRate });
    rental.why = why;
    rental.account.written = max(rental.account.written, to);
  }

  #end(rental: Rental, second: Second, why: string): void {
    const to = this.#endOf(rental, second);
    const units = exitCost(rental, to);
    if (isRunning(rental)) this.#halt(rental, second, why);
    if (units > 0n) rental.charges.push({ at: to, units });
    rental.to = to;
    rental.account.written = max(rental.account.written, to);
  }
}

export function isRunning(rental: Rental): boolean {
  return rental.to === null && rental.runs.at(-1)!.to === null;
}

function gpuSeconds(rental: Rental, at: Instant): bigint {
  return rental.runs.reduce((sum, run) => sum + overlap(run, at), 0n);
}

/** Three calendar months of running, the day clamped to the month's last. */
function exitCost(rental: Rental, at: Instant): bigint {
  if (rental.mode !== 'RESERVED') return 0n;
  const begin = new Date(Number(rental.from) * 1000);
  const end = new Date(begin);
  end.setUTCDate(1);
  end.setUTCMonth(begin.getUTCMonth() + 3);
  const lastDay = new Date(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() + 1, 0)).getUTCDate();
  end.setUTCDate(Math.min(begin.getUTCDate(), lastDay));
  const term = BigInt(end.getTime() / 1000) - rental.from;
  const used = gpuSeconds(rental, at);
  return used >= term ? 0n : rental.discount * used;
}

function live(renter: Renter): Rental[] {
  return renter.rentals.filter((rental) => rental.to === null);
}

function overlap({ from, to }: { from: Instant; to: Instant | null }, at: Instant): bigint {
  const end = to === null || to > at ? at : to;
  return end > from ? end - from : 0n;
}

function max(first: bigint, ...others: bigint[]): bigint {
  return others.reduce((one, other) => (other > one ? other : one), first);
}
