import { only } from '../../database/only.js';
import type { Transaction } from '../../database/transaction.js';
import type { LedgerDeps } from '../billing/deps.js';
import { write } from '../billing/ledger.js';
import { DomainError } from '../kernel/errors.js';
import { randomId } from '../kernel/random-id.js';
import { formatInstant, type Instant, SECONDS_PER_DAY } from '../kernel/time.js';
import { ACCOUNT_ID_BYTES } from './accounts.js';
import { createApiKey } from './api-keys.js';

/** Maximum number of accounts that can be created by sign-up within 24 hours. */
const MAX_SIGN_UPS_PER_DAY = 200;
const RETRY_AFTER_SECONDS = 3_600;
/** Name of all accounts created by sign-up, which doesn't ask for any data. */
const NAME = 'Signed up';

/** Creates an account without credit and its first API key. The key can't be retrieved later. Throws rate_limited. */
export async function signUp(deps: LedgerDeps): Promise<{ accountId: string; keyId: string; key: string }> {
  const id = randomId('acc', ACCOUNT_ID_BYTES);
  const newAccount = { id, name: NAME, demo: false, signedUp: true };
  await write(
    deps,
    { accountIds: [id], newAccount },
    () => {},
    (transaction) => checkDailyLimit(transaction, deps.clock.now()),
  );
  const { apiKey, secret } = await createApiKey(deps, id);
  return { accountId: id, keyId: apiKey.id, key: secret };
}

async function checkDailyLimit(transaction: Transaction, now: Instant): Promise<undefined> {
  // This lock serializes counting and creation across all gateways.
  await transaction.query(`select pg_advisory_xact_lock(hashtextextended('sign-up', 0))`);
  const { rows } = await transaction.query<{ count: bigint }>(
    'select count(*) as count from account where signed_up_at > $1::timestamptz',
    [formatInstant(now - SECONDS_PER_DAY)],
  );
  if (Number(only(rows).count) < MAX_SIGN_UPS_PER_DAY) return;
  throw new DomainError(
    'rate_limited',
    `at most ${MAX_SIGN_UPS_PER_DAY} accounts can be created in 24 hours; try again later`,
    {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    },
  );
}
