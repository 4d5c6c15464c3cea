import type { Deps } from '../deps.js';
import { DomainError } from '../rules/errors.js';
import { type Account, isDue } from '../rules/lifecycle.js';
import { write } from './ledger.js';

/** Accounts settled by one sweep at most; what is left comes with the next. */
const SWEEP_BATCH = 200;

/** The account with everything that fell due already written, so that no stored status is behind the money. */
export async function settled(deps: Deps, accountId: string): Promise<Readonly<Account>> {
  const account = await deps.accountLoader.account(accountId);
  if (account === null) throw new DomainError('not_found', `no account ${accountId}`);
  if (!isDue(account, deps.clock.now())) return account;
  return write(deps, { accountIds: [accountId] }, (current) => current.account(accountId)!);
}

/** Makes happen what fell due for accounts that nobody reads. Returns how many it settled. */
export async function settleDue(deps: Deps): Promise<number> {
  return settleBatch(deps, 'due-accounts', '');
}

/** As `settleDue`, but waits for nobody: whoever has an account locked settles it. */
export async function settleUnlocked(deps: Deps): Promise<number> {
  return settleBatch(deps, 'due-unlocked-accounts', 'for no key update skip locked');
}

async function settleBatch(deps: Deps, name: string, locking: string): Promise<number> {
  const { rows } = await deps.db.pool.query<{ id: string }>({
    name,
    text: `select id from account where due_at < to_timestamp($1) order by due_at limit $2 ${locking}`,
    values: [deps.clock.now().toString(), SWEEP_BATCH],
  });
  for (const { id } of rows) await settled(deps, id);
  return rows.length;
}
