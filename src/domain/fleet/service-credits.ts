import type { Deps } from '../deps.js';
import { settleOpenOutages } from './outage-credits.js';
import { settleOpenStarts } from './start-credits.js';

/** Gives back what is due: starts that are over or were seen, outages that ended or of which something did. */
export async function settleService(deps: Deps): Promise<void> {
  await settleOpenStarts(deps);
  await settleOpenOutages(deps);
}
