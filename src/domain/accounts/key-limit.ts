import { only } from '../../database/only.js';
import type { Write } from '../billing/ledger.js';
import { setMonthlyLimit } from '../billing/rules/settle.js';
import { type Account, runsOf } from '../kernel/lifecycle.js';
import type { Micro } from '../kernel/money.js';

/**
 * Sets the limit on one of the account's keys. The key's spend starts with what it has already spent this month, and is
 * kept up to date afterwards.
 */
export async function limitKey(current: Write, account: Account, keyId: string, limit: Micro | null): Promise<void> {
  const limited = await current.limitedOf(account);
  const known = limited.keys.find(({ id }) => id === keyId);
  const key = known ?? (await current.limitedKey(account, keyId));
  if (known === undefined) {
    limited.keys.push(key);
    await current.transaction.query(
      `insert into key_limit (id, account_id, spend_units, burn_rate, settled_at, month_start_spend_units)
       values ($1, $2, 0, 0, 'epoch', 0) on conflict (id) do nothing`,
      [keyId, account.id],
    );
  }
  const step = current.step(account);
  setMonthlyLimit(step, key, limit, runsOf(key, limited.live));
  step.changes.keys.add(key);
  const { rows } = await current.transaction.query<{ others: number }>(
    `select count(*)::int as others from key_limit where account_id = $1 and monthly_limit is not null and id <> $2`,
    [account.id, keyId],
  );
  account.limitedKeys = only(rows).others + (limit === null ? 0 : 1);
}
