import { randomBytes } from 'node:crypto';
import type { ApiKey, Prisma } from '../../database/generated/client/client.js';
import { inTransaction, type Transaction } from '../../database/transaction.js';
import { holds, networkList } from '../../std/networks.js';
import { required } from '../../std/required.js';
import type { LedgerDeps, SettlingDeps } from '../billing/deps.js';
import { idempotentRequest, recall, retryWhileInUse, storeResponse } from '../billing/idempotency.js';
import { type Write, write } from '../billing/ledger.js';
import { settledAccount } from '../billing/settlement.js';
import { lifetimeSpendAt } from '../kernel/accrual.js';
import { API_KEY_BYTES, API_KEY_PREFIX, formatApiKey, hashApiKey, MAX_LIVE_API_KEYS } from '../kernel/api-key.js';
import { instantAfter } from '../kernel/deadline.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { checkOptional, limitOf } from '../kernel/field.js';
import { commonFields } from '../kernel/fields.js';
import { randomId } from '../kernel/random-id.js';
import { formatInstant, type Instant } from '../kernel/time.js';
import type { KeyOwner } from './api-key-cache.js';
import type { AccountsDeps } from './deps.js';
import { accountFields } from './fields.js';
import { limitKey } from './key-limit.js';
import {
  type KeyFault,
  type KeyRestrictions,
  keyFaultOf,
  restrictionsOfNewKey,
  UNRESTRICTED,
} from './rules/key-restrictions.js';
import { requestsPerMinute } from './rules/rate-tier.js';

const KEY_ID_BYTES = 8;
const MAX_LISTED_KEYS = 200;
const KEY_ID = /^key-[0-9a-f]{16}$/;

export type { ApiKey };

/**
 * The account and API key on whose behalf a request is made, with the key's restrictions. A console session ends no
 * later than its key.
 */
export interface Caller extends KeyRestrictions {
  accountId: string;
  keyId: string;
  /** The client's address, as determined by the gateway. */
  address: string;
  /** Hash of the console session's token. Absent if the request sent the API key itself. */
  session?: Buffer;
  /** The passkey that opened the session. Absent or null if the API key did. */
  passkeyId?: string | null;
  /** Requests allowed per 60 s, based on the account's lifetime spend. 0 means no limit. */
  requestsPerMinute: number;
}

/**
 * The caller identified by a key or session token, or the reason why a known key or session is rejected. Both are null
 * if the key or token is unknown.
 */
export interface Identified<C extends Caller = Caller> {
  caller: C | null;
  fault: KeyFault | null;
}

export const NO_CALLER: Identified<never> = { caller: null, fault: null };

/**
 * Returns the caller if the key is neither revoked nor expired, can be used from this address, and belongs to an
 * account that isn't suspended.
 */
export async function authenticate(
  deps: Pick<AccountsDeps, 'db' | 'clock' | 'settings' | 'apiKeyCache'>,
  key: string,
  address: string,
): Promise<Identified> {
  const hash = hashApiKey(key);
  if (hash === null) return NO_CALLER;
  const found = await deps.apiKeyCache.get(hash, () => readOwner(deps, hash));
  return found === null ? NO_CALLER : identified(deps, found, address);
}

export function identified(
  { clock, settings }: Pick<KernelDeps, 'clock' | 'settings'>,
  owner: KeyOwner,
  address: string,
): Identified {
  const { accountId, keyId, scopes, expiresAt, networks } = owner;
  const fault = keyFaultOf(owner, clock.now(), (allowed) => holds(networkList(allowed), address));
  if (fault !== null) return { caller: null, fault };
  const spend = lifetimeSpendAt(owner, clock.now());
  const limit = requestsPerMinute(settings.rateLimitPerMinute, spend);
  const caller = { accountId, keyId, scopes, expiresAt, networks, address, requestsPerMinute: limit };
  return { caller, fault: null };
}

const UNAUTHORIZED: Readonly<Record<KeyFault, string>> = {
  expired: 'the API key has expired',
  network: 'the API key is not accepted from this network',
};

