import { activeAccount } from '../billing/active-account.js';
import type { LedgerDeps } from '../billing/deps.js';
import { write } from '../billing/ledger.js';
import { setSpendLimit } from '../billing/rules/settle.js';
import { DomainError } from '../kernel/errors.js';
import { checkOptional, limitOf } from '../kernel/field.js';
import { INSTANCE_ID } from '../kernel/lifecycle.js';
import { instanceLimitAt } from '../kernel/spend-limit.js';
import type { Instant } from '../kernel/time.js';
import { readWith } from './as-of.js';
import { instanceFields } from './fields.js';
import { fromRow, type InstanceRow, toRow } from './instance-row.js';
import { notFound } from './instances.js';

/**
 * Sets an instance's maximum total cost, in USD. Null removes the limit. If the instance has already cost more, it is
 * stopped immediately. Raising the limit doesn't start it again. Throws invalid_request, not_found, or action_failed if
 * the instance is destroyed.
 */
export async function changeSpendLimit(
  deps: LedgerDeps,
  accountId: string,
  id: string,
  usd: number | null | undefined,
): Promise<InstanceRow> {
  const limit = limitOf(checkOptional('spendLimit', instanceFields.spendLimit, usd));
  if (!INSTANCE_ID.test(id)) throw notFound();
  return write(deps, { accountIds: [accountId], instanceId: id }, (current) => {
    const account = activeAccount(current, accountId);
    const instance = current.instance(id);
    if (instance === undefined) throw notFound();
    if (instance.status === 'DESTROYED')
      throw new DomainError('action_failed', "a destroyed instance can't have a spend limit");
    setSpendLimit(current.step(account), instance, limit);
    return readWith(account, toRow(instance));
  });
}

/** Returns when the instance reached its own spend limit, or will reach it at its current rates. Null if it won't. */
export function limitReachedAtOf(row: InstanceRow): Instant | null {
  const instance = fromRow(row);
  return instance.limitReachedAt ?? instanceLimitAt(instance);
}
