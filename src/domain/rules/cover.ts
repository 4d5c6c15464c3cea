import { type Accrual, balanceAt, balanceUnitsAt } from './accrual.js';
import { DomainError, type ErrorCode } from './errors.js';
import { formatUsd, type Rate, shownCost, unitsOfUsage } from './money.js';
import { type Instant, SECONDS_PER_HOUR } from './time.js';

/**
 * Before a deploy or start the balance must cover, for `coverSeconds`, every GPU and disk rate that the account would
 * then be paying: those of now, plus `addedRate`, less the rate of an instance of its own that yields. Refuses with `code`.
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
  const needed = unitsOfUsage(account.burnRate + addedRate - freedRate, coverSeconds);
  if (balanceUnitsAt(account, at) >= needed) return;
  const hours = Number(coverSeconds) / Number(SECONDS_PER_HOUR);
  const [has, needs] = [balanceAt(account, at), shownCost(needed)].map(formatUsd);
  throw new DomainError(code, `balance too small: ${has} USD does not cover ${hours} h of all instances, ${needs} USD`);
}
