import { advance } from '../../kernel/accrual.js';
import {
  type Account,
  changeBurn,
  destroy,
  endsOf,
  type Instance,
  isRunning,
  type RowChanges,
  runsOf,
  type Step,
  stop,
  updateDeadline,
  type Volume,
} from '../../kernel/lifecycle.js';
import type { Micro } from '../../kernel/money.js';
import {
  instanceLimitAt,
  isInstanceLimitPassed,
  isMonthlyLimitPassed,
  type MonthlyLimit,
  monthlyLimitAt,
} from '../../kernel/spend-limit.js';
import { earliest, type Instant, latest } from '../../kernel/time.js';
import { deleteVolume } from '../../kernel/volume.js';

/**
 * Carries out everything that was due before `now`, each event at its own second. An instance is stopped or destroyed
 * at its deadline. When a limit is reached, the instances to which it applies are stopped. When credit runs out, all
 * running instances are stopped. At the end of the grace period, all instances are destroyed and all volumes are
 * deleted. Within the same second, deadlines come first, then the limits of instances, and then those of keys and the
 * account. The amounts don't depend on how late this is called.
 */
export function settle(
  account: Account,
  { live, volumes }: Holdings,
  now: Instant,
  grace: bigint,
  changes: RowChanges,
): void {
  for (;;) {
    const next = nextEvent(account, { live, volumes }, grace);
    if (next === null || next.at >= now) break;
    next.execute({ account, at: next.at, end: next.at, changes });
  }
  updateLimits(account, live, changes);
}

/** An account's live instances, and its volumes that haven't been deleted. */
export interface Holdings {
  live: readonly Instance[];
  volumes: readonly Volume[];
}

/**
 * Updates the seconds in which limits are reached, which are derived from the account and its instances. Must be called
 * before the account is written.
 */
export function updateLimits(account: Account, live: readonly Instance[], changes: RowChanges): void {
  for (const key of account.limited?.keys ?? []) {
    const limitAt = monthlyLimitAt(key, runsOf(key, live));
    if (limitAt !== key.limitAt) changes.keys.add(key);
    key.limitAt = limitAt;
  }
  account.limitAt = monthlyLimitAt(account, live.filter(isRunning));
  const keys = account.limited?.keys.map(({ limitAt }) => limitAt) ?? [];
  account.deadlineAt = earliest(account.limitAt, ...keys, ...live.filter(isLive).flatMap(endsOf));
  changes.accounts.add(account);
}

/** Something that happens automatically as soon as its second is over. */
interface Event {
  at: Instant;
  execute(step: Step): void;
}

/**
 * Returns the next event. If several events fall in the same second, returns the first one in the order described at
 * `settle`.
 */
function nextEvent(account: Account, { live, volumes }: Holdings, grace: bigint): Event | null {
  let next: Event | null = null;
  const consider = (at: Instant | null, execute: Event['execute']) => {
    if (at !== null && (next === null || at < next.at)) next = { at, execute };
  };
  const present = live.filter(isLive);
  consider(earliest(...present.flatMap(({ stopAt, destroyAt }) => [stopAt, destroyAt])), (step) =>
    meetDeadlines(step, present),
  );
  for (const instance of present)
    consider(instanceLimitAt(instance), (step) => {
      instance.limitReachedAt = step.at;
      step.changes.updated.add(instance);
      if (isRunning(instance)) stop(step, instance, 'SPEND_LIMIT');
    });
  for (const limit of [...(account.limited?.keys ?? []), account]) {
    const running = runsOf(limit, present);
    consider(monthlyLimitAt(limit, running), (step) => reachLimit(step, limit, running));
  }
  consider(account.dueAt, (step) => exhaust(step, { live: present, volumes }, grace));
  return next;
}

function reachLimit(step: Step, limit: MonthlyLimit, running: readonly Instance[]): void {
  limit.limitReachedAt = step.at;
  for (const instance of running) stop(step, instance, 'SPEND_LIMIT');
  // Never advanced past the first second without credit, because the end of credit would then be mistaken for a later
  // second.
  advanceBoth(step, limit, earliest(step.end, step.account.dueAt));
  step.changes.accounts.add(step.account);
  for (const key of step.account.limited?.keys ?? []) if (key === limit) step.changes.keys.add(key);
}

function exhaust(step: Step, { live, volumes }: Holdings, grace: bigint): void {
  const { account, at } = step;
  if (account.exhaustedAt === null) {
    for (const instance of live) if (isRunning(instance)) stop(step, instance, 'BALANCE_EXHAUSTED');
    account.exhaustedAt = at;
    account.diskDeleteAt = at + grace;
  } else {
    for (const instance of live) destroy(step, instance, 'BALANCE_EXHAUSTED');
    for (const volume of volumes) if (volume.deletedAt === null) deleteVolume(step, volume, 'BALANCE_EXHAUSTED');
  }
  changeBurn(step, 0n, at, null);
}

function isLive({ status }: Instance): boolean {
  return status !== 'DESTROYED';
}

function meetDeadlines(step: Step, live: readonly Instance[]): void {
  const { at, changes } = step;
  for (const instance of live) {
    const { status, stopAt, destroyAt } = instance;
    if (destroyAt !== null && destroyAt <= at) destroy(step, instance, 'DEADLINE');
    else if (stopAt !== null && stopAt <= at) {
      if (status === 'RUNNING') stop(step, instance, 'DEADLINE');
      instance.stopAt = null;
      changes.updated.add(instance);
    }
  }
}

/**
 * Sets an instance's spend limit. Null removes it. A limit that has already been exceeded counts as reached in this
 * second. An instance stopped by its previous limit stays stopped.
 */
export function setSpendLimit(step: Step, instance: Instance, spendLimit: Micro | null): void {
  const before = instanceLimitAt(instance);
  instance.spendLimit = spendLimit;
  instance.limitReachedAt = null;
  if (isInstanceLimitPassed(instance, latest(step.end, step.account.settledAt))) {
    instance.limitReachedAt = step.at;
    if (instance.status === 'RUNNING') stop(notAfter(step, before), instance, 'SPEND_LIMIT');
  }
  step.changes.updated.add(instance);
  updateDeadline(step, instance);
}

/**
 * Sets a monthly limit on the account or one of its keys, with the same effects as `setSpendLimit`. `running` are the
 * instances that it would stop.
 */
export function setMonthlyLimit(
  step: Step,
  limit: MonthlyLimit,
  monthlyLimit: Micro | null,
  running: readonly Instance[],
): void {
  const before = monthlyLimitAt(limit, running);
  limit.monthlyLimit = monthlyLimit;
  limit.limitReachedAt = null;
  // Spend before the current month no longer counts.
  advanceBoth(step, limit, step.at);
  const by = latest(step.end, step.account.settledAt);
  if (isMonthlyLimitPassed(limit, running, by)) reachLimit(notAfter(step, before), limit, running);
  step.changes.accounts.add(step.account);
}

/**
 * Advances the spend of both a limit and the account. A key's line must not be ahead of its account's. Otherwise, after
 * the clock was set back, the next start would count seconds from before it began, and would pass the check of a limit
 * that it exceeds.
 */
function advanceBoth({ account }: Step, limit: MonthlyLimit, at: Instant): void {
  advance(limit, at);
  advance(account, at);
}

/**
 * Returns the step, but with an earlier end if the previous limit was reached within this very second. The rest of the
 * second is then not sold.
 */
function notAfter(step: Step, before: Instant | null): Step {
  return before !== null && before < step.end ? { ...step, end: before } : step;
}
