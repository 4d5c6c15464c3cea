import type { ApiKey, KeyLimit } from '../../database/generated/client/client.js';
import { type Write, write } from '../billing/ledger.js';
import type { Deps } from '../deps.js';
import { checkOptional, fields, limitOf } from '../fields.js';
import { monthSpendAt } from '../rules/accrual.js';
import { DomainError } from '../rules/errors.js';
import { type Account, runsOf } from '../rules/lifecycle.js';
import type { Micro } from '../rules/money.js';
import { setMonthlyLimit } from '../rules/settle.js';
import { limitReachedAt } from '../rules/spend-limit.js';
import { type Instant, instantOf, latest } from '../rules/time.js';
import { type AccountState, accountState } from './accounts.js';
import { findApiKey, limitedKey } from './api-keys.js';
import { limitKey } from './key-limit.js';

export type { KeyLimit };

/** Who sets a limit: null is the operator. */
interface Setter {
  accountId: string;
  keyId: string | null;
}

/**
 * Sets what the account may spend in a UTC month, in USD; null takes the limit away. A limit that is passed already
 * stops everything with this second; a higher one starts nothing. Refuses with invalid_request.
 */
export async function setAccountLimit(
  deps: Deps,
  { accountId, keyId }: Setter,
  usd: number | null | undefined,
): Promise<AccountState> {
  const limit = readMonthlyLimit(usd);
  await write(deps, { accountIds: [accountId] }, async (current) => {
    const account = current.account(accountId)!;
    await checkUnlimited(current, account, keyId);
    const { live } = await current.limitedOf(account);
    setMonthlyLimit(current.step(account), account, limit, runsOf(account, live));
  });
  return accountState(deps, accountId);
}

/** As `setAccountLimit`, for what one of its API keys began. Refuses with invalid_request and not_found. */
export async function setKeyLimit(
  deps: Deps,
  { accountId, keyId }: Setter,
  { id, monthlyLimit }: { id: string; monthlyLimit?: number | null | undefined },
): Promise<ApiKey> {
  const limit = readMonthlyLimit(monthlyLimit);
  if ((await findApiKey(deps, accountId, id)) === null) throw noKey();
  await write(deps, { accountIds: [accountId] }, async (current) => {
    const account = current.account(accountId)!;
    await checkUnlimited(current, account, keyId);
    await limitKey(current, account, id, limit);
  });
  return (await findApiKey(deps, accountId, id))!;
}

/** Refuses with forbidden a key that has a limit itself. */
async function checkUnlimited(current: Write, account: Account, keyId: string | null): Promise<void> {
  const { keys } = await current.limitedOf(account);
  if (keys.some(({ id }) => id === keyId)) throw limitedKey('set limits');
}

/** Within the field's bounds, in micro-USD; null for none. Refuses with invalid_request. */
function readMonthlyLimit(usd: number | null | undefined): Micro | null {
  return limitOf(checkOptional('monthlyLimit', fields.monthlyLimit, usd));
}

/** What was spent this month by a key with a limit, and when that was reached this month, or will be. */
export interface KeySpend {
  monthSpend: Micro;
  limitReachedAt: Instant | null;
}

/** Of a settled account's key. */
export function keySpend({ clock }: Deps, limit: KeyLimit): KeySpend {
  const settledAt = instantOf(limit.settledAt);
  const now = latest(clock.now(), settledAt);
  const [reached, next] = [limit.limitReachedAt, limit.limitAt].map((at) => at && instantOf(at));
  return {
    monthSpend: monthSpendAt({ ...limit, settledAt }, now),
    limitReachedAt: limitReachedAt({ limitReachedAt: reached ?? null, limitAt: next ?? null }, now),
  };
}

function noKey(): DomainError {
  return new DomainError('not_found', 'no such API key');
}
