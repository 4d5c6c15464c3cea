import { type Accrual, balanceUnitsAt } from '../../kernel/accrual.js';
import { DomainError } from '../../kernel/errors.js';
import { formatUsd, shownCost } from '../../kernel/money.js';
import { earlyExitUnitsAt, type ReservedTerm } from '../../kernel/reserved.js';
import type { Instant } from '../../kernel/time.js';

/** Throws action_failed if the balance can't repay the discount of a reserved term that is ended early. */
export function checkEarlyExit(account: Accrual, term: ReservedTerm, at: Instant): void {
  const cost = earlyExitUnitsAt(term, at);
  if (cost === 0n || balanceUnitsAt(account, at) >= cost) return;
  throw new DomainError(
    'action_failed',
    `leaving the reserved term early costs ${formatUsd(shownCost(cost))} USD, more than the balance`,
  );
}
