import { type Accrual, balanceAt, balanceUnitsAt } from './accrual.js';
import { DomainError, type ErrorCode } from './errors.js';
import { formatUsd, type Rate, shownCost, type Units, unitsOfUsage } from './money.js';
import { PREEMPTION_MINIMUM_SECONDS } from './preemption.js';
import { type Instant, SECONDS_PER_HOUR } from './time.js';

export interface AddedRates {
  addedRate: Rate;
  /** The instances that have to stop for it. */
  preempted: readonly { accountId: string; gpuRate: Rate }[];
  coverSeconds: bigint;
}

/** What the balance must hold: `coverSeconds` of every rate that the account would then be paying. */
export function coverNeeded(account: Pick<Accrual, 'burnRate'> & { id: string }, added: AddedRates): Units {
  return unitsOfUsage(burnAfter(account, added), secondsNeeded(added));
}

/** Whoever sends another instance away must at least be able to pay its minimum. */
function secondsNeeded({ preempted, coverSeconds }: AddedRates): bigint {
  const isMinimum = preempted.length > 0 && coverSeconds < PREEMPTION_MINIMUM_SECONDS;
  return isMinimum ? PREEMPTION_MINIMUM_SECONDS : coverSeconds;
}

/** The sum of the rates of now and `addedRate`, less the rates of instances of its own that yield. */
export function burnAfter(
  { id, burnRate }: { id: string; burnRate: Rate },
  { addedRate, preempted }: Pick<AddedRates, 'addedRate' | 'preempted'>,
): Rate {
  const yielding = preempted.filter(({ accountId }) => accountId === id);
  return yielding.reduce((sum, { gpuRate }) => sum - gpuRate, burnRate + addedRate);
}

/**
 * Before a deploy, a start or a larger volume the balance must cover, for `coverSeconds`, every GPU, disk and volume rate
 * that the account would then be paying. Refuses with `code`.
 */
export function checkCover(account: Accrual & { id: string }, at: Instant, added: AddedRates, code: ErrorCode): void {
  const needed = coverNeeded(account, added);
  if (balanceUnitsAt(account, at) >= needed) return;
  const seconds = secondsNeeded(added);
  const isHours = seconds === added.coverSeconds;
  const span = isHours ? `${Number(seconds) / Number(SECONDS_PER_HOUR)} h` : `${seconds} s`;
  const [has, needs] = [balanceAt(account, at), shownCost(needed)].map(formatUsd);
  throw new DomainError(code, `balance too small: ${has} USD does not cover ${span} of all instances, ${needs} USD`, {
    reason: 'balance',
  });
}
