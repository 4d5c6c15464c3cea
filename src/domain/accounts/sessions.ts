import { createHash, randomBytes } from 'node:crypto';
import { only } from '../../database/only.js';
import { inTransaction, type Transaction } from '../../database/transaction.js';
import { required } from '../../std/required.js';
import { hashApiKey } from '../kernel/api-key.js';
import { type Sweep, whenDue } from '../kernel/background.js';
import type { KernelDeps } from '../kernel/deps.js';
import { earliest, formatInstant, type Instant, SECONDS_PER_HOUR } from '../kernel/time.js';
import type { KeyOwner } from './api-key-cache.js';
import {
  authenticate,
  type Caller,
  type Identified,
  identified,
  keysExpired,
  NO_CALLER,
  unauthorized,
} from './api-keys.js';
import type { AccountsDeps } from './deps.js';

/** Lifetime of a console session, in seconds. */
export const SESSION_SECONDS = 12n * SECONDS_PER_HOUR;
/** Maximum number of sessions per API key. Starting another one ends the oldest. */
const MAX_SESSIONS_PER_KEY = 20;
const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;
/** Maximum delay, in milliseconds, until an expired session's open streams end. */
const SWEEP_EVERY_MS = 1_000;

/**
 * Starts a session for an API key and returns the session token. Each session gets a new token, and only its hash is
 * stored. The session ends no later than the key. Throws unauthorized if the key is not accepted.
 */
export async function beginSession(
  deps: Pick<AccountsDeps, 'db' | 'clock' | 'settings' | 'apiKeyCache'>,
  key: string,
  address: string,
): Promise<string> {
  const hash = hashApiKey(key);
  const { caller, fault } = await authenticate(deps, key, address);
  if (hash === null || caller === null) throw unauthorized(fault);
  const now = deps.clock.now();
  const endsAt = earliest(now + SESSION_SECONDS, caller.expiresAt);
  const token = await inTransaction(deps.db.pool, async (transaction) => {
    // The account is locked because a concurrent suspension would end only the sessions visible to it.
    const { rows } = await transaction.query<{ keyId: string }>(
      `select api_key.id as "keyId" from api_key join account on account.id = account_id
       where hash = $1 and revoked_at is null and suspended_at is null for share of account`,
      [hash],
    );
    return rows[0] === undefined
      ? null
      : insertSession(transaction, { keyId: rows[0].keyId, passkeyId: null, now, endsAt });
  });
  if (token === null) throw unauthorized(null);
  return token;
}

interface NewSession {
  keyId: string;
  /** The passkey that opens the session, or null if the key itself does. */
  passkeyId: string | null;
  now: Instant;
  endsAt: Instant;
}

/** Inserts a session, ends the key's oldest one if there are too many, and returns the new session's token. */
export async function insertSession(transaction: Transaction, session: NewSession): Promise<string> {
  const { keyId, passkeyId, now, endsAt } = session;
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  await transaction.query(
    `insert into console_session (token_hash, key_id, passkey_id, created_at, expires_at)
     values ($1, $2, $3, $4::timestamptz, $5::timestamptz)`,
    [hashToken(token), keyId, passkeyId, formatInstant(now), formatInstant(endsAt)],
  );
  await transaction.query(
    `delete from console_session where key_id = $1 and token_hash in (
       select token_hash from console_session where key_id = $1 order by created_at desc, token_hash = $2 desc offset $3)`,
    [keyId, hashToken(token), MAX_SESSIONS_PER_KEY],
  );
  return token;
}

/** Ends a session when its user signs out. Unknown tokens are ignored. */
export async function endSession(deps: Pick<AccountsDeps, 'db' | 'apiKeyCache'>, token: string): Promise<void> {
  if (!TOKEN.test(token)) return;
  await deps.db.pool.query('delete from console_session where token_hash = $1', [hashToken(token)]);
  // The notice about the deleted row might arrive after this response.
  deps.apiKeyCache.forget(hashToken(token));
}

/** A caller identified by a console session, and the time when that session ends. */
export interface SessionCaller extends Caller {
  session: Buffer;
  passkeyId: string | null;
  expiresAt: Instant;
}

/** Returns the caller for a session used from this address, or no caller if the session has ended. */
export async function authenticateSession(
  deps: Pick<AccountsDeps, 'db' | 'clock' | 'settings' | 'apiKeyCache'>,
  token: string,
  address: string,
): Promise<Identified<SessionCaller>> {
  if (!TOKEN.test(token)) return NO_CALLER;
  const hash = hashToken(token);
  const owner = await deps.apiKeyCache.get(hash, () => readOwner(deps, hash));
  if (owner === null) return NO_CALLER;
  const { caller, fault } = identified(deps, owner, address);
  // A session that has ended is treated like an unknown one.
  if (caller === null) return fault === 'expired' ? NO_CALLER : { caller, fault };
  return {
    caller: {
      ...caller,
      session: hash,
      passkeyId: owner.passkeyId ?? null,
      expiresAt: required(caller.expiresAt, 'end of a session'),
    },
    fault: null,
  };
}

async function readOwner(deps: Pick<KernelDeps, 'db'>, hash: Buffer): Promise<KeyOwner | null> {
  const { rows } = await deps.db.pool.query<KeyOwner>({
    name: 'authenticate-session',
    text: `select api_key.account_id as "accountId", api_key.id as "keyId", scopes, networks,
             console_session.expires_at as "expiresAt", passkey_id as "passkeyId",
             spend_units as "spendUnits", burn_rate as "burnRate", settled_at as "settledAt"
           from console_session join api_key on api_key.id = key_id join account on account.id = api_key.account_id
           where token_hash = $1 and revoked_at is null and suspended_at is null`,
    values: [hash],
  });
  return rows[0] ?? null;
}

/** Starts deleting ended sessions and publishing expired keys. Both close the affected streams at every gateway. */
export function startSessionSweep(deps: Pick<KernelDeps, 'db' | 'clock'>, onFault: (error: unknown) => void): Sweep {
  let sweptUntil = deps.clock.now();
  const sweep = async () => {
    const until = deps.clock.now() + 1n;
    const endsAt = await nextEnd(deps, sweptUntil);
    if (endsAt !== null && endsAt < until) {
      await deps.db.pool.query('delete from console_session where expires_at < $1::timestamptz', [
        formatInstant(until),
      ]);
      const ids = await keysExpired(deps, sweptUntil, until);
      deps.db.notices.publish(ids.map((id) => ({ table: 'api_key', id })));
    }
    sweptUntil = until;
    return endsAt;
  };
  return whenDue(deps, SWEEP_EVERY_MS, sweep, onFault);
}

/**
 * Returns the earliest time at which a session ends or a key expires. Sessions that have already ended are included,
 * but keys are included only if they expire at or after `from`.
 */
async function nextEnd({ db }: Pick<KernelDeps, 'db'>, from: Instant): Promise<Instant | null> {
  const { rows } = await db.pool.query<{ endsAt: Instant | null }>({
    name: 'next-session-or-key-to-end',
    text: `select least((select min(expires_at) from console_session),
             (select min(expires_at) from api_key where expires_at >= $1::timestamptz)) as "endsAt"`,
    values: [formatInstant(from)],
  });
  return only(rows).endsAt;
}

function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
