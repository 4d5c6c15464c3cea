import { randomBytes } from 'node:crypto';
import type { ApiKey, Prisma } from '../../database/generated/client/client.js';
import { inTransaction } from '../../database/transaction.js';
import { idempotentRequest, onceFree, recall, remember } from '../billing/idempotency.js';
import type { Deps } from '../deps.js';
import { checkOptional, fields } from '../fields.js';
import { randomId } from '../random-id.js';
import { lifetimeSpendAt } from '../rules/accrual.js';
import { API_KEY_BYTES, API_KEY_PREFIX, formatApiKey, hashApiKey, MAX_LIVE_API_KEYS } from '../rules/api-key.js';
import { DomainError } from '../rules/errors.js';
import { requestsPerMinute } from '../rules/rate-tier.js';
import { dateOf, formatInstant, type Instant } from '../rules/time.js';
import type { KeyOwner } from './api-key-cache.js';

const KEY_ID_BYTES = 8;
const MAX_LISTED_KEYS = 200;
const KEY_ID = /^key-[0-9a-f]{16}$/;

export type { ApiKey };

/** The account and key that a request acts for. */
export interface Caller {
  accountId: string;
  keyId: string;
  /** Hash of the token of the console session that stands for the key; absent if the key itself was sent. */
  session?: Buffer;
  /** Requests per 60 s that the account's lifetime spend allows; 0 for no limit. */
  requestsPerMinute: number;
}

/** The caller, if the key is unrevoked and its account not suspended; null for any other text. */
export async function authenticate(deps: Deps, key: string): Promise<Caller | null> {
  const hash = hashApiKey(key);
  if (hash === null) return null;
  const found = await deps.apiKeyCache.get(hash, () => readOwner(deps, hash));
  return found && callerOf(deps, found);
}

export function callerOf({ clock, settings }: Deps, owner: KeyOwner): Caller {
  const { accountId, keyId } = owner;
  const spend = lifetimeSpendAt(owner, clock.now());
  return { accountId, keyId, requestsPerMinute: requestsPerMinute(settings.rateLimitPerMinute, spend) };
}

async function readOwner(deps: Deps, hash: Buffer): Promise<KeyOwner | null> {
  const { rows } = await deps.db.pool.query<KeyOwner>({
    name: 'authenticate',
    text: `select api_key.account_id as "accountId", api_key.id as "keyId", spend_units as "spendUnits",
             burn_rate as "burnRate", settled_at as "settledAt"
           from api_key join account on account.id = api_key.account_id
           where hash = $1 and revoked_at is null and suspended_at is null`,
    values: [hash],
  });
  return rows[0] ?? null;
}

/** True while the key is unrevoked, its account not suspended, and the session, if it came by one, not over. */
export async function isAccepted(deps: Deps, { keyId, session }: Pick<Caller, 'keyId' | 'session'>): Promise<boolean> {
  const { rowCount } = await deps.db.pool.query({
    name: 'is-accepted',
    text: `select 1 from api_key join account on account.id = api_key.account_id
           where api_key.id = $1 and revoked_at is null and suspended_at is null and ($2::bytea is null or exists (
             select from console_session where token_hash = $2 and key_id = $1 and expires_at > $3))`,
    values: [keyId, session ?? null, formatInstant(deps.clock.now())],
  });
  return rowCount === 1;
}

/** Newest first, revoked ones included; at most 200. */
export function listApiKeys(
  deps: Deps,
  accountId: string,
  query: Pick<Prisma.ApiKeyFindManyArgs, 'include' | 'select'> = {},
): Promise<ApiKey[]> {
  return deps.db.prisma.apiKey.findMany({
    ...query,
    where: { accountId },
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
    take: MAX_LISTED_KEYS,
  });
}

/** Null when the account has no such key. */
export function findApiKey(deps: Deps, accountId: string, id: string): Promise<ApiKey | null> {
  return KEY_ID.test(id) ? deps.db.prisma.apiKey.findFirst({ where: { id, accountId } }) : Promise.resolve(null);
}

export interface NewApiKey {
  /** The name its owner gave it. */
  name?: string | null;
  idempotencyKey?: string | null;
}

