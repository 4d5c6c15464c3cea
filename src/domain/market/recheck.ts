import { withAdvisoryLock } from '../../database/advisory-lock.js';
import { only } from '../../database/only.js';
import { required } from '../../std/required.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import {
  dateOf,
  dateOfDay,
  formatDay,
  formatInstant,
  type Instant,
  instantOf,
  latest,
  SECONDS_PER_DAY,
} from '../kernel/time.js';
import { type MarketPlan, planSnapshot, publishPlan } from './market.js';
import { SOURCE_LIMITS, SourceFault, type SourceLimits } from './market-source.js';
import { isMostlyUnreadable, NotNewer } from './rules/market-snapshot.js';
import { nextStep, RECHECK_ATTEMPTS, type RecheckStep, retryAt } from './rules/recheck.js';
import { lastDue, nextDue, onSchedule } from './schedule.js';
import { readSourceInWorker } from './source-reader.js';

/** A re-check's progress, for the log. */
export type RecheckEvent =
  | { kind: 'started'; attempt: number; attempts: number }
  | { kind: 'succeeded'; sheet: string; listings: number; leftOut: number; models: number; changedPrices: number }
  /** There was nothing to do, because the current sheet is already up to date. */
  | { kind: 'current'; sheet: string }
  /** `fault` is set if the error is in the gateway itself. `nextAttemptAt` is null after the last attempt. */
  | {
      kind: 'failed';
      attempt: number;
      attempts: number;
      reason: string;
      nextAttemptAt: Instant | null;
      fault?: unknown;
    };

export interface RecheckOptions {
  onEvent(event: RecheckEvent): void;
  /** Aborts the attempt in progress. */
  signal: AbortSignal;
  limits?: SourceLimits;
}

/** Lock held by the process making an attempt. */
const RECHECK_LOCK = 4_207_003;
/** During a re-check, every process polls at this interval, in case the one making the attempt crashes. */
const POLL_SECONDS = 60n;
const MAX_REASON = 1_000;

/**
 * Starts fetching market data on schedule, beginning immediately if a scheduled time was missed. Has no effect without
 * MARKET_SOURCE.
 */
export function startRecheck(
  deps: Pick<KernelDeps, 'db' | 'clock' | 'settings'>,
  onEvent: (event: RecheckEvent) => void,
  onFault: (error: unknown) => void,
): { stop(): Promise<void> } {
  if (deps.settings.marketSource === null) return { stop: async () => {} };
  const ending = new AbortController();
  let running: Promise<void> | undefined;
  let isRequested = false;
  let timer: NodeJS.Timeout | undefined;
  const checkOnce = async () => {
    const again = await recheckIfDue(deps, { onEvent, signal: ending.signal }).catch((error: unknown) => {
      onFault(error);
      return deps.clock.now() + POLL_SECONDS;
    });
    if (again === null || ending.signal.aborted) return;
    const seconds = again - deps.clock.now();
    // Waits no longer than this, because the clock may be changed or another process may crash.
    const bounded = seconds < POLL_SECONDS ? seconds : POLL_SECONDS;
    timer = setTimeout(wake, Math.max(Number(bounded), 1) * 1000).unref();
  };
  const wake = () => {
    isRequested = true;
    running ??= checkWhileRequested().finally(() => {
      running = undefined;
    });
  };
  const checkWhileRequested = async () => {
    while (isRequested && !ending.signal.aborted) {
      isRequested = false;
      clearTimeout(timer);
      await checkOnce();
    }
  };
  const job = onSchedule(deps.settings.marketSchedule, wake);
  wake();
  return {
    stop: async () => {
      job.stop();
      clearTimeout(timer);
      ending.abort();
      await running;
    },
  };
}

/**
 * Makes an attempt if a re-check is due and no other process is making one. Returns when to check again, or null if
 * there is nothing to do until the next scheduled time.
 */
export async function recheckIfDue(
  deps: Pick<KernelDeps, 'db' | 'clock' | 'settings'>,
  options: RecheckOptions,
): Promise<Instant | null> {
  const step = await stepNow(deps);
  if (step.kind === 'nothing') return null;
  if (step.kind === 'wait') return step.until;
  const done = await withAdvisoryLock(deps.db.pool, RECHECK_LOCK, async (lost) => {
    // Decided again under the lock, because another process may have finished the re-check in the meantime.
    return { again: await takeStep(deps, await stepNow(deps), options, lost) };
  });
  return done === null ? deps.clock.now() + POLL_SECONDS : done.again;
}

