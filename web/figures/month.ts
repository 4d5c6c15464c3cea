import { accrued, type Micro } from './money.js';
import { monthEnd } from './time.js';

export interface MonthRow {
  key: string;
  /** Since the first of the UTC month. */
  spent: Micro;
  /** Per hour, now. */
  rate: Micro;
  /** At the end of the month, if all goes on. */
  forecast: Micro;
}

interface Spent {
  key: string;
  amount: Micro;
}

/**
 * What each key cost this month up to `asOf`, with what it costs then per hour, reckoned on to the month's end: the greatest
 * forecast first. A key that only costs since `asOf` is there too.
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
