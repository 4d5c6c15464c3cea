import { type Accrual, balanceUnitsAt } from './accrual.js';
import { DomainError } from './errors.js';
import { formatUsd, shownCost } from './money.js';
import { earlyExitUnitsAt, type ReservedTerm } from './reserved.js';
import type { Instant } from './time.js';

/** Throws action_failed if the balance can't repay the discount of a reserved term that is ended early. */
export function checkEarlyExit(account: Accrual, term: ReservedTerm, at: Instant): void {
  const cost = earlyExitUnitsAt(term, at);
  if (cost === 0n || balanceUnitsAt(account, at) >= cost) return;
  throw new DomainError(
    'action_failed',
    `leaving the reserved term early costs ${formatUsd(shownCost(cost))} USD, more than the balance`,
  );
}