/** Returns the error for a request that needs a valid API key but doesn't have one. */
export function unauthorized(fault: KeyFault | null): DomainError {
  return new DomainError('unauthorized', fault === null ? 'missing or unknown API key' : UNAUTHORIZED[fault]);
}

async function readOwner(deps: Pick<KernelDeps, 'db'>, hash: Buffer): Promise<KeyOwner | null> {
  const { rows } = await deps.db.pool.query<KeyOwner>({
    name: 'authenticate',
    text: `select api_key.account_id as "accountId", api_key.id as "keyId", scopes, expires_at as "expiresAt", networks,
             spend_units as "spendUnits", burn_rate as "burnRate", settled_at as "settledAt"
           from api_key join account on account.id = api_key.account_id
           where hash = $1 and revoked_at is null and suspended_at is null`,
    values: [hash],
  });
  return rows[0] ?? null;
}

/** Whether the key and, if given, the session are still valid and the account isn't suspended. */
export async function isAccepted(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  { keyId, session }: Pick<Caller, 'keyId' | 'session'>,
): Promise<boolean> {
  const { rowCount } = await deps.db.pool.query({
    name: 'is-accepted',
    text: `select 1 from api_key join account on account.id = api_key.account_id
           where api_key.id = $1 and revoked_at is null and suspended_at is null
             and (api_key.expires_at is null or api_key.expires_at > $3) and ($2::bytea is null or exists (
             select from console_session where token_hash = $2 and key_id = $1 and expires_at > $3))`,
    values: [keyId, session ?? null, formatInstant(deps.clock.now())],
  });
  return rowCount === 1;
}

/** Returns up to 200 keys with settled spend, newest first, including revoked keys. */
export async function listApiKeys(
  deps: SettlingDeps,
  accountId: string,
  query: Pick<Prisma.ApiKeyFindManyArgs, 'include' | 'select'> = {},
): Promise<ApiKey[]> {
  // `query` is read first, even if the account no longer exists, because Pothos warns about an unread query.
  const wanted = { ...query, where: { accountId } };
  await settledAccount(deps, accountId);
  return deps.db.prisma.apiKey.findMany({
    ...wanted,
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
    take: MAX_LISTED_KEYS,
  });
}

/** Returns the account's key with this id, or null if there is no such key. */
export function findApiKey(deps: Pick<KernelDeps, 'db'>, accountId: string, id: string): Promise<ApiKey | null> {
  return KEY_ID.test(id) ? deps.db.prisma.apiKey.findFirst({ where: { id, accountId } }) : Promise.resolve(null);
}

export interface NewApiKey {
  /** Name chosen by the owner. */
  name?: string | null | undefined;
  scopes?: readonly string[] | null | undefined;
  /** Expiry, in the same format as a deadline. */
  expiresAt?: string | null | undefined;
  networks?: readonly string[] | null | undefined;
  /** Maximum spend per UTC calendar month, in USD. */
  monthlyLimit?: number | null | undefined;
  idempotencyKey?: string | null | undefined;
}

/**
 * Creates an API key. Only its hash is stored, so the key itself can't be retrieved later. Throws if the account
 * already has 50 live keys.
 */
export async function createApiKey(
  deps: LedgerDeps,
  accountId: string,
  name?: string,
): Promise<{ apiKey: ApiKey; secret: string }> {
  const { apiKey, secret } = await createApiKeyOnce(deps, { accountId, ...UNRESTRICTED }, { name: name ?? null });
  return { apiKey, secret: required(secret, 'secret of a new key') };
}

/**
 * Like `createApiKey`, but grants the new key at most its creator's permissions and supports an idempotency key: a
 * repeated request returns the same key with a null secret. Throws invalid_request, forbidden or action_failed.
 */
