import { ceilDivide, type Micro, type Rate, shownBalance, shownSpend, type Units, unitsOfUsage } from './money.js';
import { type Instant, LAST_INSTANT, latest, monthStartOf } from './time.js';

/** Spend as a line: it was `spendUnits` at `settledAt` and has grown by `burnRate` each second since. */
export interface SpendLine {
  spendUnits: Units;
  burnRate: Rate;
  settledAt: Instant;
}

/** Spend as a line, and what of it is of the month. */
export interface MonthLine extends SpendLine {
  /** Spend at the first second of settledAt's UTC month. */
  monthStartSpendUnits: Units;
}

/**
 * An account's money in one row: balance, month spend and the second at which credit runs out follow from it, however
 * long the account's history is.
 */
export interface Accrual extends MonthLine {
  creditUnits: Units;
}

/** Spend at an instant not before `settledAt`; an earlier one (a clock stepped back) counts as `settledAt`. */
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

/** Spend of the UTC calendar month: the rounded total now less the rounded total at the month's first second. */
export function monthSpendAt(accrual: MonthLine, at: Instant): Micro {
  const seen = latest(at, accrual.settledAt);
  return lifetimeSpendAt(accrual, seen) - shownSpend(monthStartSpendUnitsAt(accrual, seen));
}

function monthStartSpendUnitsAt(accrual: MonthLine, at: Instant): Units {
  const monthStart = monthStartOf(at);
  return monthStart <= accrual.settledAt ? accrual.monthStartSpendUnits : spendUnitsAt(accrual, monthStart);
}

/** The first whole second at which credits − spend is zero or less; null when that never happens at this burn rate, or only after the year 9999. */
export function exhaustionOf(accrual: Accrual): Instant | null {
  const left = accrual.creditUnits - accrual.spendUnits;
  if (left <= 0n) return accrual.settledAt;
  if (accrual.burnRate === 0n) return null;
  const at = accrual.settledAt + ceilDivide(left, accrual.burnRate);
  return at > LAST_INSTANT ? null : at;
}

/**
 * The burn rate changes by `difference` at `from`. What lies between `from` and the line's origin, which never moves
 * back, is added at once: an end rounded up to its second may have moved it up to a second ahead of the clock.
 */
export function changeRate(accrual: MonthLine, difference: Rate, from: Instant): void {
  advance(accrual, from);
  const { settledAt } = accrual;
  const monthStart = monthStartOf(settledAt);
  accrual.spendUnits += unitsOfUsage(difference, settledAt - from);
  if (from < monthStart) accrual.monthStartSpendUnits += unitsOfUsage(difference, monthStart - from);
  accrual.burnRate += difference;
}

/** A charge at one instant, beside what grows by the second. */
export function addCharge(accrual: MonthLine, units: Units, at: Instant): void {
  advance(accrual, at);
  accrual.spendUnits += units;
  if (at < monthStartOf(accrual.settledAt)) accrual.monthStartSpendUnits += units;
}

/** Moves the origin of the line to `at`. Never moves it back. */
export function advance(accrual: MonthLine, at: Instant): void {
  if (at <= accrual.settledAt) return;
  accrual.monthStartSpendUnits = monthStartSpendUnitsAt(accrual, at);
  accrual.spendUnits = spendUnitsAt(accrual, at);
  accrual.settledAt = at;
}
