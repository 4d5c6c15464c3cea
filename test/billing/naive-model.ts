import type { Clock, Instant } from '../../src/domain/rules/time.js';

/**
 * The billing rules once more, as plainly as can be: lists of what happened, sums over all of them at every look, and a
 * search by halves for the second at which credit ran out. It shares no code with the service.
 */
type Mode = 'ON_DEMAND' | 'INTERRUPTIBLE' | 'RESERVED';

export interface Rental {
  account: Renter;
  machine: string;
  mode: Mode;
  gpuRate: bigint;
  diskRate: bigint;
  discount: bigint;
  from: Instant;
  runs: { from: Instant; to: Instant | null }[];
  to: Instant | null;
  exit: bigint;
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
      const exit = rental.to !== null && rental.to <= at ? rental.exit : 0n;
      return sum + rental.gpuRate * gpuSeconds(rental, at) + rental.diskRate * overlap(rental, at) + exit;
    }, 0n);
  }

  credit(renter: Renter): bigint {
    return renter.credits.reduce((sum, { units }) => sum + units, 0n);
  }

  /** Lets happen what fell due before the second that accounts are looked at in; returns that second. */
  look(...renters: Renter[]): Instant {
    const now = renters.reduce((latest, { written }) => (written > latest ? written : latest), this.#clock.now());
    for (const renter of renters) this.#settle(renter, now);
    return now;
  }

  #settle(renter: Renter, now: Instant): void {
    if (renter.exhaustedAt === null) {
      const at = this.#exhaustion(renter, now);
      if (at === null) return;
      for (const rental of live(renter)) if (isRunning(rental)) this.#halt(rental, at, 'BALANCE_EXHAUSTED');
      renter.exhaustedAt = at;
      renter.written = at;
    }
    const end = renter.exhaustedAt + this.#grace;
    if (end >= now || live(renter).length === 0) return;
    for (const rental of live(renter)) this.#end(rental, end, 'BALANCE_EXHAUSTED');
    renter.written = end;
  }

  /** The first second before `now`, from the last write on, whose balance is zero or less. */
  #exhaustion(renter: Renter, now: Instant): Instant | null {
    const isDry = (at: Instant) => this.credit(renter) - this.spend(renter, at) <= 0n;
    if (live(renter).length === 0 || renter.written >= now || !isDry(now - 1n)) return null;
    let [wet, dry] = [renter.written - 1n, now - 1n];
    while (dry - wet > 1n) {
      const middle = (wet + dry) / 2n;
      if (isDry(middle)) dry = middle;
      else wet = middle;
    }
    return dry;
  }

  deploy(renter: Renter, machine: string, onDemandRate: bigint, mode: Mode, diskRate: bigint): boolean {
    const holder = this.holder(machine);
    const at = this.look(...new Set([renter, ...(holder ? [holder.account] : [])]));
    const gpuRate = (onDemandRate * SHARE[mode]) / 100n;
    const preempted = this.#claim(renter, machine, mode, gpuRate + diskRate, at);
    if (preempted === false) return false;
    if (preempted) this.#halt(preempted, at, 'PREEMPTED');
    const runs = [{ from: at, to: null }];
    const discount = onDemandRate - gpuRate;
    const made = {
      account: renter,
      machine,
      mode,
      gpuRate,
      diskRate,
      discount,
      from: at,
      runs,
      to: null,
      exit: 0n,
      why: null,
    };
    renter.rentals.push(made);
    renter.written = at;
    return true;
  }

  start(rental: Rental): boolean {
    const renter = rental.account;
    const holder = this.holder(rental.machine);
    const at = this.look(...new Set([renter, ...(holder ? [holder.account] : [])]));
    if (rental.to !== null || isRunning(rental)) return false;
    const preempted = this.#claim(renter, rental.machine, rental.mode, rental.gpuRate, at);
    if (preempted === false) return false;
    if (preempted) this.#halt(preempted, at, 'PREEMPTED');
    rental.runs.push({ from: at, to: null });
    rental.why = null;
    renter.written = at;
    return true;
  }

  stop(rental: Rental): boolean {
    const at = this.look(rental.account);
    if (!isRunning(rental)) return false;
    this.#halt(rental, at, 'USER');
    return true;
  }

  /** The container could not be started. */
  fail(rental: Rental): void {
    const at = this.look(rental.account);
    if (isRunning(rental)) this.#halt(rental, at, 'START_FAILED');
  }

  destroy(rental: Rental): boolean {
    const renter = rental.account;
    const at = this.look(renter);
    if (rental.to !== null) return false;
    const cost = exitCost(rental, at);
    if (cost > 0n && this.credit(renter) - this.spend(renter, at) < cost) return false;
    this.#end(rental, at, 'USER');
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
    const at = this.look(renter);
    renter.credits.push({ at, units });
    renter.written = at;
    if (this.credit(renter) > this.spend(renter, at)) renter.exhaustedAt = null;
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
    if (this.credit(renter) - this.spend(renter, at) < (paying + kept + added) * HOUR) return false;
    return holder;
  }

  #halt(rental: Rental, at: Instant, why: string): void {
    rental.runs.at(-1)!.to = at;
    rental.why = why;
    rental.account.written = at;
  }

  #end(rental: Rental, at: Instant, why: string): void {
    rental.exit = exitCost(rental, at);
    if (isRunning(rental)) this.#halt(rental, at, why);
    rental.to = at;
    rental.account.written = at;
  }
}

export function isRunning(rental: Rental): boolean {
  return rental.to === null && rental.runs.at(-1)!.to === null;
}

export function gpuSeconds(rental: Rental, at: Instant): bigint {
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
