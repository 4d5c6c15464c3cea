import { createHash } from 'node:crypto';
import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import type { Passkey, Prisma } from '../../database/generated/client/client.js';
import { inTransaction, type Transaction } from '../../database/transaction.js';
import { holds, networkList } from '../../std/networks.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { check } from '../kernel/field.js';
import { randomId } from '../kernel/random-id.js';
import { dateOf, earliest, formatInstant, type Instant, SECONDS_PER_DAY } from '../kernel/time.js';
import { lockForGrant, unauthorized } from './api-keys.js';
import type { AccountsDeps } from './deps.js';
import { accountFields } from './fields.js';
import { type KeyRestrictions, keyFaultOf } from './rules/key-restrictions.js';
import { insertSession, SESSION_SECONDS, type SessionCaller } from './sessions.js';
import {
  assertionField,
  creationOptions,
  newCredentialField,
  type PasskeySite,
  verifyAssertion,
  verifyRegistration,
} from './webauthn.js';

/** Maximum number of passkeys per API key. */
const MAX_PASSKEYS_PER_KEY = 10;
const MAX_LISTED_PASSKEYS = 500;
const ID_BYTES = 8;
const ID = /^pk-[0-9a-f]{16}$/;
/** Longer than challenges are valid, because the clocks of several gateways may differ. */
const USED_CHALLENGES_KEPT_SECONDS = SECONDS_PER_DAY;

export type { Passkey };

/** Returns the passkeys of the account's live keys, newest first. */
export function listPasskeys(
  { db, clock }: Pick<KernelDeps, 'db' | 'clock'>,
  accountId: string,
  query: Pick<Prisma.PasskeyFindManyArgs, 'include' | 'select'> = {},
): Promise<Passkey[]> {
  const isLive = { revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: dateOf(clock.now()) } }] };
  return db.prisma.passkey.findMany({
    ...query,
    where: { apiKey: { accountId, ...isLive } },
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
    take: MAX_LISTED_PASSKEYS,
  });
}

/** Returns the passkey that opened a session. Returns null if a key did. */
export function passkeyOf(
  { db }: Pick<KernelDeps, 'db'>,
  { passkeyId }: Pick<SessionCaller, 'passkeyId'>,
): Promise<Passkey | null> {
  return passkeyId === null ? Promise.resolve(null) : db.prisma.passkey.findUnique({ where: { id: passkeyId } });
}

/** Returns the options with which the browser creates a passkey of the session's key. Throws forbidden. */
export async function passkeyCreationOptions(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  { accountId, keyId, session, passkeyId }: SessionCaller,
  site: PasskeySite,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  if (passkeyId !== null) throw openedWithPasskey();
  const [account, key] = await Promise.all([
    deps.db.prisma.account.findUniqueOrThrow({ where: { id: accountId } }),
    deps.db.prisma.apiKey.findUniqueOrThrow({
      where: { id: keyId },
      include: { passkeys: { where: { rpId: site.host } } },
    }),
  ]);
  const label = `${key.name ?? `…${key.lastFour}`} (${account.name})`;
  return creationOptions(deps, site, { keyId, label, session, existing: key.passkeys });
}

/**
 * Adds a passkey to the session's key, whose rights and restrictions it has. Throws forbidden if a passkey opened the
 * session, invalid_request if the credential isn't a valid response to a challenge, and action_failed if the key has
 * 10 passkeys.
 */
export async function createPasskey(
  deps: Pick<AccountsDeps, 'db' | 'clock' | 'activity'>,
  caller: SessionCaller,
  site: PasskeySite,
  input: { name?: unknown; credential?: unknown },
): Promise<Passkey> {
  if (caller.passkeyId !== null) throw openedWithPasskey();
  const name = check('name', accountFields.passkeyName, input.name);
  const given = check('credential', newCredentialField, input.credential);
  const registered = await verifyRegistration(deps, caller.session, site, given);
  if (registered === null) throw notCreated();
  const { challenge, credential } = registered;
  const id = randomId('pk', ID_BYTES);
  await inTransaction(deps.db.pool, async (transaction) => {
    const now = deps.clock.now();
    await lockForGrant(transaction, caller);
    const { rows } = await transaction.query<{ count: bigint }>(
      `select (select count(*) from passkey where key_id = $2) as count
       from console_session where token_hash = $1 and key_id = $2`,
      [caller.session, caller.keyId],
    );
    // The session may have ended since the request was admitted.
    if (rows[0] === undefined) throw unauthorized(null);
    if (rows[0].count >= MAX_PASSKEYS_PER_KEY)
      throw new DomainError(
        'action_failed',
        `the API key has ${MAX_PASSKEYS_PER_KEY} passkeys, the maximum; revoke one first`,
      );
    if (!(await consume(transaction, challenge, now))) throw notCreated();
    const { rowCount } = await transaction.query(
      `insert into passkey (id, key_id, name, rp_id, credential_id, public_key, sign_count, created_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8::timestamptz) on conflict (credential_id) do nothing`,
      [
        id,
        caller.keyId,
        name,
        site.host,
        Buffer.from(credential.id, 'base64url'),
        Buffer.from(credential.publicKey),
        credential.counter,
        formatInstant(now),
      ],
    );
    // The error is the same as for an invalid credential, because the other passkey may belong to another account.
    if (rowCount !== 1) throw notCreated();
    deps.activity?.writeWith(transaction, now, [id]);
  });
  deps.activity?.committed();
  return deps.db.prisma.passkey.findUniqueOrThrow({ where: { id } });
}

