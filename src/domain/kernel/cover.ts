import { type Accrual, balanceAt, balanceUnitsAt } from './accrual.js';
import { DomainError, type ErrorCode } from './errors.js';
import { formatUsd, type Rate, shownCost, type Units, unitsOfUsage } from './money.js';
import { PREEMPTION_MINIMUM_SECONDS } from './preemption.js';
import { type Instant, SECONDS_PER_HOUR } from './time.js';

export interface AddedRates {
  addedRate: Rate;
  /** Instances that would be preempted. */
  preempted: readonly { accountId: string; gpuRate: Rate }[];
  coverSeconds: bigint;
}

/** Returns the required balance, which must cover `coverSeconds` at all rates that the account would then be paying. */
export function coverNeeded(account: Pick<Accrual, 'burnRate'> & { id: string }, added: AddedRates): Units {
  return unitsOfUsage(burnAfter(account, added), secondsNeeded(added));
}

/**
 * Returns the number of seconds to cover. Preempting another instance requires at least enough balance to pay the
 * minimum.
 */
function secondsNeeded({ preempted, coverSeconds }: AddedRates): bigint {
  const isMinimum = preempted.length > 0 && coverSeconds < PREEMPTION_MINIMUM_SECONDS;
  return isMinimum ? PREEMPTION_MINIMUM_SECONDS : coverSeconds;
}

/**
 * Returns the current burn plus `addedRate`, minus the rates of the account's own instances that would be preempted.
 */
export function burnAfter(
  { id, burnRate }: { id: string; burnRate: Rate },
  { addedRate, preempted }: Pick<AddedRates, 'addedRate' | 'preempted'>,
): Rate {
  const yielding = preempted.filter(({ accountId }) => accountId === id);
  return yielding.reduce((sum, { gpuRate }) => sum - gpuRate, burnRate + addedRate);
}

/**
 * Throws an error with `code` unless the balance covers `coverSeconds` at all GPU, disk and volume rates that the
 * account would be paying after a deploy, a start or a volume's growth.
 */
export function checkCover(account: Accrual & { id: string }, at: Instant, added: AddedRates, code: ErrorCode): void {
  const needed = coverNeeded(account, added);
  if (balanceUnitsAt(account, at) >= needed) return;
  const seconds = secondsNeeded(added);
  const isHours = seconds === added.coverSeconds;
  const span = isHours ? `${Number(seconds) / Number(SECONDS_PER_HOUR)} h` : `${seconds} s`;
  const [has, needs] = [balanceAt(account, at), shownCost(needed)].map(formatUsd);
  throw new DomainError(
    code,
    `balance too low: ${has} USD does not cover ${span} for all instances, which costs ${needs} USD`,
    {
      reason: 'balance',
    },
  );
}