/** Only the hash of the key is stored: this answer alone holds the key itself. Refuses more than 50 unrevoked keys. */
export async function createApiKey(
  deps: Deps,
  accountId: string,
  name?: string,
): Promise<{ apiKey: ApiKey; secret: string }> {
  const { apiKey, secret } = await createApiKeyOnce(deps, accountId, { name: name ?? null });
  return { apiKey, secret: secret! };
}

/** Like `createApiKey`, with an idempotency key. A repeated request gets the same key, and null for the secret. */
export async function createApiKeyOnce(
  deps: Deps,
  accountId: string,
  input: NewApiKey,
): Promise<{ apiKey: ApiKey; secret: string | null }> {
  const name = checkOptional('name', fields.keyName, input.name) ?? null;
  const key = checkOptional('idempotencyKey', fields.idempotencyKey, input.idempotencyKey);
  const request = idempotentRequest(accountId, key, 'createApiKey', [name]);
  const secret = formatApiKey(randomBytes(API_KEY_BYTES));
  const id = randomId('key', KEY_ID_BYTES);
  const create = () =>
    inTransaction(deps.db.pool, async (transaction) => {
      const kept = request && ((await recall(transaction, request, deps.clock.now())) as { id: string } | undefined);
      if (kept) return kept.id;
      const now = deps.clock.now();
      // The account's row is locked before the count, so two concurrent creations can't both be the fiftieth.
      await transaction.query('select 1 from account where id = $1 for no key update', [accountId]);
      const { rowCount } = await transaction.query(
        `insert into api_key (id, account_id, hash, prefix, last_four, created_at, name)
         select $2, $1, $3, $4, $5, $6::timestamptz, $8
         where (select count(*) from api_key where account_id = $1 and revoked_at is null) < $7`,
        [
          accountId,
          id,
          hashApiKey(secret),
          API_KEY_PREFIX,
          secret.slice(-4),
          formatInstant(now),
          MAX_LIVE_API_KEYS,
          name,
        ],
      );
      if (rowCount === 1 && request !== null) remember(transaction, request, { id }, now);
      return rowCount === 1 ? id : null;
    });
  const createdId = await onceFree(create);
  if (createdId === null) {
    throw new DomainError('action_failed', `an account holds at most ${MAX_LIVE_API_KEYS} live keys`);
  }
  const apiKey = await deps.db.prisma.apiKey.findUniqueOrThrow({ where: { id: createdId } });
  return { apiKey, secret: createdId === id ? secret : null };
}

/**
 * Refuses the key from now on. Revoking it again changes nothing. With `accountId` null, any account's key (operator).
 */
export async function revokeApiKey(deps: Deps, accountId: string | null, id: string): Promise<ApiKey> {
  const owned = accountId === null ? { id } : { id, accountId };
  const found = KEY_ID.test(id) ? await deps.db.prisma.apiKey.findFirst({ where: owned }) : null;
  if (found === null) throw new DomainError('not_found', 'no such API key');
  await deps.db.prisma.apiKey.updateMany({
    where: { id, revokedAt: null },
    data: { revokedAt: dateOf(deps.clock.now()) },
  });
  await deps.db.prisma.consoleSession.deleteMany({ where: { keyId: id } });
  deps.db.notices.publish([{ table: 'api_key', id }]);
  return deps.db.prisma.apiKey.findUniqueOrThrow({ where: { id } });
}

/** Records when keys were last used, in batches: a write for each request would cost more than the request. */
export async function noteKeyUses(deps: Deps, uses: ReadonlyMap<string, Instant>): Promise<void> {
  await deps.db.pool.query(
    // Locked in one order, so that two gateways that record the same keys at once can't deadlock.
    `update api_key set last_used_at = to_timestamp(used.at)
     from (select api_key.id, at from api_key join unnest($1::text[], $2::bigint[]) as used(id, at) using (id)
           order by api_key.id for no key update of api_key) used
     where api_key.id = used.id and coalesce(last_used_at < to_timestamp(used.at), true)`,
    [[...uses.keys()], [...uses.values()].map(String)],
  );
}