export async function createApiKeyOnce(
  deps: LedgerDeps,
  creator: { accountId: string; keyId?: string } & KeyRestrictions,
  input: NewApiKey,
): Promise<{ apiKey: ApiKey; secret: string | null }> {
  const { accountId } = creator;
  const name = checkOptional('name', accountFields.keyName, input.name) ?? null;
  const wanted = readRestrictions(input);
  const key = checkOptional('idempotencyKey', commonFields.idempotencyKey, input.idempotencyKey);
  // Requests without these inputs must keep their fingerprint, because it is stored with earlier responses.
  const monthlyLimit = checkOptional('monthlyLimit', accountFields.monthlyLimit, input.monthlyLimit);
  const limit = limitOf(monthlyLimit);
  const optional = { ...wanted, ...(limit !== null && { monthlyLimit }) };
  const others = Object.values(optional).some((each) => each !== undefined) ? [optional] : [];
  const request = idempotentRequest(accountId, key, 'createApiKey', [name, ...others]);
  const secret = formatApiKey(randomBytes(API_KEY_BYTES));
  const id = randomId('key', KEY_ID_BYTES);
  const recalled = async (transaction: Transaction): Promise<string | undefined> => {
    if (request === null) return undefined;
    return ((await recall(transaction, request, deps.clock.now())) as { id: string } | undefined)?.id;
  };
  const make = async (transaction: Transaction, now: Instant): Promise<string> => {
    const expiresAt = instantAfter('expiresAt', wanted.expiresAt ?? null, now);
    const restrictions = restrictionsOfNewKey(creator, { ...wanted, expiresAt });
    if (await isLimited(transaction, creator.keyId ?? null)) throw limitedKey('create keys');
    await lockForGrant(transaction, creator);
    await insertKey(transaction, { id, accountId, secret, name, now, ...restrictions });
    if (request !== null) storeResponse(transaction, request, { id }, now);
    return id;
  };
  const unlimited = () =>
    inTransaction(deps.db.pool, async (transaction) => {
      const kept = await recalled(transaction);
      if (kept !== undefined) return kept;
      const now = deps.clock.now();
      await make(transaction, now);
      deps.activity?.writeWith(transaction, now, [id]);
      return id;
    });
  // The limit applies as soon as the key exists.
  const limited = () => {
    const decide = async (current: Write) => {
      await make(current.transaction, current.at);
      await limitKey(current, current.lockedAccount(accountId), id, limit);
      deps.activity?.add(id);
      return id;
    };
    return write(deps, { accountIds: [accountId] }, decide, recalled);
  };
  const createdId = await retryWhileInUse(limit === null ? unlimited : limited);
  if (createdId === id) deps.activity?.committed();
  const apiKey = await deps.db.prisma.apiKey.findUniqueOrThrow({ where: { id: createdId } });
  return { apiKey, secret: createdId === id ? secret : null };
}

/** Whether the key has a monthly limit. Such a key could evade its limit by using other keys. */
async function isLimited(transaction: Transaction, keyId: string | null): Promise<boolean> {
  const { rowCount } = await transaction.query('select from key_limit where id = $1 and monthly_limit is not null', [
    keyId,
  ]);
  return rowCount === 1;
}

/** Returns the error for an action that would let a key evade its own limit. */
export function limitedKey(what: string): DomainError {
  return new DomainError('forbidden', `an API key with a monthly limit can't ${what}`);
}

function readRestrictions({ scopes, expiresAt, networks }: NewApiKey) {
  return {
    scopes: checkOptional('scopes', accountFields.keyScopes, scopes),
    expiresAt: checkOptional('expiresAt', accountFields.keyExpiresAt, expiresAt),
    networks: checkOptional('networks', accountFields.keyNetworks, networks),
  };
}

/**
 * Locks the account, so that concurrent grants can't exceed its limits, and the acting key, so that a revocation waits
 * until the grant is visible. Throws if the key has been revoked since the request was admitted.
 */
export async function lockForGrant(
  transaction: Transaction,
  { accountId, keyId }: { accountId: string; keyId?: string },
): Promise<void> {
  await transaction.query('select 1 from account where id = $1 for no key update', [accountId]);
  if (keyId === undefined) return;
  const { rows } = await transaction.query<{ isRevoked: boolean }>(
    'select revoked_at is not null as "isRevoked" from api_key where id = $1 for share',
    [keyId],
  );
  if (rows[0]?.isRevoked) throw unauthorized(null);
}

