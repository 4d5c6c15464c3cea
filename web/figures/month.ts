import { accrued, type Micro } from './money.js';
import { monthEnd } from './time.js';

export interface MonthRow {
  key: string;
  /** Amount spent in the period. */
  spent: Micro;
  /** Current hourly rate. */
  rate: Micro;
  /** Projected total at the end of the month, at the current rate. */
  forecast: Micro;
}

interface Spent {
  key: string;
  amount: Micro;
}

/** Adds up the rows of a cost table, so that its total is exact. */
export function totalOf(rows: readonly MonthRow[]): Omit<MonthRow, 'key'> {
  const none = { spent: 0n, rate: 0n, forecast: 0n };
  return rows.reduce(
    (sum, { spent, rate, forecast }) => ({
      spent: sum.spent + spent,
      rate: sum.rate + rate,
      forecast: sum.forecast + forecast,
    }),
    none,
  );
}

/**
 * Returns each key's cost up to `asOf`, and its forecast for the whole month at the current hourly rate. The
 * highest forecast comes first. Keys that have only had costs since `asOf` are included.
 */
export function monthRows(spent: readonly Spent[], rates: readonly Spent[], asOf: number): MonthRow[] {
  const perHour = new Map<string, Micro>();
  for (const { key, amount } of rates) perHour.set(key, (perHour.get(key) ?? 0n) + amount);
  const amounts = new Map(spent.map(({ key, amount }) => [key, amount]));
  return [...new Set([...amounts.keys(), ...perHour.keys()])]
    .map((key) => {
      const rate = perHour.get(key) ?? 0n;
      const soFar = amounts.get(key) ?? 0n;
      return { key, spent: soFar, rate, forecast: soFar + accrued(rate, monthEnd(asOf) - asOf) };
    })
    .filter(({ forecast }) => forecast > 0n)
    .toSorted(({ forecast: one }, { forecast: other }) => (one < other ? 1 : one > other ? -1 : 0));
}
