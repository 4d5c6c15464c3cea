import { only } from '../../database/only.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { type Account, hasMonthlyLimits, isDue } from '../kernel/lifecycle.js';
import type { LimitedKey } from '../kernel/spend-limit.js';
import type { Instant } from '../kernel/time.js';
import type { SettlingDeps } from './deps.js';
import { write } from './ledger.js';
import { READ_LIMITED_KEYS } from './ledger-rows.js';

/** Maximum number of accounts settled per run. Any others are left for the next run. */
const SWEEP_BATCH = 200;

/**
 * Writes everything that is due and then returns the account, so that its stored status never lags behind its charges.
 */
export async function settledAccount(deps: SettlingDeps, accountId: string): Promise<Readonly<Account>> {
  const account = await deps.accountLoader.account(accountId);
  if (account === null) throw new DomainError('not_found', `no such account: ${accountId}`);
  if (!isDue(account, deps.clock.now())) return account;
  // Settling isn't part of the requested operation, so it isn't recorded as activity.
  return write({ ...deps, activity: null }, { accountIds: [accountId] }, (current) => current.lockedAccount(accountId));
}

/**
 * Like `settledAccount`, but also reads the data needed to check monthly limits. Used to preview a decision that is
 * later made under locks.
 */
export async function settledWithLimits(deps: SettlingDeps, accountId: string): Promise<Readonly<Account>> {
  const account = await settledAccount(deps, accountId);
  if (!hasMonthlyLimits(account)) return account;
  const [live, keys] = await Promise.all([
    deps.accountLoader.liveInstances(accountId),
    deps.db.pool.query<LimitedKey>({ ...READ_LIMITED_KEYS, values: [accountId] }),
  ]);
  return { ...account, limited: { keys: keys.rows, live: [...live] } };
}

/**
 * Returns the second in which the next account falls due, which may be in the past. Returns null if no account will
 * fall due unless something changes.
 */
export async function nextDueAt({ db }: Pick<KernelDeps, 'db'>): Promise<Instant | null> {
  const { rows } = await db.pool.query<{ dueAt: Instant | null }>({
    name: 'next-due',
    text: `select least((select min(due_at) from account), (select min(deadline_at) from account)) as "dueAt"`,
  });
  const { dueAt } = only(rows);
  // A second can be settled only once it is over.
  return dueAt === null ? null : dueAt + 1n;
}

/** Settles due accounts that no request has settled yet. Returns the number of settled accounts. */
export async function settleDue(deps: SettlingDeps): Promise<number> {
  return settleBatch(deps, 'due-accounts', '');
}

/** Like `settleDue`, but skips locked accounts, because the holder of the lock settles them. */
export async function settleUnlocked(deps: SettlingDeps): Promise<number> {
  return settleBatch(deps, 'due-unlocked-accounts', 'for no key update skip locked');
}

async function settleBatch(deps: SettlingDeps, name: string, locking: string): Promise<number> {
  const { rows } = await deps.db.pool.query<{ id: string }>({
    name,
    text: `select id from account where due_at < to_timestamp($1) or deadline_at < to_timestamp($1)
           order by least(due_at, deadline_at) limit $2 ${locking}`,
    values: [deps.clock.now().toString(), SWEEP_BATCH],
  });
  for (const { id } of rows) await settledAccount(deps, id);
  return rows.length;
}
