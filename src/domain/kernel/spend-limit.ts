import { advance, changeRate, type MonthLine } from './accrual.js';
import { DomainError, type ErrorCode } from './errors.js';
import { formatUsd, type Micro, type Rate, shownSpend, type Units, unitsOfMicro, unitsOfUsage } from './money.js';
import { minimumUnitsAt } from './preemption.js';
import { addMonths, formatInstant, type Instant, LAST_INSTANT, latest, monthStartOf } from './time.js';

/**
 * Limits on spend. A limit is reached at the last second at which it isn't exceeded by the spend plus the amounts that
 * the minimums of running starts would add if these starts ended there. Like the end of credit, this second follows
 * from the rates and the ledger. The instances to which the limit applies stop at that second, so no GPU second is sold
 * beyond it. Disks continue to be charged.
 */

/** A deploy or start is refused unless every limit leaves room for at least this many seconds of total charges. */
export const LIMIT_MARGIN_SECONDS = 60n;
/**
 * Number of months to check ahead. At least one of any two consecutive months has 31 days, so at a constant rate, a
 * limit that isn't reached in either of them is never reached.
 */
const MONTHS_AHEAD = 2;

/** A monthly limit, along with the spend that it counts. */
export interface MonthlyLimit extends MonthLine {
  monthlyLimit: Micro | null;
  /** When the limit was last reached. Null if it wasn't reached or has been changed since. */
  limitReachedAt: Instant | null;
  /** When the limit is next reached at the current rates. Null if it never is. */
  limitAt: Instant | null;
}

/** An API key with a monthly limit. */
export interface LimitedKey extends MonthlyLimit {
  id: string;
}

/** The spend at an instant, and the rate at which it grows. */
interface Point {
  at: Instant;
  units: Units;
  rate: Rate;
}

/** A running instance that a limit applies to. */
export interface Run {
  gpuRate: Rate;
  minimumUntil: Instant | null;
}

/** The data on which an instance's own limit depends. */
export interface LimitedInstance extends Run {
  spendLimit: Micro | null;
  limitReachedAt: Instant | null;
  createdAt: Instant;
  runningSince: Instant | null;
  stoppedAt: Instant | null;
  destroyedAt: Instant | null;
  diskRate: Rate;
  gpuSeconds: bigint;
  earlyExitUnits: Units;
  minimumUnits: Units;
}

/**
 * Returns when the limit is next reached, starting from the line's origin. Returns null if it never is at this rate.
 */
export function monthlyLimitAt(limit: Omit<MonthlyLimit, 'limitAt'>, runs: readonly Run[]): Instant | null {
  if (limit.monthlyLimit === null) return null;
  const most = unitsOfMicro(limit.monthlyLimit);
  let point = { at: limit.settledAt, units: limit.spendUnits - limit.monthStartSpendUnits, rate: limit.burnRate };
  for (let month = 0; month <= MONTHS_AHEAD; month += 1) {
    const monthStart = monthStartOf(point.at);
    const monthEnd = addMonths(monthStart, 1);
    // A limit is reached only once per month, because nothing can be started under it until the month ends.
    const isOver = limit.limitReachedAt !== null && limit.limitReachedAt >= monthStart;
    const reached = isOver ? null : lastWithin(point, runs, most);
    if (reached !== null && reached < monthEnd) return reached;
    point = { ...point, at: monthEnd, units: 0n };
  }
  return null;
}

/** Returns when a limit was reached this month or will be reached at the current rates. Returns null if it never is. */
export function limitReachedAt(
  { limitReachedAt, limitAt }: { limitReachedAt: Instant | null; limitAt: Instant | null },
  now: Instant,
): Instant | null {
  return limitReachedAt !== null && limitReachedAt >= monthStartOf(now) ? limitReachedAt : limitAt;
}

/**
 * Returns when an instance's own limit is reached, or was reached while the instance was stopped. Returns null if the
 * limit is never reached, or if this has already been recorded.
 */
export function instanceLimitAt(instance: LimitedInstance): Instant | null {
  const { spendLimit, limitReachedAt, destroyedAt } = instance;
  if (spendLimit === null || limitReachedAt !== null || destroyedAt !== null) return null;
  return lastWithin(pointOf(instance), runsOf(instance), unitsOfMicro(spendLimit));
}

/** Returns how much the instance had spent when it was last started, stopped or deployed. */
function pointOf(instance: LimitedInstance): Point {
  const { createdAt, runningSince, stoppedAt, gpuRate, diskRate } = instance;
  const at = latest(createdAt, runningSince ?? stoppedAt ?? createdAt);
  const used = unitsOfUsage(gpuRate, instance.gpuSeconds) + unitsOfUsage(diskRate, at - createdAt);
  const units = used + instance.minimumUnits + instance.earlyExitUnits;
  return { at, units, rate: diskRate + (runningSince === null ? 0n : gpuRate) };
}

function runsOf(instance: LimitedInstance): Run[] {
  return instance.runningSince === null ? [] : [instance];
}

/** Whether the counted spend exceeds the limit by `at`, or by the line's origin if that is later. */
export function isInstanceLimitPassed(instance: LimitedInstance, at: Instant): boolean {
  const { spendLimit } = instance;
  const reachedAt = instanceLimitAt(instance);
  if (spendLimit === null || reachedAt === null) return false;
  return reachedAt < at || countedAt(pointOf(instance), runsOf(instance)) > unitsOfMicro(spendLimit);
}

