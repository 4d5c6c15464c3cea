/** Minimum number of days shown, so that bars aren't wider than they are high. */
const MIN_DAYS = 7;

/** Leaves out the days before the first spend, because they are empty. At least a week remains. */
export function fromFirstSpend<Day extends { total: number }>(days: readonly Day[]): readonly Day[] {
  const first = days.findIndex(({ total }) => total !== 0);
  return days.slice(Math.max(0, Math.min(first, days.length - MIN_DAYS)));
}