async function stepNow({ db, clock, settings }: Pick<KernelDeps, 'db' | 'clock' | 'settings'>): Promise<RecheckStep> {
  const [last, sheet] = await Promise.all([
    db.prisma.marketRecheck.findFirst({ orderBy: { day: 'desc' } }),
    db.prisma.marketSnapshot.findFirst({ orderBy: { date: 'desc' }, select: { date: true } }),
  ]);
  const now = clock.now();
  const due = lastDue(settings.marketSchedule, now);
  return nextStep({
    now,
    today: formatDay(dateOf(now)),
    dueDay: due === null ? null : formatDay(dateOf(due)),
    sheetDay: sheet && formatDay(sheet.date),
    last: last && {
      day: formatDay(last.day),
      finished: last.status !== 'TRYING',
      attempts: last.attempts,
      nextAttemptAt: last.nextAttemptAt && instantOf(last.nextAttemptAt),
    },
  });
}

async function takeStep(
  deps: Pick<KernelDeps, 'db' | 'clock' | 'settings'>,
  step: RecheckStep,
  options: RecheckOptions,
  lost: AbortSignal,
): Promise<Instant | null> {
  switch (step.kind) {
    case 'nothing':
      return null;
    case 'wait':
      return step.until;
    case 'current':
      await endAsCurrent(deps, step.day, options);
      return null;
    case 'exhausted':
      return fail(
        deps,
        { day: step.day, attempt: RECHECK_ATTEMPTS },
        new SourceFault('the process making the attempt crashed'),
        options,
      );
    case 'attempt':
      return attempt(deps, step, options, lost);
  }
}

interface Attempt {
  /** The day on which the re-check started. */
  day: string;
  /** Attempt number, starting at 1. */
  attempt: number;
}

async function attempt(
  deps: Pick<KernelDeps, 'db' | 'clock' | 'settings'>,
  { day, attempt }: Attempt,
  options: RecheckOptions,
  lost: AbortSignal,
): Promise<Instant | null> {
  const { onEvent, limits = SOURCE_LIMITS } = options;
  const abort = AbortSignal.any([options.signal, lost]);
  await begin(deps, { day, attempt });
  onEvent({ kind: 'started', attempt, attempts: RECHECK_ATTEMPTS });
  try {
    const plan = await planFromSource(deps, abort, limits);
    abort.throwIfAborted();
    // Both are written in one transaction, so a crash leaves either both or neither.
    await publishPlan(deps, plan, deps.settings.marketMaxJumpPercent, [finish(deps, day, 'PUBLISHED')]);
    onEvent(successOf(plan));
    return null;
  } catch (error) {
    if (abort.aborted) {
      // An attempt aborted by this gateway's shutdown isn't counted, unless the lock was lost, in which case another
      // process may already be making the attempt.
      if (!lost.aborted) await uncountAttempt(deps, { day, attempt });
      return deps.clock.now() + POLL_SECONDS;
    }
    if (error instanceof NotNewer) {
      await endAsCurrent(deps, day, options);
      return null;
    }
    return fail(deps, { day, attempt }, error, options);
  }
}

/** Counts the attempt before making it. If this process crashes, the next holder of the lock continues from here. */
async function begin({ db, clock }: Pick<KernelDeps, 'db' | 'clock'>, { day, attempt }: Attempt): Promise<void> {
  const now = dateOf(clock.now());
  await db.prisma.marketRecheck.upsert({
    where: { day: dateOfDay(day) },
    create: { day: dateOfDay(day), attempts: attempt, startedAt: now, nextAttemptAt: now },
    update: { attempts: attempt, nextAttemptAt: now },
  });
}

/** Plans a sheet with today's date in UTC. */
async function planFromSource(
  deps: Pick<KernelDeps, 'db' | 'clock' | 'settings'>,
  signal: AbortSignal,
  limits: SourceLimits,
): Promise<MarketPlan> {
  const source = required(deps.settings.marketSource, 'price source');
  const today = formatDay(dateOf(deps.clock.now()));
  const plan = await planSnapshot(deps, today, (models) => readSourceInWorker({ source, models, limits }, signal));
  const [first] = plan.rejected;
  if (first !== undefined && isMostlyUnreadable(plan)) {
    throw new SourceFault(
      `most of the source's rows can't be read; the first of them is on line ${first.line}: ${first.reason}`,
    );
  }
  return plan;
}

function successOf(plan: MarketPlan): RecheckEvent {
  return {
    kind: 'succeeded',
    sheet: plan.date,
    listings: plan.listings,
    leftOut: plan.rejectedCount + plan.repeatedCount + plan.unknownCount,
    models: plan.models.filter(({ medianMicro }) => medianMicro !== null).length,
    changedPrices: plan.models.filter(({ oldRate, newRate }) => oldRate !== newRate).length,
  };
}

