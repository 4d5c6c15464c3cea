import type { LedgerDeps } from '../billing/deps.js';
import { settleOpenOutages } from './outage-credits.js';
import { settleOpenStarts } from './start-credits.js';

/**
 * Issues all due credits: for starts that have ended or were seen running, and for outages that have ended or during
 * which usage ended.
 */
export async function settleService(deps: LedgerDeps): Promise<void> {
  await settleOpenStarts(deps);
  await settleOpenOutages(deps);
}
