import { createHash, randomBytes } from 'node:crypto';
import { inTransaction } from '../../database/transaction.js';
import { every, type Sweep } from '../billing/sweep.js';
import type { Deps } from '../deps.js';
import { hashApiKey } from '../rules/api-key.js';
import { formatInstant, type Instant, SECONDS_PER_HOUR } from '../rules/time.js';
import type { KeyOwner } from './api-key-cache.js';
import { type Caller, callerOf } from './api-keys.js';

/** How long a browser stays signed in. */
export const SESSION_SECONDS = 12n * SECONDS_PER_HOUR;
/** Sessions of one key: one more ends the oldest. */
const MAX_SESSIONS_PER_KEY = 20;
const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;
/** A session that expires ends its open streams within this time. */
const SWEEP_EVERY_MS = 1_000;

/**
 * Begins a session of an API key, and returns the token that stands for it from then on: always a new one, of which
 * only the hash is stored. Null for a key that is not accepted.
 */
export async function beginSession(deps: Deps, key: string): Promise<string | null> {
  const hash = hashApiKey(key);
  if (hash === null) return null;
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const now = deps.clock.now();
  const isBegun = await inTransaction(deps.db.pool, async (transaction) => {
    // The account is locked against a suspension under way, which ends the sessions that it sees.
    const { rows } = await transaction.query<{ keyId: string }>(
      `select api_key.id as "keyId" from api_key join account on account.id = account_id
       where hash = $1 and revoked_at is null and suspended_at is null for share of account`,
      [hash],
    );
    if (rows[0] === undefined) return false;
    const { keyId } = rows[0];
    await transaction.query(
      `insert into console_session (token_hash, key_id, created_at, expires_at)
       values ($1, $2, $3::timestamptz, $4::timestamptz)`,
      [hashToken(token), keyId, formatInstant(now), formatInstant(now + SESSION_SECONDS)],
    );
    await transaction.query(
      `delete from console_session where key_id = $1 and token_hash in (
         select token_hash from console_session where key_id = $1 order by created_at desc, token_hash = $2 desc offset $3)`,
      [keyId, hashToken(token), MAX_SESSIONS_PER_KEY],
    );
    return true;
  });
  return isBegun ? token : null;
}

/** Signs out. An unknown token is ignored. */
export async function endSession(deps: Deps, token: string): Promise<void> {
  if (!TOKEN.test(token)) return;
  await deps.db.pool.query('delete from console_session where token_hash = $1', [hashToken(token)]);
  // The notice of the deleted row may come after this answer.
  deps.apiKeyCache.forget(hashToken(token));
}

/** A caller that a session stands for; null once it is over. */
export async function authenticateSession(
  deps: Deps,
  token: string,
): Promise<(Caller & { expiresAt: Instant }) | null> {
  if (!TOKEN.test(token)) return null;
  const hash = hashToken(token);
  const owner = await deps.apiKeyCache.get(hash, () => readOwner(deps, hash));
  const expiresAt = owner?.expiresAt ?? null;
  if (owner === null || expiresAt === null || expiresAt <= deps.clock.now()) return null;
  return { ...callerOf(deps, owner), session: hash, expiresAt };
}

async function readOwner(deps: Deps, hash: Buffer): Promise<KeyOwner | null> {
  const { rows } = await deps.db.pool.query<KeyOwner>({
    name: 'authenticate-session',
    text: `select api_key.account_id as "accountId", api_key.id as "keyId", expires_at as "expiresAt",
             spend_units as "spendUnits", burn_rate as "burnRate", settled_at as "settledAt"
           from console_session join api_key on api_key.id = key_id join account on account.id = api_key.account_id
           where token_hash = $1 and revoked_at is null and suspended_at is null`,
    values: [hash],
  });
  return rows[0] ?? null;
}

/** Removes sessions that are over, which ends their streams at every gateway. */
export function startSessionSweep(deps: Deps, onFault: (error: unknown) => void): Sweep {
  const sweep = () =>
    deps.db.pool.query('delete from console_session where expires_at <= $1::timestamptz', [
      formatInstant(deps.clock.now()),
    ]);
  return every(SWEEP_EVERY_MS, sweep, onFault);
}

function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
