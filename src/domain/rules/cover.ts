import { type Accrual, balanceAt, balanceUnitsAt } from './accrual.js';
import { DomainError, type ErrorCode } from './errors.js';
import { formatUsd, type Rate, shownCost, unitsOfUsage } from './money.js';
import { PREEMPTION_MINIMUM_SECONDS } from './preemption.js';
import { type Instant, SECONDS_PER_HOUR } from './time.js';

/**
 * Before a deploy or start the balance must cover, for `coverSeconds`, every GPU and disk rate that the account would
 * then be paying: those of now, plus `addedRate`, less the rate of an instance of its own that yields. Whoever sends one
 * away must at least be able to pay its minimum. Refuses with `code`.
 */
export function checkCover(
  account: Accrual & { id: string },
  at: Instant,
  {
    addedRate,
    preempted,
    coverSeconds,
  }: { addedRate: Rate; preempted: { accountId: string; gpuRate: Rate } | null; coverSeconds: bigint },
  code: ErrorCode,
): void {
  const freedRate = preempted?.accountId === account.id ? preempted.gpuRate : 0n;
  const isMinimum = preempted !== null && coverSeconds < PREEMPTION_MINIMUM_SECONDS;
  const seconds = isMinimum ? PREEMPTION_MINIMUM_SECONDS : coverSeconds;
  const needed = unitsOfUsage(account.burnRate + addedRate - freedRate, seconds);
  if (balanceUnitsAt(account, at) >= needed) return;
  const span = isMinimum ? `${seconds} s` : `${Number(seconds) / Number(SECONDS_PER_HOUR)} h`;
  const [has, needs] = [balanceAt(account, at), shownCost(needed)].map(formatUsd);
  throw new DomainError(code, `balance too small: ${has} USD does not cover ${span} of all instances, ${needs} USD`);
}
