import type { LedgerDeps } from '../billing/deps.js';
import { settleOpenOutages } from './outage-credits.js';
import { settleOpenStarts } from './start-credits.js';

/**
 * Issues the credits that are due: for starts that ended or were seen running, and for outages that ended or during
 * which usage ended.
 */
export async function settleService(deps: LedgerDeps): Promise<void> {
  await settleOpenStarts(deps);
  await settleOpenOutages(deps);
}
