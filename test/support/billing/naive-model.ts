import type { Clock, Instant } from '../../../src/domain/kernel/time.js';
import {
  type Cap,
  exitCost,
  firstDeadline,
  firstOf,
  gpuSeconds,
  hasNothing,
  isKept,
  isMonthly,
  isRunning,
  isUnder,
  live,
  type Mode,
  max,
  monthStart,
  nextMonth,
  noCap,
  overlap,
  type Rental,
  type Renter,
  type Run,
  type Scope,
  type Second,
  type Store,
  storeRate,
} from './naive-rows.js';

/**
 * The billing rules in their simplest form: lists of events, which are all added up on each read, and a binary search
 * for the second in which credit ran out. Shares no code with the service.
 */
const HOUR = 3_600n;
/** Minimum GPU seconds charged for a start that preempts another rental. */
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
      stores: [],
      exhaustedAt: null,
      cap: noCap(at),
      keys: new Map(),
      transactions: new Set(),
      written: at,
    });
  }

  spend(renter: Renter, at: Instant): bigint {
    const stored = renter.stores.reduce(
      (all, { gbRate, sizes }) => sizes.reduce((sum, size) => sum + gbRate * size.gb * overlap(size, at), all),
      0n,
    );
    return renter.rentals.reduce((sum, rental) => {
      const charged = rental.charges.reduce((units, charge) => units + (charge.at <= at ? charge.units : 0n), 0n);
      return sum + rental.gpuRate * gpuSeconds(rental, at) + rental.diskRate * overlap(rental, at) + charged;
    }, stored);
  }

  credit(renter: Renter): bigint {
    return renter.credits.reduce((sum, { units }) => sum + units, 0n);
  }

  /** Processes what fell due before the clock's second, and returns the second at which the renters are read. */
  look(...renters: Renter[]): Instant {
    return max(this.#second(renters).at, ...renters.map(({ written }) => written));
  }

  /**
   * Returns the second of an action and its end. A start includes the second, and an end includes the rest of it. The
   * second is never before the last write for these renters or the last sold second of the machine, except for the
   * second in which that one ended.
   */
  #second(renters: readonly Renter[], machine?: string): Second {
    const ms = BigInt(this.#clock.nowMs());
    const known = max(this.#sold(machine), ...renters.map(({ written }) => written)) - 1n;
    const clock = { at: ms / 1_000n, end: (ms + 999n) / 1_000n };
    const second = clock.at < known ? { at: known, end: known + 1n } : clock;
    for (const renter of renters) this.#settle(renter, second.at);
    return second;
  }

  /** Returns the end of the machine's last sold second. */
  #sold(machine: string | undefined): Instant {
    const rentals = this.renters.flatMap((renter) => renter.rentals).filter((rental) => rental.machine === machine);
    return max(0n, ...rentals.flatMap(({ runs }) => runs.map(({ to }) => to ?? 0n)));
  }

  /** Processes what is due, second by second. In each second, deadlines come before limits, and limits before money. */
  #settle(renter: Renter, now: Instant): void {
    for (;;) {
      const deadline = firstDeadline(renter);
      const limit = this.#firstLimit(renter, now);
      const money = this.#firstMoney(renter, now);
      const next = [deadline, limit?.at ?? null, money].reduce<Instant>(
        (one, at) => (at !== null && at < one ? at : one),
        now,
      );
      if (next >= now) return;
      if (deadline === next) this.#meet(renter, next);
      else if (limit?.at === next) this.#reach(renter, limit);
      else this.#runOut(renter, next);
    }
  }

  /** Returns the second before `now` in which credit runs out or the grace period ends, if any. */
  #firstMoney(renter: Renter, now: Instant): Instant | null {
    if (renter.exhaustedAt === null) return this.#exhaustion(renter, now);
    return hasNothing(renter) ? null : renter.exhaustedAt + this.#grace;
  }

  #runOut(renter: Renter, at: Instant): void {
    const then = { at, end: at };
    if (renter.exhaustedAt !== null) {
      for (const rental of live(renter)) this.#end(rental, then, 'BALANCE_EXHAUSTED');
      for (const store of renter.stores.filter(isKept)) this.#close(store, then);
    } else {
      for (const rental of live(renter)) if (isRunning(rental)) this.#halt(rental, then, 'BALANCE_EXHAUSTED');
      renter.exhaustedAt = at;
    }
    renter.written = max(renter.written, at);
  }

  /**
   * Returns the amount spent under a limit from the start of the month of `within` until `at`, plus the minimums that
   * starts must still pay.
   */
  #committed(renter: Renter, scope: Scope, at: Instant, within: Instant): bigint {
    const isRental = typeof scope === 'object' && scope !== null;
    const begin = isRental ? 0n : monthStart(within);
    const counts = (key: string | null) => isRental || scope === null || scope === key;
    const stored = (isRental ? [] : renter.stores).reduce((all, { gbRate, sizes }) => {
      const counted = sizes.filter(({ key }) => counts(key));
      return counted.reduce((sum, size) => sum + gbRate * size.gb * (overlap(size, at) - overlap(size, begin)), all);
    }, 0n);
    return (isRental ? [scope] : renter.rentals).reduce((sum, rental) => {
      const runs = rental.runs.filter(({ key }) => counts(key));
      const gpu = runs.reduce((seconds, run) => seconds + overlap(run, at) - overlap(run, begin), 0n);
      const disk = counts(rental.key) ? overlap(rental, at) - overlap(rental, begin) : 0n;
      const open = runs.filter(({ to }) => to === null);
      const owed = open.reduce((seconds, { from, least }) => seconds + max(0n, least - max(0n, at - from)), 0n);
      const charged = rental.charges.filter((charge) => charge.at >= begin && charge.at <= at && counts(charge.key));
      const atOnce = charged.reduce((units, charge) => units + charge.units, 0n);
      return sum + rental.gpuRate * (gpu + owed) + rental.diskRate * disk + atOnce;
    }, stored);
  }

  /** Returns the first second before `now` that no longer fits under its month's limit, or null if all of them fit. */
  #reached(renter: Renter, scope: Scope, cap: Cap, now: Instant): Instant | null {
    const { limit, reachedAt } = cap;
    if (limit === null || (reachedAt !== null && !isMonthly(scope))) return null;
    let from = max(cap.since, reachedAt === null ? 0n : nextMonth(reachedAt));
    while (from < now) {
      const month = from;
      const isOver = (at: Instant) => this.#committed(renter, scope, at + 1n, month) > limit;
      const end = isMonthly(scope) && nextMonth(from) < now ? nextMonth(from) : now;
      if (isOver(end - 1n)) return firstOf(isOver, from, end - 1n);
      from = end;
    }
    return null;
  }

  #firstLimit(renter: Renter, now: Instant): { at: Instant; scope: Scope; cap: Cap } | null {
    const scopes: [Scope, Cap][] = [...live(renter).map((rental): [Scope, Cap] => [rental, rental.cap])];
    scopes.push(...[...renter.keys].sort(([one], [other]) => (one < other ? -1 : 1)), [null, renter.cap]);
    let first: { at: Instant; scope: Scope; cap: Cap } | null = null;
    for (const [scope, cap] of scopes) {
      const at = this.#reached(renter, scope, cap, now);
      if (at !== null && (first === null || at < first.at)) first = { at, scope, cap };
    }
    return first;
  }

  #reach(renter: Renter, { at, scope, cap }: { at: Instant; scope: Scope; cap: Cap }, end = at): void {
    cap.reachedAt = at;
    for (const rental of live(renter))
      if (isRunning(rental) && isUnder(rental, scope)) this.#halt(rental, { at, end }, 'SPEND_LIMIT');
    if (isMonthly(scope)) renter.written = max(renter.written, this.#isOver(renter, at) ? at : end);
  }

  /** Sets or, with null, removes a limit. A limit that is already exceeded is reached in this second. */
  #setCap(renter: Renter, scope: Scope, cap: Cap, limit: bigint | null, { at, end }: Second): void {
    // The part of this second that the previous limit left out remains unsold.
    const bound = this.#reached(renter, scope, cap, at + 1n) === at ? at : end;
    Object.assign(cap, { limit, reachedAt: null, since: at });
    if (isMonthly(scope)) renter.written = max(renter.written, at);
    const by = max(end, renter.written);
    if (limit !== null && this.#committed(renter, scope, by, at) > limit)
      this.#reach(renter, { at, scope, cap }, bound);
  }

  limitAccount(renter: Renter, limit: bigint | null): void {
    this.#setCap(renter, null, renter.cap, limit, this.#second([renter]));
  }

  limitKey(renter: Renter, key: string, limit: bigint | null): void {
    const second = this.#second([renter]);
    const cap = renter.keys.get(key) ?? noCap(second.at);
    renter.keys.set(key, cap);
    this.#setCap(renter, key, cap, limit, second);
  }

  limitRental(rental: Rental, limit: bigint | null): boolean {
    const second = this.#second([rental.account]);
    if (rental.to !== null) return false;
    this.#setCap(rental.account, rental, rental.cap, limit, second);
    return true;
  }

  /** Whether a month's limits leave room for a minute of the added rates at `at`. */
  #hasRoom(
    renter: Renter,
    at: Instant,
    added: { key: string | null; gpu: bigint; disk: bigint; yields: Rental | null; least: bigint; ofKey?: bigint },
  ): boolean {
    const { key, gpu, least } = added;
    const yields = added.yields?.account === renter ? added.yields : null;
    const caps: [Scope, Cap | undefined][] = [[null, renter.cap]];
    if (key !== null) caps.push([key, renter.keys.get(key)]);
    return caps.every(([scope, cap]) => {
      const limit = cap?.limit ?? null;
      if (limit === null) return true;
      if (cap!.reachedAt !== null && cap!.reachedAt >= monthStart(at)) return false;
      const disk = scope === null ? added.disk : (added.ofKey ?? added.disk);
      const given = yields !== null && isUnder(yields, scope) ? yields.gpuRate : 0n;
      for (let second = at; second < at + 60n; second += 1n) {
        const [to, begin] = [second + 1n, max(at, monthStart(second))];
        const more = (gpu + disk - given) * (to - begin) + (monthStart(second) <= at ? given : 0n);
        const owed = gpu * max(0n, least - (to - at));
        if (this.#committed(renter, scope, to, second) + more + owed > limit) return false;
      }
      return true;
    });
  }

  #meet(renter: Renter, at: Instant): void {
    for (const rental of live(renter)) {
      if (rental.destroyAt === at) this.#end(rental, { at, end: at }, 'DEADLINE');
      else if (rental.stopAt === at) {
        if (isRunning(rental)) this.#halt(rental, { at, end: at }, 'DEADLINE');
        rental.stopAt = null;
      }
    }
  }

  /** Returns the first second since the last write and before `now` with a balance of zero or less. */
  #exhaustion(renter: Renter, now: Instant): Instant | null {
    const isDry = (at: Instant) => this.#isDry(renter, at);
    if (hasNothing(renter) || renter.written >= now || !isDry(now - 1n)) return null;
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

  /** Rents a machine. `stopIn` and `destroyIn` are in seconds from now, or null for never. */
  deploy(
    renter: Renter,
    machine: string,
    onDemandRate: bigint,
    mode: Mode,
    diskRate: bigint,
    { stopIn, destroyIn }: { stopIn: number | null; destroyIn: number | null },
    { key, limit }: { key: string | null; limit: bigint | null } = { key: null, limit: null },
  ): boolean {
    const holder = this.holder(machine);
    const second = this.#second([...new Set([renter, ...(holder ? [holder.account] : [])])], machine);
    const gpuRate = (onDemandRate * SHARE[mode]) / 100n;
    const preempted = this.#claim(renter, machine, mode, gpuRate + diskRate, second.at);
    if (preempted === false) return false;
    const least = preempted === null ? 0n : LEAST;
    // With a minimum, a minute always costs more.
    if (limit !== null && (gpuRate + diskRate) * 60n > limit) return false;
    if (!this.#hasRoom(renter, second.at, { key, gpu: gpuRate, disk: diskRate, yields: preempted, least }))
      return false;
    if (preempted) this.#halt(preempted, second, 'PREEMPTED');
    const run = this.#run(machine, second, least, key);
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
      stopAt: stopIn === null ? null : second.at + BigInt(stopIn),
      destroyAt: destroyIn === null ? null : second.at + BigInt(destroyIn),
      key,
      cap: { limit, reachedAt: null, since: second.at },
      charges: [],
      why: null,
    };
    renter.rentals.push(made);
    renter.written = max(renter.written, run.from);
    return true;
  }

  /** Starts a run. A sold second isn't sold again, so the run starts after it. */
  #run(machine: string, { at }: Second, least: bigint, key: string | null): Run {
    return { from: max(at, this.#sold(machine)), to: null, least, key };
  }

  start(rental: Rental, key: string | null = null): boolean {
    const renter = rental.account;
    const holder = this.holder(rental.machine);
    const second = this.#second([...new Set([renter, ...(holder ? [holder.account] : [])])], rental.machine);
    if (rental.to !== null || isRunning(rental)) return false;
    const stopAt = rental.stopAt === second.at ? null : rental.stopAt;
    const preempted = this.#claim(renter, rental.machine, rental.mode, rental.gpuRate, second.at);
    if (preempted === false) return false;
    const least = preempted === null ? 0n : LEAST;
    const { cap, gpuRate, diskRate } = rental;
    if (cap.limit !== null) {
      const from = max(second.at, rental.runs.at(-1)!.to!);
      const then = this.#committed(renter, rental, from, from) + (gpuRate + diskRate) * 60n;
      if (cap.reachedAt !== null || then > cap.limit) return false;
    }
    if (!this.#hasRoom(renter, second.at, { key, gpu: gpuRate, disk: 0n, yields: preempted, least })) return false;
    if (preempted) this.#halt(preempted, second, 'PREEMPTED');
    const run = this.#run(rental.machine, second, least, key);
    rental.runs.push(run);
    rental.stopAt = stopAt;
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

  /** Sets deadlines. A deadline that is undefined remains unchanged. */
  setDeadlines(rental: Rental, stopIn: number | null | undefined, destroyIn: number | null | undefined): boolean {
    const { at } = this.#second([rental.account]);
    if (rental.to !== null) return false;
    if (stopIn !== undefined) rental.stopAt = stopIn === null ? null : at + BigInt(stopIn);
    if (destroyIn !== undefined) rental.destroyAt = destroyIn === null ? null : at + BigInt(destroyIn);
    return true;
  }

  /** Creates a volume, or returns null if that is refused. */
  store(renter: Renter, gbRate: bigint, gb: bigint, key: string | null): Store | null {
    const { at } = this.#second([renter]);
    const disk = gbRate * gb;
    if (!this.#covers(renter, disk, at)) return null;
    if (!this.#hasRoom(renter, at, { key, gpu: 0n, disk, yields: null, least: 0n })) return null;
    const made = { account: renter, gbRate, sizes: [{ gb, from: at, to: null, key }] };
    renter.stores.push(made);
    renter.written = max(renter.written, at);
    return made;
  }

  /** Grows a volume. The new size applies from the end of the previous one. */
  grow(store: Store, gb: bigint, key: string | null): boolean {
    const { account: renter, gbRate, sizes } = store;
    const second = this.#second([renter]);
    const last = sizes.at(-1)!;
    if (last.to !== null || gb < last.gb) return false;
    if (gb === last.gb) return true;
    const disk = gbRate * (gb - last.gb);
    const ofKey = last.key === key ? disk : gbRate * gb;
    if (!this.#covers(renter, disk, second.at)) return false;
    if (!this.#hasRoom(renter, second.at, { key, gpu: 0n, disk, yields: null, least: 0n, ofKey })) return false;
    sizes.push({ gb, from: this.#close(store, second), to: null, key });
    return true;
  }

  drop(store: Store): boolean {
    const second = this.#second([store.account]);
    if (!isKept(store)) return false;
    this.#close(store, second);
    return true;
  }

  #close(store: Store, second: Second): Instant {
    const size = store.sizes.at(-1)!;
    const to = max(this.#boundOf(store.account, second, [], [size.key]), size.from);
    size.to = to;
    store.account.written = max(store.account.written, to);
    return to;
  }

  /** Marks a container that could not be started. */
  fail(rental: Rental): void {
    const second = this.#second([rental.account]);
    if (isRunning(rental)) this.#halt(rental, second, 'START_FAILED');
  }

  destroy(rental: Rental): boolean {
    const renter = rental.account;
    const second = this.#second([renter]);
    if (rental.to !== null) return false;
    const end = this.#endOf(rental, second, rental.destroyAt, isRunning(rental) ? rental.stopAt : null);
    const cost = exitCost(rental, end);
    if (cost > 0n && this.credit(renter) - this.spend(renter, max(end, renter.written)) < cost) return false;
    this.#end(rental, second, 'USER');
    return true;
  }

  /**
   * Applies a processor's report of a transaction. Each final transaction of a top-up is credited once, with the first
   * reported amount. Any other report changes nothing, not even the time when the account was last read.
   */
  notify(renter: Renter, transaction: string, micro: bigint, isFinal: boolean): void {
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

  /**
   * Returns the rental that must be preempted, or null if none must be. Returns false if the machine isn't available or
   * affordable.
   */
  #claim(renter: Renter, machine: string, mode: Mode, added: bigint, at: Instant): Rental | null | false {
    const holder = this.holder(machine) ?? null;
    if (holder !== null && (holder.mode !== 'INTERRUPTIBLE' || mode === 'INTERRUPTIBLE')) return false;
    const given = holder?.account === renter ? holder.gpuRate : 0n;
    return this.#covers(renter, added - given, at) ? holder : false;
  }

  /** Whether the account can pay for an hour at its current rates plus the added ones. */
  #covers(renter: Renter, added: bigint, at: Instant): boolean {
    const paying = live(renter).reduce(
      (sum, rental) => sum + rental.diskRate + (isRunning(rental) ? rental.gpuRate : 0n),
      renter.stores.reduce((sum, store) => sum + storeRate(store), 0n),
    );
    return this.credit(renter) - this.spend(renter, max(at, renter.written)) >= (paying + added) * HOUR;
  }

  #endOf(rental: Rental, second: Second, ...deadlines: (Instant | null)[]): Instant {
    const last = rental.runs.at(-1)!;
    const bound = this.#boundOf(rental.account, second, [[rental, rental.cap]], [rental.key, last.key]);
    return max(deadlines.includes(second.at) ? second.at : bound, rental.from, last.to ?? last.from);
  }

  /**
   * Returns the end of the second, or its start if credit or the grace period ran out or a limit was reached in it.
   */
  #boundOf(account: Renter, { at, end }: Second, own: [Scope, Cap][], keys: (string | null)[]): Instant {
    const caps: [Scope, Cap | undefined][] = [
      ...own,
      [null, account.cap],
      ...keys.map((key): [Scope, Cap | undefined] => [key, key === null ? undefined : account.keys.get(key)]),
    ];
    const isLimited = caps.some(
      ([scope, cap]) => cap !== undefined && this.#reached(account, scope, cap, at + 1n) === at,
    );
    return this.#isOver(account, at) || isLimited ? at : end;
  }

  /** Whether credit or the grace period runs out in this second. */
  #isOver(account: Renter, at: Instant): boolean {
    if (hasNothing(account)) return false;
    return account.exhaustedAt === null
      ? account.written <= at && this.#isDry(account, at)
      : account.exhaustedAt + this.#grace === at;
  }

  #halt(rental: Rental, second: Second, why: string): void {
    const run = rental.runs.at(-1)!;
    const to = this.#endOf(rental, second, rental.stopAt, rental.destroyAt);
    run.to = to;
    const left = run.least - (to - run.from);
    if (left > 0n) rental.charges.push({ at: to, units: left * rental.gpuRate, key: run.key });
    rental.why = why;
    rental.account.written = max(rental.account.written, to);
  }

  #end(rental: Rental, second: Second, why: string): void {
    const to = this.#endOf(rental, second, rental.destroyAt);
    if (isRunning(rental)) this.#halt(rental, second, why);
    const units = exitCost(rental, to);
    if (units > 0n) {
      rental.charges.push({ at: to, units, key: rental.key });
      for (const cap of [rental.account.cap, rental.account.keys.get(rental.key ?? '')])
        if (cap !== undefined) cap.since = max(cap.since, to);
    }
    rental.to = to;
    rental.account.written = max(rental.account.written, to);
  }
}
