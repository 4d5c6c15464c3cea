import type { Deps } from '../deps.js';
import { balanceAt, monthSpendAt } from '../rules/accrual.js';
import type { Account } from '../rules/lifecycle.js';
import type { Micro } from '../rules/money.js';
import type { Instant } from '../rules/time.js';
import { settled } from './settlement.js';

export interface Balance {
  balance: Micro;
  /** Since the first of the UTC month. */
  monthSpend: Micro;
  /** The sum of all GPU and disk rates being paid now, micro-USD per hour. */
  burnPerHour: Micro;
}

/** Settled first, so that it is exact to the second. */
export async function readBalance(deps: Deps, accountId: string): Promise<Balance> {
  return balanceOf(await settled(deps, accountId), deps.clock.now());
}

export function balanceOf(account: Account, now: Instant): Balance {
  return {
    balance: balanceAt(account, now),
    monthSpend: monthSpendAt(account, now),
    burnPerHour: account.burnRate,
  };
}
