import type { Deps } from '../deps.js';
import { DomainError } from '../rules/errors.js';
import { type Account, isDue } from '../rules/lifecycle.js';
import { write } from './ledger.js';

/** Most accounts settled in one sweep; the next sweep settles more. */
const SWEEP_BATCH = 200;

/** Returns the account after writing everything that fell due, so that no stored status lags behind the money. */
export async function settledAccount(deps: Deps, accountId: string): Promise<Readonly<Account>> {
  const account = await deps.accountLoader.account(accountId);
  if (account === null) throw new DomainError('not_found', `no account ${accountId}`);
  if (!isDue(account, deps.clock.now())) return account;
  return write(deps, { accountIds: [accountId] }, (current) => current.account(accountId)!);
}

/** Settles accounts with something due that nobody has read since. Returns how many. */
export async function settleDue(deps: Deps): Promise<number> {
  return settleBatch(deps, 'due-accounts', '');
}

/** As `settleDue`, but skips locked accounts: whoever holds the lock settles them. */
export async function settleUnlocked(deps: Deps): Promise<number> {
  return settleBatch(deps, 'due-unlocked-accounts', 'for no key update skip locked');
}

async function settleBatch(deps: Deps, name: string, locking: string): Promise<number> {
  const { rows } = await deps.db.pool.query<{ id: string }>({
    name,
    text: `select id from account where due_at < to_timestamp($1) order by due_at limit $2 ${locking}`,
    values: [deps.clock.now().toString(), SWEEP_BATCH],
  });
  for (const { id } of rows) await settledAccount(deps, id);
  return rows.length;
}