interface KeyRow extends KeyRestrictions {
  id: string;
  accountId: string;
  secret: string;
  name: string | null;
  now: Instant;
}

/** Inserts a key. Throws if the account has the maximum number of live keys. Revoked and expired keys don't count. */
async function insertKey(transaction: Transaction, row: KeyRow): Promise<void> {
  const { accountId, id, secret, name, now, scopes, expiresAt, networks } = row;
  const { rowCount } = await transaction.query(
    `insert into api_key (id, account_id, hash, prefix, last_four, created_at, name, scopes, expires_at, networks)
     select $2, $1, $3, $4, $5, $6::timestamptz, $8, $9::text[], $10::timestamptz, $11::text[]
     where (select count(*) from api_key where account_id = $1 and revoked_at is null
              and (expires_at is null or expires_at > $6::timestamptz)) < $7`,
    [
      accountId,
      id,
      hashApiKey(secret),
      API_KEY_PREFIX,
      secret.slice(-4),
      formatInstant(now),
      MAX_LIVE_API_KEYS,
      name,
      scopes,
      expiresAt === null ? null : formatInstant(expiresAt),
      networks,
    ],
  );
  if (rowCount !== 1)
    throw new DomainError(
      'action_failed',
      `the account has ${MAX_LIVE_API_KEYS} live API keys, the maximum; revoke one first`,
    );
}

/**
 * Revokes a key, which is rejected immediately. Revoking it again has no effect. With a null `accountId`, which is
 * reserved for operators, the key can belong to any account.
 */
export async function revokeApiKey(
  deps: Pick<AccountsDeps, 'db' | 'clock' | 'activity'>,
  accountId: string | null,
  id: string,
): Promise<ApiKey> {
  const owned = accountId === null ? { id } : { id, accountId };
  const found = KEY_ID.test(id) ? await deps.db.prisma.apiKey.findFirst({ where: owned }) : null;
  if (found === null) throw new DomainError('not_found', 'no such API key');
  const now = deps.clock.now();
  await inTransaction(deps.db.pool, async (transaction) => {
    await transaction.query('update api_key set revoked_at = $2::timestamptz where id = $1 and revoked_at is null', [
      id,
      formatInstant(now),
    ]);
    await transaction.query('delete from console_session where key_id = $1', [id]);
    deps.activity?.writeWith(transaction, now);
  });
  deps.activity?.committed();
  deps.db.notices.publish([{ table: 'api_key', id }]);
  return deps.db.prisma.apiKey.findUniqueOrThrow({ where: { id } });
}

/**
 * Records when keys were last used. Uses are written in batches, because one write per request would cost more than the
 * request itself.
 */
export async function recordKeyUses(deps: Pick<KernelDeps, 'db'>, uses: ReadonlyMap<string, Instant>): Promise<void> {
  await deps.db.pool.query(
    // Rows are always locked in the same order, so that two gateways recording the same keys at the same time can't
    // deadlock.
    `update api_key set last_used_at = to_timestamp(used.at)
     from (select api_key.id, at from api_key join unnest($1::text[], $2::bigint[]) as used(id, at) using (id)
           order by api_key.id for no key update of api_key) used
     where api_key.id = used.id and coalesce(last_used_at < to_timestamp(used.at), true)`,
    [[...uses.keys()], [...uses.values()].map(String)],
  );
}

/**
 * Returns the keys that expired within [from, until). Callers that keep streams or connections open for one of these
 * keys must recheck it.
 */
export async function keysExpired(deps: Pick<KernelDeps, 'db'>, from: Instant, until: Instant): Promise<string[]> {
  const { rows } = await deps.db.pool.query<{ id: string }>({
    name: 'keys-expired',
    text: 'select id from api_key where expires_at >= $1::timestamptz and expires_at < $2::timestamptz',
    values: [formatInstant(from), formatInstant(until)],
  });
  return rows.map(({ id }) => id);
}
