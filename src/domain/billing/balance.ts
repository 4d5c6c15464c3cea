import { balanceAt, monthSpendAt } from '../kernel/accrual.js';
import type { KernelDeps } from '../kernel/deps.js';
import { type Account, diskDeleteAtOf, exhaustsAtOf } from '../kernel/lifecycle.js';
import type { Micro } from '../kernel/money.js';
import { type Instant, latest } from '../kernel/time.js';
import type { SettlingDeps } from './deps.js';
import { settledAccount } from './settlement.js';

export interface Balance {
  balance: Micro;
  /** Spend since the start of the UTC month. */
  monthSpend: Micro;
  /** Sum of all GPU, disk and volume rates currently being charged, in micro-USD per hour. */
  burnPerHour: Micro;
  /** The second in which credit runs out at the current burn or already ran out. Null if it won't run out. */
  exhaustsAt: Instant | null;
  /**
   * End of the current or next grace period, when instances are destroyed and volumes are deleted unless credit is
   * added first.
   */
  diskDeleteAt: Instant | null;
  /** The second to which all figures refer. */
  asOf: Instant;
}

/** Returns the settled balance, exact to the second. */
export async function readBalance(deps: SettlingDeps, accountId: string): Promise<Balance> {
  return balanceOf(deps, await settledAccount(deps, accountId));
}

export function balanceOf({ clock, settings }: Pick<KernelDeps, 'clock' | 'settings'>, account: Account): Balance {
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
