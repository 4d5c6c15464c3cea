import type { Deps } from './deps.js';
import { balanceAt, monthSpendAt } from './rules/accrual.js';
import type { Micro } from './rules/money.js';
import { settled } from './settlement.js';

export interface Balance {
  balance: Micro;
  /** Since the first of the UTC month. */
  monthSpend: Micro;
}

/** Right to the second, whatever ran before. */
export async function readBalance(deps: Deps, accountId: string): Promise<Balance> {
  const account = await settled(deps, accountId);
  const now = deps.clock.now();
  return { balance: balanceAt(account, now), monthSpend: monthSpendAt(account, now) };
}
