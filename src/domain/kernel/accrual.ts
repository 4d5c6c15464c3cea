import { ceilDivide, type Micro, type Rate, shownBalance, shownSpend, type Units, unitsOfUsage } from './money.js';
import { type Instant, LAST_INSTANT, latest, monthStartOf } from './time.js';

/** Spend as a line: it was `spendUnits` at `settledAt` and has grown at `burnRate` ever since. */
export interface SpendLine {
  spendUnits: Units;
  burnRate: Rate;
  settledAt: Instant;
}

/** Spend as a line, with the information needed to derive this month's spend. */
export interface MonthLine extends SpendLine {
  /** Spend at the first second of the UTC month that contains `settledAt`. */
  monthStartSpendUnits: Units;
}

/**
 * An account's money in a single row. The balance, the month's spend and the second in which credit runs out are all
 * derived from this row, no matter how long the account's history is.
 */
export interface Accrual extends MonthLine {
  creditUnits: Units;
}

/**
 * Returns the spend at an instant. If the instant is before `settledAt` because the clock stepped back, returns the
 * spend at `settledAt`.
 */
function spendUnitsAt(accrual: SpendLine, at: Instant): Units {
  return at <= accrual.settledAt
    ? accrual.spendUnits
    : accrual.spendUnits + unitsOfUsage(accrual.burnRate, at - accrual.settledAt);
}

export function balanceUnitsAt(accrual: Accrual, at: Instant): Units {
  return accrual.creditUnits - spendUnitsAt(accrual, at);
}

export function balanceAt(accrual: Accrual, at: Instant): Micro {
  return shownBalance(accrual.creditUnits, spendUnitsAt(accrual, at));
}

export function lifetimeSpendAt(accrual: SpendLine, at: Instant): Micro {
  return shownSpend(spendUnitsAt(accrual, at));
}

/**
 * Returns the spend in the UTC calendar month, which is the rounded total now minus the rounded total at the first
 * second of the month.
 */
export function monthSpendAt(accrual: MonthLine, at: Instant): Micro {
  const seen = latest(at, accrual.settledAt);
  return lifetimeSpendAt(accrual, seen) - shownSpend(monthStartSpendUnitsAt(accrual, seen));
}

function monthStartSpendUnitsAt(accrual: MonthLine, at: Instant): Units {
  const monthStart = monthStartOf(at);
  return monthStart <= accrual.settledAt ? accrual.monthStartSpendUnits : spendUnitsAt(accrual, monthStart);
}

/**
 * Returns the first whole second at which credit minus spend is zero or less. Returns null if this never happens at the
 * current burn rate, or only after the year 9999.
 */
export function exhaustionOf(accrual: Accrual): Instant | null {
  const left = accrual.creditUnits - accrual.spendUnits;
  if (left <= 0n) return accrual.settledAt;
  if (accrual.burnRate === 0n) return null;
  const at = accrual.settledAt + ceilDivide(left, accrual.burnRate);
  return at > LAST_INSTANT ? null : at;
}

/**
 * Changes the burn rate by `difference`, starting at `from`. The line's origin never moves back, so if `from` precedes
 * it, the usage between the two is added immediately. The origin can be up to a second ahead of the clock if it was
 * moved by an end that was rounded up to a whole second.
 */
export function changeRate(accrual: MonthLine, difference: Rate, from: Instant): void {
  advance(accrual, from);
  const { settledAt } = accrual;
  const monthStart = monthStartOf(settledAt);
  accrual.spendUnits += unitsOfUsage(difference, settledAt - from);
  if (from < monthStart) accrual.monthStartSpendUnits += unitsOfUsage(difference, monthStart - from);
  accrual.burnRate += difference;
}

/** Adds a charge at a single instant, on top of the spend that grows every second. */
export function addCharge(accrual: MonthLine, units: Units, at: Instant): void {
  advance(accrual, at);
  accrual.spendUnits += units;
  if (at < monthStartOf(accrual.settledAt)) accrual.monthStartSpendUnits += units;
}

/** Moves the line's origin forward to `at`. The origin never moves back. */
export function advance(accrual: MonthLine, at: Instant): void {
  if (at <= accrual.settledAt) return;
  accrual.monthStartSpendUnits = monthStartSpendUnitsAt(accrual, at);
  accrual.spendUnits = spendUnitsAt(accrual, at);
  accrual.settledAt = at;
}
