import { inTransaction } from '../../database/transaction.js';
import type { KernelDeps } from '../kernel/deps.js';
import { resealSigningKeys } from '../proof/signing-keys.js';
import { resealVolumes } from '../volumes/password.js';
import { resealWebhooks } from '../webhooks/webhooks.js';
import { resealTokens } from './generated-tokens.js';
import { resealSome } from './secrets.js';

/** Maximum number of secrets resealed in one transaction. */
const BATCH = 100;

/**
 * Reseals every secret, generated token, volume password, webhook secret and signing key that wasn't sealed
 * with the first key. Returns how many were resealed. Throws if a key is missing.
 */
export async function resealSecrets(deps: Pick<KernelDeps, 'db' | 'sealingKeys'>): Promise<number> {
  const keys = await deps.sealingKeys();
  let resealed = 0;
  for (const reseal of [resealSome, resealTokens, resealVolumes, resealWebhooks, resealSigningKeys]) {
    for (let done = BATCH; done === BATCH; resealed += done)
      done = await inTransaction(deps.db.pool, (transaction) => reseal(transaction, keys, BATCH));
  }
  return resealed;
}
