import type { Instant } from '../../../src/domain/kernel/time.js';

/** Rows that the naive billing model writes and sums over these rows. */
export type Mode = 'ON_DEMAND' | 'INTERRUPTIBLE' | 'RESERVED';

/** A second of an action, which begins at `at` and ends at `end`. */
export interface Second {
  at: Instant;
  end: Instant;
}

/** A spend limit in units, or null for none. */
export interface Cap {
  limit: bigint | null;
  reachedAt: Instant | null;
  /** The last second in which it was set or an early exit counted towards it. It can't be reached earlier. */
  since: Instant;
}

/** What a limit covers: an instance's total spend, a key's monthly spend or, if null, the account's monthly spend. */
export type Scope = Rental | string | null;

export interface Run {
  from: Instant;
  to: Instant | null;
  /** The API key that started the run. */
  key: string | null;
  /** Minimum number of seconds that are charged. */
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
  /** When it is automatically stopped or destroyed. */
  stopAt: Instant | null;
  destroyAt: Instant | null;
  /** The API key that deployed the rental. */
  key: string | null;
  cap: Cap;
  /** One-time charges for early exits and for the unused parts of minimums. */
  charges: { at: Instant; units: bigint; key: string | null }[];
  why: string | null;
}

/** A volume as a list of its sizes. */
export interface Store {
  account: Renter;
  gbRate: bigint;
  sizes: { gb: bigint; from: Instant; to: Instant | null; key: string | null }[];
}

export interface Renter {
  stores: Store[];
  credits: { at: Instant; units: bigint }[];
  rentals: Rental[];
  exhaustedAt: Instant | null;
  /** Monthly limits of the account and of its keys. */
  cap: Cap;
  keys: Map<string, Cap>;
  /** Top-up payments that were credited. */
  transactions: Set<string>;
  /** The last second in which something was written for the account. */
  written: Instant;
}

export function isRunning(rental: Rental): boolean {
  return rental.to === null && rental.runs.at(-1)!.to === null;
}

export function gpuSeconds(rental: Rental, at: Instant): bigint {
  return rental.runs.reduce((sum, run) => sum + overlap(run, at), 0n);
}

/** Returns the cost of leaving early: three calendar months, with the day clamped to the last of the month. */
export function exitCost(rental: Rental, at: Instant): bigint {
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

export function isKept(store: Store): boolean {
  return store.sizes.at(-1)!.to === null;
}

/** Returns the rate that is currently charged for a volume. */
export function storeRate(store: Store): bigint {
  return isKept(store) ? store.gbRate * store.sizes.at(-1)!.gb : 0n;
}

/** Whether the renter has neither a disk nor a volume. */
export function hasNothing(renter: Renter): boolean {
  return live(renter).length === 0 && !renter.stores.some(isKept);
}

export function noCap(since: Instant): Cap {
  return { limit: null, reachedAt: null, since };
}

/** Whether the limit is monthly, as for accounts and keys but not for instances. */
export function isMonthly(scope: Scope): boolean {
  return typeof scope === 'string' || scope === null;
}

export function isUnder(rental: Rental, scope: Scope): boolean {
  return scope === null || scope === rental || scope === rental.runs.at(-1)!.key;
}

/** Returns the first second from `from` to `to` for which `isTrue` holds. It must hold for `to`. */
export function firstOf(isTrue: (at: Instant) => boolean, from: Instant, to: Instant): Instant {
  let [before, is] = [from - 1n, to];
  while (is - before > 1n) {
    const middle = (before + is) / 2n;
    if (isTrue(middle)) is = middle;
    else before = middle;
  }
  return is;
}

export function monthStart(at: Instant): Instant {
  const day = new Date(Number(at) * 1000);
  return BigInt(Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), 1) / 1000);
}

export function nextMonth(at: Instant): Instant {
  const day = new Date(Number(at) * 1000);
  return BigInt(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + 1, 1) / 1000);
}

export function firstDeadline(renter: Renter): Instant | null {
  const all = live(renter).flatMap(({ stopAt, destroyAt }) => [stopAt ?? [], destroyAt ?? []].flat());
  return all.length === 0 ? null : all.reduce((one, other) => (other < one ? other : one));
}

export function live(renter: Renter): Rental[] {
  return renter.rentals.filter((rental) => rental.to === null);
}

export function overlap({ from, to }: { from: Instant; to: Instant | null }, at: Instant): bigint {
  const end = to === null || to > at ? at : to;
  return end > from ? end - from : 0n;
}

export function max(first: bigint, ...others: bigint[]): bigint {
  return others.reduce((one, other) => (other > one ? other : one), first);
}