async function fail(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  { day, attempt }: Attempt,
  error: unknown,
  { onEvent }: RecheckOptions,
): Promise<Instant | null> {
  const expected = error instanceof SourceFault || error instanceof DomainError;
  const reason = (expected ? error.message : 'internal gateway error').slice(0, MAX_REASON);
  const now = deps.clock.now();
  const nextAttemptAt = retryAt(attempt, now);
  const failure = { failedAt: dateOf(now), error: reason };
  const { count } = await deps.db.prisma.marketRecheck.updateMany({
    where: { day: dateOfDay(day), status: 'TRYING', attempts: attempt },
    data:
      nextAttemptAt === null
        ? { ...failure, status: 'FAILED', finishedAt: dateOf(now), nextAttemptAt: null }
        : { ...failure, nextAttemptAt: dateOf(nextAttemptAt) },
  });
  // If no row was updated, another process has taken over in the meantime.
  if (count === 0) return null;
  onEvent({
    kind: 'failed',
    attempt,
    attempts: RECHECK_ATTEMPTS,
    reason,
    nextAttemptAt,
    ...(!expected && { fault: error }),
  });
  return nextAttemptAt;
}

async function uncountAttempt({ db }: Pick<KernelDeps, 'db'>, { day, attempt }: Attempt): Promise<void> {
  await db.prisma.marketRecheck.updateMany({
    where: { day: dateOfDay(day), status: 'TRYING', attempts: attempt },
    data: { attempts: attempt - 1 },
  });
}

async function endAsCurrent(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  day: string,
  { onEvent }: RecheckOptions,
): Promise<void> {
  const now = dateOf(deps.clock.now());
  const { date } = await deps.db.prisma.marketSnapshot.findFirstOrThrow({ orderBy: { date: 'desc' } });
  await deps.db.prisma.marketRecheck.createMany({
    data: { day: dateOfDay(day), attempts: 0, startedAt: now, nextAttemptAt: now },
    skipDuplicates: true,
  });
  const { text, values } = finish(deps, day, 'CURRENT');
  const { rowCount } = await deps.db.pool.query(text, values);
  if (rowCount === 1) onEvent({ kind: 'current', sheet: formatDay(date) });
}

function finish({ clock }: Pick<KernelDeps, 'clock'>, day: string, status: 'PUBLISHED' | 'CURRENT') {
  return {
    name: 'finish-recheck',
    text: `update market_recheck set status = $2::recheck_status, finished_at = $3::timestamptz, next_attempt_at = null
           where day = $1::date and status = 'TRYING'`,
    values: [day, status, formatInstant(clock.now())],
  };
}

/** When the market was last fetched and when it will be fetched next. */
export interface RecheckTimes {
  schedule: string;
  lastSucceededAt: Instant | null;
  lastFailedAt: Instant | null;
  /**
   * When the re-check in progress will next be attempted or, if there is none, the next scheduled time on a day that
   * hasn't had a re-check.
   */
  nextAt: Instant | null;
}

/** Returns the times, or null if MARKET_SOURCE is unset. */
export async function recheckTimes(deps: Pick<KernelDeps, 'db' | 'clock' | 'settings'>): Promise<RecheckTimes | null> {
  return deps.settings.marketSource === null ? null : timesOf(deps);
}

/** The status shown to the operator. */
export interface RecheckStatus extends RecheckTimes {
  /** The source without its credentials, or null if there is none. */
  source: string | null;
  /** The day of the current sheet, or null if there is none. */
  sheet: string | null;
  lastError: string | null;
}

export async function recheckStatus(deps: Pick<KernelDeps, 'db' | 'clock' | 'settings'>): Promise<RecheckStatus> {
  const [times, sheet, failed] = await Promise.all([
    timesOf(deps),
    deps.db.prisma.marketSnapshot.findFirst({ orderBy: { date: 'desc' } }),
    deps.db.prisma.marketRecheck.findFirst({ where: { failedAt: { not: null } }, orderBy: { failedAt: 'desc' } }),
  ]);
  const { marketSource } = deps.settings;
  return {
    ...times,
    source: marketSource?.replace(/^(https?:\/\/)[^/?#]*@/i, '$1') ?? null,
    sheet: sheet && formatDay(sheet.date),
    lastError: failed?.error ?? null,
  };
}

async function timesOf({ db, clock, settings }: Pick<KernelDeps, 'db' | 'clock' | 'settings'>): Promise<RecheckTimes> {
  const { rows } = await db.pool.query<{ lastSucceededAt: Instant | null; lastFailedAt: Instant | null }>(
    `select max(finished_at) filter (where status = 'PUBLISHED') as "lastSucceededAt", max(failed_at) as "lastFailedAt" from market_recheck`,
  );
  const last = await db.prisma.marketRecheck.findFirst({ orderBy: { day: 'desc' } });
  const { marketSchedule: schedule } = settings;
  return {
    schedule,
    ...only(rows),
    nextAt: last?.nextAttemptAt ? instantOf(last.nextAttemptAt) : nextDue(schedule, earliest(clock.now(), last?.day)),
  };
}

/**
 * Returns the second after which another re-check can become due: now, or the end of the day if it has already had one.
 */
function earliest(now: Instant, lastDay: Date | undefined): Instant {
  return lastDay === undefined ? now : latest(now, instantOf(lastDay) + SECONDS_PER_DAY - 1n);
}
