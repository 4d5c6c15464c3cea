import type { Deps } from '../deps.js';
import { DomainError } from '../rules/errors.js';
import { type Account, hasMonthlyLimits, isDue } from '../rules/lifecycle.js';
import type { LimitedKey } from '../rules/spend-limit.js';
import type { Instant } from '../rules/time.js';
import { write } from './ledger.js';
import { READ_LIMITED_KEYS } from './ledger-rows.js';

/** Maximum accounts settled per sweep. The next sweep settles more. */
const SWEEP_BATCH = 200;

/** Returns the account after writing everything that was due, so that no stored status lags behind the money. */
export async function settledAccount(deps: Deps, accountId: string): Promise<Readonly<Account>> {
  const account = await deps.accountLoader.account(accountId);
  if (account === null) throw new DomainError('not_found', `no account ${accountId}`);
  if (!isDue(account, deps.clock.now())) return account;
  // Settling is not the requested operation, so it is not recorded as activity.
  return write({ ...deps, activity: null }, { accountIds: [accountId] }, (current) => current.account(accountId)!);
}

/** Like `settledAccount`, with the data that decides its monthly limits, to preview a decision made under locks. */
export async function settledWithLimits(deps: Deps, accountId: string): Promise<Readonly<Account>> {
  const account = await settledAccount(deps, accountId);
  if (!hasMonthlyLimits(account)) return account;
  const [live, keys] = await Promise.all([
    deps.accountLoader.liveInstances(accountId),
    deps.db.pool.query<LimitedKey>({ ...READ_LIMITED_KEYS, values: [accountId] }),
  ]);
  return { ...account, limited: { keys: keys.rows, live: [...live] } };
}

/** Returns the second in which the first account falls due, maybe in the past; null if none will without a change. */
export async function nextDueAt({ db }: Deps): Promise<Instant | null> {
  const { rows } = await db.pool.query<{ dueAt: Instant | null }>({
    name: 'next-due',
    text: `select least((select min(due_at) from account), (select min(deadline_at) from account)) as "dueAt"`,
  });
  const { dueAt } = rows[0]!;
  // A second is settled when it is over.
  return dueAt === null ? null : dueAt + 1n;
}

/** Settles accounts that are due and that no request has settled since. Returns their number. */
export async function settleDue(deps: Deps): Promise<number> {
  return settleBatch(deps, 'due-accounts', '');
}

/** Like `settleDue`, but skips locked accounts: the holder of the lock settles them. */
export async function settleUnlocked(deps: Deps): Promise<number> {
  return settleBatch(deps, 'due-unlocked-accounts', 'for no key update skip locked');
}

async function settleBatch(deps: Deps, name: string, locking: string): Promise<number> {
  const { rows } = await deps.db.pool.query<{ id: string }>({
    name,
    text: `select id from account where due_at < to_timestamp($1) or deadline_at < to_timestamp($1)
           order by least(due_at, deadline_at) limit $2 ${locking}`,
    values: [deps.clock.now().toString(), SWEEP_BATCH],
  });
  for (const { id } of rows) await settledAccount(deps, id);
  return rows.length;
}
