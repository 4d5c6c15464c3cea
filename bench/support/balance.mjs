const UNITS_PER_MICRO = 3_600;
const MICRO_PER_USD = 1_000_000;

/**
 * Computes an account's balance and its spend in this month, in USD, from its row. Uses ordinary numbers, because the
 * amounts are far below 2^53 units.
 */
export function balanceOf(row) {
  const now = Math.floor(Date.now() / 1_000);
  const monthStart = Date.UTC(new Date(now * 1_000).getUTCFullYear(), new Date(now * 1_000).getUTCMonth()) / 1_000;
  const settledAt = new Date(row.settled_at).getTime() / 1_000;
  const spendAt = (second) => Number(row.spend_units) + Number(row.burn_rate) * Math.max(second - settledAt, 0);
  const spend = microOf(spendAt(now));
  const before = microOf(monthStart <= settledAt ? Number(row.month_start_spend_units) : spendAt(monthStart));
  const credit = microOf(Number(row.credit_units));
  return { balance: (credit - spend) / MICRO_PER_USD, monthSpend: (spend - before) / MICRO_PER_USD };
}

function microOf(units) {
  return Math.floor(units / UNITS_PER_MICRO);
}
