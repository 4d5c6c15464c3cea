import { computed } from '@preact/signals';
import { accrued, CENT, type Micro } from '../figures/money.js';
import { monthEnd } from '../figures/time.js';
import { balanceNow, figures, monthSpendNow, reading } from './account.js';
import { serverNow } from './clock.js';

export interface Forecast {
  /** Cost of the whole UTC month at the current rate, assuming unlimited credit. */
  total: Micro;
  /** Credit needed in addition to the balance, rounded up to whole cents. It is 0 if the balance suffices. */
  missing: Micro;
}

/** The month's forecast, or null until the account is known. */
export const forecast = computed<Forecast | null>(() => {
  const known = figures.value;
  if (known === null) return null;
  const now = reading.value?.asOf ?? serverNow.value;
  const rest = accrued(known.burn, monthEnd(now) - now);
  const missing = rest - balanceNow.value;
  const isShort = missing > 0n && rest > 0n;
  return { total: monthSpendNow.value + rest, missing: isShort ? ((missing + CENT - 1n) / CENT) * CENT : 0n };
});