/**
 * Starts a session of the passkey's key and returns the session token. Throws unauthorized, without saying why, unless
 * the passkey has signed an unused challenge. Says why its key isn't accepted only afterwards.
 */
export async function beginPasskeySession(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  site: PasskeySite,
  credential: unknown,
  address: string,
): Promise<string> {
  const given = check('credential', assertionField, credential);
  const id = Buffer.from(given.id, 'base64url');
  const known = await deps.db.prisma.passkey.findFirst({ where: { credentialId: id, rpId: site.host } });
  const signed = known === null ? null : await verifyAssertion(deps, site, known, given);
  if (known === null || signed === null) throw notAccepted();
  const token = await inTransaction(deps.db.pool, async (transaction) => {
    const now = deps.clock.now();
    const row = await lockForSignIn(transaction, known.id);
    // Some authenticators don't count. If one that does falls back, there is a copy of it.
    const isCopy = row === null || (signed.count <= row.signCount && (signed.count > 0n || row.signCount > 0n));
    if (row === null || isCopy || !(await consume(transaction, signed.challenge, now))) return null;
    const fault = keyFaultOf(row, now, (networks) => holds(networkList(networks), address));
    if (fault !== null) throw unauthorized(fault);
    await transaction.query('update passkey set sign_count = $2, last_used_at = $3::timestamptz where id = $1', [
      known.id,
      signed.count,
      formatInstant(now),
    ]);
    const endsAt = earliest(now + SESSION_SECONDS, row.expiresAt);
    return insertSession(transaction, { keyId: known.keyId, passkeyId: known.id, now, endsAt });
  });
  if (token === null) throw notAccepted();
  await forgetUsedChallenges(deps);
  return token;
}

/** Revokes a passkey and ends its sessions at every gateway. Throws not_found. */
export async function revokePasskey(
  deps: Pick<AccountsDeps, 'db' | 'clock' | 'activity'>,
  accountId: string,
  id: string,
): Promise<Passkey> {
  const found = ID.test(id) ? await deps.db.prisma.passkey.findFirst({ where: { id, apiKey: { accountId } } }) : null;
  if (found === null) throw new DomainError('not_found', 'no such passkey');
  await inTransaction(deps.db.pool, async (transaction) => {
    await transaction.query('delete from passkey where id = $1', [id]);
    deps.activity?.writeWith(transaction, deps.clock.now());
  });
  deps.activity?.committed();
  deps.db.notices.publish([{ table: 'api_key', id: found.keyId }]);
  return found;
}

interface SignInRow extends KeyRestrictions {
  signCount: bigint;
}

/**
 * Locks the account, because a concurrent suspension would end only the sessions visible to it, and the passkey, because
 * a revocation must end this session too. Returns null if the passkey, its key or its account is no longer accepted.
 */
async function lockForSignIn(transaction: Transaction, id: string): Promise<SignInRow | null> {
  const { rows } = await transaction.query<SignInRow>(
    `select sign_count as "signCount", scopes, networks, api_key.expires_at as "expiresAt"
     from passkey join api_key on api_key.id = key_id join account on account.id = account_id
     where passkey.id = $1 and revoked_at is null and suspended_at is null
     for share of account for update of passkey`,
    [id],
  );
  return rows[0] ?? null;
}

/** Marks a challenge as used. Returns false if it already was: one of two concurrent uses waits for the other. */
async function consume(transaction: Transaction, challenge: Buffer, now: Instant): Promise<boolean> {
  const { rowCount } = await transaction.query(
    'insert into used_challenge (hash, used_at) values ($1, $2::timestamptz) on conflict do nothing',
    [createHash('sha256').update(challenge).digest(), formatInstant(now)],
  );
  return rowCount === 1;
}

/** Deletes used challenges that have long expired. */
async function forgetUsedChallenges({ db, clock }: Pick<KernelDeps, 'db' | 'clock'>): Promise<void> {
  await db.pool.query(
    `delete from used_challenge where hash in (
       select hash from used_challenge where used_at < $1::timestamptz for update skip locked)`,
    [formatInstant(clock.now() - USED_CHALLENGES_KEPT_SECONDS)],
  );
}

const openedWithPasskey = () =>
  new DomainError('forbidden', "a session opened with a passkey can't add another; sign in with the API key");
const notCreated = () =>
  new DomainError('invalid_request', 'credential must be a new passkey created in this page; try again', {
    field: 'credential',
  });
const notAccepted = () => new DomainError('unauthorized', 'the passkey was not accepted');
