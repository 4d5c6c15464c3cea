import type { ApiKey, KeyLimit } from '../../database/generated/client/client.js';
import { required } from '../../std/required.js';
import type { LedgerDeps, SettlingDeps } from '../billing/deps.js';
import { type Write, write } from '../billing/ledger.js';
import { setMonthlyLimit } from '../billing/rules/settle.js';
import { monthSpendAt } from '../kernel/accrual.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { checkOptional, limitOf } from '../kernel/field.js';
import { type Account, runsOf } from '../kernel/lifecycle.js';
import type { Micro } from '../kernel/money.js';
import { limitReachedAt } from '../kernel/spend-limit.js';
import { type Instant, instantOf, latest } from '../kernel/time.js';
import { type AccountState, accountState } from './accounts.js';
import { findApiKey, limitedKey } from './api-keys.js';
import { accountFields } from './fields.js';
import { limitKey } from './key-limit.js';

export type { KeyLimit };

/** The account or operator that sets a limit. `keyId` is null for the operator. */
interface Setter {
  accountId: string;
  keyId: string | null;
}

/**
 * Sets the account's maximum spend per UTC month, in USD. Null removes the limit. If the account has already spent
 * more, all its running instances are stopped immediately. Raising the limit doesn't start any instances. Throws
 * invalid_request.
 */
export async function setAccountLimit(
  deps: SettlingDeps,
  { accountId, keyId }: Setter,
  usd: number | null | undefined,
): Promise<AccountState> {
  const limit = readMonthlyLimit(usd);
  await write(deps, { accountIds: [accountId] }, async (current) => {
    const account = current.lockedAccount(accountId);
    await checkUnlimited(current, account, keyId);
    const { live } = await current.limitedOf(account);
    setMonthlyLimit(current.step(account), account, limit, runsOf(account, live));
  });
  return accountState(deps, accountId);
}

/** Like `setAccountLimit`, except that it limits one of the account's API keys. Throws invalid_request or not_found. */
export async function setKeyLimit(
  deps: LedgerDeps,
  { accountId, keyId }: Setter,
  { id, monthlyLimit }: { id: string; monthlyLimit?: number | null | undefined },
): Promise<ApiKey> {
  const limit = readMonthlyLimit(monthlyLimit);
  if ((await findApiKey(deps, accountId, id)) === null) throw noKey();
  await write(deps, { accountIds: [accountId] }, async (current) => {
    const account = current.lockedAccount(accountId);
    await checkUnlimited(current, account, keyId);
    await limitKey(current, account, id, limit);
  });
  return required(await findApiKey(deps, accountId, id), 'limited key');
}

/** Throws forbidden if the key itself has a limit. */
async function checkUnlimited(current: Write, account: Account, keyId: string | null): Promise<void> {
  const { keys } = await current.limitedOf(account);
  if (keys.some(({ id }) => id === keyId)) throw limitedKey('set limits');
}

/** Converts a limit to micro-USD. Null means no limit. Throws invalid_request if the limit is out of bounds. */
function readMonthlyLimit(usd: number | null | undefined): Micro | null {
  return limitOf(checkOptional('monthlyLimit', accountFields.monthlyLimit, usd));
}

/** A limited key's spend this month, and when its limit was or will be reached this month. */
export interface KeySpend {
  monthSpend: Micro;
  limitReachedAt: Instant | null;
}

/** Returns a key's spend. The key's account must be settled. */
export function keySpend({ clock }: Pick<KernelDeps, 'clock'>, limit: KeyLimit): KeySpend {
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