/** Whether the counted spend exceeds a monthly limit, like `isInstanceLimitPassed`. */
export function isMonthlyLimitPassed(limit: MonthlyLimit, runs: readonly Run[], at: Instant): boolean {
  const { monthlyLimit } = limit;
  const reachedAt = monthlyLimitAt(limit, runs);
  if (monthlyLimit === null || reachedAt === null) return false;
  const point = { at: limit.settledAt, units: limit.spendUnits - limit.monthStartSpendUnits };
  return reachedAt < at || countedAt(point, runs) > unitsOfMicro(monthlyLimit);
}

/** Returns the spend, plus the amounts that the runs' minimums would add if the runs ended there. */
function countedAt({ at, units }: Pick<Point, 'at' | 'units'>, runs: readonly Run[]): Units {
  return runs.reduce((sum, run) => sum + minimumUnitsAt(run, at), units);
}

/**
 * Returns the last second, starting with `at`, at which the units don't exceed `most`. Returns `at` itself if they
 * already exceed it, and null if they never will. A run adds nothing while it is within its minimum, because the
 * minimum is counted in full from the start.
 */
function lastWithin({ at, units, rate }: Point, runs: readonly Run[], most: Units): Instant | null {
  const minimums = runs.flatMap(({ gpuRate, minimumUntil }) =>
    minimumUntil !== null && minimumUntil > at ? [{ gpuRate, minimumUntil }] : [],
  );
  minimums.sort((one, other) => Number(one.minimumUntil - other.minimumUntil));
  let counted = countedAt({ at, units }, runs);
  let grows = minimums.reduce((sum, { gpuRate }) => sum - gpuRate, rate);
  if (counted > most) return at;
  let from = at;
  for (const { gpuRate, minimumUntil } of minimums) {
    const then = counted + grows * (minimumUntil - from);
    if (then > most) break;
    [counted, from, grows] = [then, minimumUntil, grows + gpuRate];
  }
  if (grows === 0n) return null;
  const reached = from + (most - counted) / grows;
  return reached > LAST_INSTANT ? null : reached;
}

/** The rates that a deploy or start would add. */
export interface AddedRun extends Run {
  /** The GPU rate plus, for a deploy, the disk rate. */
  addedRate: Rate;
  /** The rate of preempted instances counted by the same limit, or 0 if there are none. */
  yieldedRate: Rate;
}

/** Throws an error with `code` if a deploy or start would exceed a monthly limit. The message begins with `whose`. */
export function checkMonthlyLimit(
  whose: string,
  limit: Omit<MonthlyLimit, 'limitAt'>,
  runs: readonly Run[],
  at: Instant,
  added: AddedRun,
  code: ErrorCode,
): void {
  if (limit.monthlyLimit === null) return;
  const { limitReachedAt: last } = limit;
  if (last !== null && last >= monthStartOf(at))
    throw refusal(
      code,
      `${whose} monthly limit of ${formatUsd(limit.monthlyLimit)} USD was reached at ${formatInstant(last)}`,
    );
  const then = { ...limit };
  advance(then, at);
  const spent = then.spendUnits - then.monthStartSpendUnits;
  // A preempted instance is charged until the end of the second that it is stopped in.
  then.spendUnits += added.yieldedRate;
  changeRate(then, added.addedRate - added.yieldedRate, at);
  const reachedAt = monthlyLimitAt(then, [...runs, added]);
  if (reachedAt === null || reachedAt >= at + LIMIT_MARGIN_SECONDS) return;
  throw limitExceeded(code, whose, 'monthly limit', limit.monthlyLimit, spent);
}

/** Returns the data for checking an instance's spend limit as if the instance had been deployed at `at`. */
export function newLimited(
  terms: Pick<LimitedInstance, 'spendLimit' | 'gpuRate' | 'diskRate' | 'minimumUntil'>,
  at: Instant,
): LimitedInstance {
  const nothing = { stoppedAt: null, destroyedAt: null, gpuSeconds: 0n, earlyExitUnits: 0n, minimumUnits: 0n };
  return { ...terms, ...nothing, limitReachedAt: null, createdAt: at, runningSince: at };
}

/**
 * Like `checkMonthlyLimit`, except that it checks an instance's own spend limit. Throws an error with `code` if
 * starting at `at` would exceed the limit.
 */
export function checkInstanceSpendLimit(instance: LimitedInstance, at: Instant, code: ErrorCode): void {
  if (instance.spendLimit === null) return;
  if (instance.limitReachedAt !== null)
    throw refusal(
      code,
      `the instance's spend limit of ${formatUsd(instance.spendLimit)} USD was reached at ${formatInstant(instance.limitReachedAt)}`,
    );
  const reachedAt = instanceLimitAt(instance);
  if (reachedAt === null || reachedAt >= at + LIMIT_MARGIN_SECONDS) return;
  const { gpuRate, gpuSeconds, diskRate, createdAt, minimumUnits, spendLimit } = instance;
  const spent = unitsOfUsage(gpuRate, gpuSeconds) + unitsOfUsage(diskRate, at - createdAt) + minimumUnits;
  throw limitExceeded(code, "the instance's", 'spend limit', spendLimit, spent);
}

function limitExceeded(code: ErrorCode, whose: string, what: string, limit: Micro, spent: Units): DomainError {
  const [most, is] = [limit, shownSpend(spent)].map(formatUsd);
  return refusal(
    code,
    `${whose} ${what} of ${most} USD would be reached within ${LIMIT_MARGIN_SECONDS} s; ${is} USD are already spent`,
  );
}

function refusal(code: ErrorCode, message: string): DomainError {
  return new DomainError(code, message, { reason: 'spend_limit' });
}
