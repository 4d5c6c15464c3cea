import { ceilDivide, type Micro, type Rate, shownBalance, shownSpend, type Units, unitsOfUsage } from './money.js';
import { type Instant, LAST_INSTANT, latest, monthStartOf } from './time.js';

/** Spend as a line: it was `spendUnits` at `settledAt` and has grown by `burnRate` each second since. */
export interface SpendLine {
  spendUnits: Units;
  burnRate: Rate;
  settledAt: Instant;
}

/** Spend as a line, with the month's share of it. */
export interface MonthLine extends SpendLine {
  /** Spend at the first second of settledAt's UTC month. */
  monthStartSpendUnits: Units;
}

/**
 * An account's money in one row. Balance, month spend and the second at which credit runs out are derived from it,
 * regardless of the length of the account's history.
 */
export interface Accrual extends MonthLine {
  creditUnits: Units;
}

/**
 * Returns the spend at an instant not before `settledAt`; an earlier one (a clock stepped back) counts as `settledAt`.
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
 * Returns the spend of the UTC calendar month: the rounded total now less the rounded total at the month's first
 * second.
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
 * Returns the first whole second at which credits − spend is zero or less; null if that never happens at this burn
 * rate, or only after the year 9999.
 */
export function exhaustionOf(accrual: Accrual): Instant | null {
  const left = accrual.creditUnits - accrual.spendUnits;
  if (left <= 0n) return accrual.settledAt;
  if (accrual.burnRate === 0n) return null;
  const at = accrual.settledAt + ceilDivide(left, accrual.burnRate);
  return at > LAST_INSTANT ? null : at;
}

/**
 * Changes the burn rate by `difference` at `from`. Usage between `from` and the line's origin, which never moves back,
 * is added immediately: an end rounded up to its second may have moved the origin up to a second ahead of the clock.
 */
export function changeRate(accrual: MonthLine, difference: Rate, from: Instant): void {
  advance(accrual, from);
  const { settledAt } = accrual;
  const monthStart = monthStartOf(settledAt);
  accrual.spendUnits += unitsOfUsage(difference, settledAt - from);
  if (from < monthStart) accrual.monthStartSpendUnits += unitsOfUsage(difference, monthStart - from);
  accrual.burnRate += difference;
}

/** Adds a charge at one instant, in addition to what grows per second. */
export function addCharge(accrual: MonthLine, units: Units, at: Instant): void {
  advance(accrual, at);
  accrual.spendUnits += units;
  if (at < monthStartOf(accrual.settledAt)) accrual.monthStartSpendUnits += units;
}

/** Moves the origin of the line to `at`, but never back. */
export function advance(accrual: MonthLine, at: Instant): void {
  if (at <= accrual.settledAt) return;
  accrual.monthStartSpendUnits = monthStartSpendUnitsAt(accrual, at);
  accrual.spendUnits = spendUnitsAt(accrual, at);
  accrual.settledAt = at;
}
