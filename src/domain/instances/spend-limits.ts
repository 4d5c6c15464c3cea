import { write } from '../billing/ledger.js';
import { renter } from '../billing/renter.js';
import type { Deps } from '../deps.js';
import { checkOptional, fields, limitOf } from '../fields.js';
import { DomainError } from '../rules/errors.js';
import { INSTANCE_ID } from '../rules/lifecycle.js';
import { setSpendLimit } from '../rules/settle.js';
import { instanceLimitAt } from '../rules/spend-limit.js';
import type { Instant } from '../rules/time.js';
import { readWith } from './as-of.js';
import { fromRow, type InstanceRow, toRow } from './instance-row.js';
import { notFound } from './instances.js';

/**
 * Sets what an instance may cost, in USD; null takes the limit away. A limit that is passed already stops it with this
 * second; a higher one starts nothing. Refuses with invalid_request, not_found, and with action_failed for a destroyed one.
 */
export async function changeSpendLimit(
  deps: Deps,
  accountId: string,
  id: string,
  usd: number | null | undefined,
): Promise<InstanceRow> {
  const limit = limitOf(checkOptional('spendLimit', fields.spendLimit, usd));
  if (!INSTANCE_ID.test(id)) throw notFound();
  return write(deps, { accountIds: [accountId], instanceId: id }, (current) => {
    const account = renter(current, accountId);
    const instance = current.instance(id);
    if (instance === undefined) throw notFound();
    if (instance.status === 'DESTROYED')
      throw new DomainError('action_failed', 'a destroyed instance has no spend limit');
    setSpendLimit(current.step(account), instance, limit);
    return readWith(account, toRow(instance));
  });
}

/** When the instance's own limit was reached, or will be at its present rates; null when never. */
export function limitReachedAtOf(row: InstanceRow): Instant | null {
  const instance = fromRow(row);
  return instance.limitReachedAt ?? instanceLimitAt(instance);
}
