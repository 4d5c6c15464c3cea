import type { Deps } from '../deps.js';
import { balanceAt, monthSpendAt } from '../rules/accrual.js';
import { type Account, diskDeleteAtOf, exhaustsAtOf } from '../rules/lifecycle.js';
import type { Micro } from '../rules/money.js';
import { type Instant, latest } from '../rules/time.js';
import { settledAccount } from './settlement.js';

export interface Balance {
  balance: Micro;
  /** Since the first of the UTC month. */
  monthSpend: Micro;
  /** The sum of all GPU, disk and volume rates being paid now, micro-USD per hour. */
  burnPerHour: Micro;
  /** When credit runs out at the present burn, or ran out; null when it never will. */
  exhaustsAt: Instant | null;
  /**
   * When instances are destroyed and volumes deleted unless credit is added: the end of the present grace period, or of the one to come.
   */
  diskDeleteAt: Instant | null;
  /** The second that all figures are of. */
  asOf: Instant;
}

/** Settled first, so that it is exact to the second. */
export async function readBalance(deps: Deps, accountId: string): Promise<Balance> {
  return balanceOf(deps, await settledAccount(deps, accountId));
}

export function balanceOf({ clock, settings }: Deps, account: Account): Balance {
  const now = latest(clock.now(), account.settledAt);
  return {
    balance: balanceAt(account, now),
    monthSpend: monthSpendAt(account, now),
    burnPerHour: account.burnRate,
    exhaustsAt: exhaustsAtOf(account),
    diskDeleteAt: diskDeleteAtOf(account, settings.graceSeconds),
    asOf: now,
  };
}
