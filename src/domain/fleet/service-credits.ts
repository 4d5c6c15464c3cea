import type { Deps } from '../deps.js';
import { settleOpenOutages } from './outage-credits.js';
import { settleOpenStarts } from './start-credits.js';

/** Books due credits: for starts that ended or were seen running, and outages that ended or in which usage ended. */
export async function settleService(deps: Deps): Promise<void> {
  await settleOpenStarts(deps);
  await settleOpenOutages(deps);
}
