import { randomBytes } from 'node:crypto';
import type { Prisma, Webhook } from '../../database/generated/client/client.js';
import { DUE_WORK } from '../../database/notices.js';
import { only } from '../../database/only.js';
import { inTransaction, type Transaction } from '../../database/transaction.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { ACCOUNT_SUBJECT, type EventType } from '../kernel/events.js';
import { check, checkOptional } from '../kernel/field.js';
import { emit } from '../kernel/outbox.js';
import { randomId } from '../kernel/random-id.js';
import { type SealingKey, type SealingKeys, seal, unseal } from '../kernel/sealing.js';
import { formatInstant, type Instant } from '../kernel/time.js';
import type { WebhookDeps } from './deps.js';
import { webhookFields } from './fields.js';
import { formatSecret, MAX_WEBHOOKS, OLD_SECRET_SECONDS, SECRET_BYTES } from './rules/webhook.js';

const ID_BYTES = 8;
const ID = /^wh-[0-9a-f]{16}$/;
const EVENT_ID = /^evt-[0-9a-f]{24}$/;

export type { Webhook };

export interface WebhookInput {
  url?: string | null | undefined;
  events?: readonly EventType[] | null | undefined;
  paused?: boolean | null | undefined;
}

/** A secret that signs deliveries. Once replaced, it remains valid until `until`. */
interface Secret {
  secret: string;
  until: string | null;
}

/** Returns the account's webhooks (at most 10), oldest first. */
export function listWebhooks(
  deps: Pick<KernelDeps, 'db'>,
  accountId: string,
  query: Pick<Prisma.WebhookFindManyArgs, 'include' | 'select'> = {},
): Promise<Webhook[]> {
  const orderBy = [{ createdAt: 'asc' as const }, { id: 'asc' as const }];
  return deps.db.prisma.webhook.findMany({
    ...query,
    where: { accountId, isMail: false },
    orderBy,
    take: MAX_WEBHOOKS,
  });
}

/**
 * Waits for the account's writes that began before the webhook was changed, because they send no events to it. A client
 * that reads after receiving the response then sees their results.
 */
export async function waitForEarlierWrites(deps: Pick<KernelDeps, 'db'>, accountId: string): Promise<void> {
  await inTransaction(deps.db.pool, (transaction) =>
    transaction.query('select from account where id = $1 for no key update', [accountId]),
  );
}

/**
 * Creates a webhook. Only this response contains the secret. Throws invalid_request, or action_failed if the account
 * already has 10 webhooks.
 */
export async function createWebhook(
  deps: Pick<WebhookDeps, 'db' | 'clock' | 'sealingKeys' | 'activity'>,
  accountId: string,
  input: { url: string; events?: readonly EventType[] | null | undefined },
): Promise<{ webhook: Webhook; secret: string }> {
  const url = check('url', webhookFields.webhookUrl, input.url);
  const events = checkOptional('events', webhookFields.webhookEvents, input.events) ?? null;
  const id = randomId('wh', ID_BYTES);
  const { secret, sealed, keyId } = await newSecret(deps, accountId, id);
  const now = deps.clock.now();
  await inTransaction(deps.db.pool, async (transaction) => {
    // Locks the account's row before counting, so that two concurrent calls can't both create the tenth webhook.
    await transaction.query('select 1 from account where id = $1 for no key update', [accountId]);
    const { rowCount } = await transaction.query(
      `insert into webhook (id, account_id, url, events, created_at, sealed, key_id)
       select $2, $1, $3, $4::text[], $5::timestamptz, $6, $7
       where (select count(*) from webhook where account_id = $1 and not is_mail) < $8`,
      [accountId, id, url, events, formatInstant(now), sealed, keyId, MAX_WEBHOOKS],
    );
    if (rowCount !== 1)
      throw new DomainError('action_failed', `the account has ${MAX_WEBHOOKS} webhooks, the maximum; delete one first`);
    deps.activity?.writeWith(transaction, now, [id]);
  });
  deps.activity?.committed();
  await waitForEarlierWrites(deps, accountId);
  return { webhook: await deps.db.prisma.webhook.findUniqueOrThrow({ where: { id } }), secret };
}

/**
 * Changes only the given fields. A resumed webhook receives only events that occur later. Throws invalid_request or
 * not_found.
 */
export async function changeWebhook(
  deps: Pick<WebhookDeps, 'db' | 'clock' | 'activity'>,
  accountId: string,
  id: string,
  input: WebhookInput,
): Promise<Webhook> {
  const url = checkOptional('url', webhookFields.webhookUrl, input.url);
  const events = checkOptional('events', webhookFields.webhookEvents, input.events);
  await ownWebhook(deps, accountId, id);
  const now = formatInstant(deps.clock.now());
  await inTransaction(deps.db.pool, async (transaction) => {
    await transaction.query(
      `update webhook set url = coalesce($2, url), events = coalesce($3::text[], events) where id = $1`,
      [id, url ?? null, events ?? null],
    );
    if (input.paused === true) await pause(transaction, id, now, 'paused by its owner');
    if (input.paused === false)
      await transaction.query(
        'update webhook set paused_at = null, pause_reason = null, failures = 0, wait_until = null where id = $1',
        [id],
      );
    deps.activity?.writeWith(transaction, deps.clock.now());
  });
  deps.activity?.committed();
  await waitForEarlierWrites(deps, accountId);
  return deps.db.prisma.webhook.findUniqueOrThrow({ where: { id } });
}

/** Pauses a webhook. Nothing more is sent to it, and its waiting events are cancelled. */
export async function pause(
  transaction: Pick<Transaction, 'query'>,
  id: string,
  now: string,
  reason: string,
): Promise<void> {
  await transaction.query(
    `update webhook set paused_at = $2::timestamptz, pause_reason = $3 where id = $1 and paused_at is null`,
    [id, now, reason],
  );
  await transaction.query('update webhook_delivery set is_pending = false where webhook_id = $1 and is_pending', [id]);
}

/** Deletes a webhook and its attempts. Throws not_found. */
export async function deleteWebhook(
  deps: Pick<WebhookDeps, 'db' | 'clock' | 'activity'>,
  accountId: string,
  id: string,
): Promise<Webhook> {
  const webhook = await ownWebhook(deps, accountId, id);
  await inTransaction(deps.db.pool, async (transaction) => {
    await transaction.query('delete from webhook where id = $1', [id]);
    deps.activity?.writeWith(transaction, deps.clock.now());
  });
  deps.activity?.committed();
  return webhook;
}

/** Rotates the secret. For another day, deliveries are also signed with the previous one. Throws not_found. */
export async function rotateSecret(
  deps: Pick<WebhookDeps, 'db' | 'clock' | 'sealingKeys' | 'activity'>,
  accountId: string,
  id: string,
): Promise<{ webhook: Webhook; secret: string }> {
  await ownWebhook(deps, accountId, id);
  const secret = formatSecret(randomBytes(SECRET_BYTES));
  const [key] = await deps.sealingKeys();
  await inTransaction(deps.db.pool, async (transaction) => {
    const { rows } = await transaction.query<SealedRow>(
      'select id, account_id as "accountId", sealed, key_id as "keyId" from webhook where id = $1 for update',
      [id],
    );
    if (rows[0] === undefined) throw notFound();
    const now = deps.clock.now();
    const [newest] = await secretsOf(deps, rows[0], now);
    const until = formatInstant(now + OLD_SECRET_SECONDS);
    const secrets: Secret[] = [{ secret, until: null }, ...(newest === undefined ? [] : [{ secret: newest, until }])];
    const sealed = seal(key, contextOf(accountId, id), JSON.stringify(secrets));
    await transaction.query('update webhook set sealed = $2, key_id = $3 where id = $1', [id, sealed, key.id]);
    deps.activity?.writeWith(transaction, now);
  });
  deps.activity?.committed();
  return { webhook: await deps.db.prisma.webhook.findUniqueOrThrow({ where: { id } }), secret };
}

/** Creates a secret and seals it for storage. Throws action_failed if this service stores no secrets. */
export async function newSecret(
  deps: Pick<KernelDeps, 'sealingKeys'>,
  accountId: string,
  id: string,
): Promise<{ secret: string; sealed: Buffer; keyId: string }> {
  const secret = formatSecret(randomBytes(SECRET_BYTES));
  const [key] = await deps.sealingKeys();
  const secrets: Secret[] = [{ secret, until: null }];
  return { secret, sealed: seal(key, contextOf(accountId, id), JSON.stringify(secrets)), keyId: key.id };
}

export type SealedRow = Pick<Webhook, 'id' | 'accountId' | 'sealed' | 'keyId'>;

/** Returns the secrets that are currently valid, newest first. */
export async function secretsOf(
  deps: Pick<KernelDeps, 'sealingKeys'>,
  row: SealedRow,
  now: Instant,
): Promise<string[]> {
  const key = keyOf(await deps.sealingKeys(), row);
  const secrets = JSON.parse(unseal(key, contextOf(row.accountId, row.id), Buffer.from(row.sealed))) as Secret[];
  return secrets.filter(({ until }) => until === null || until > formatInstant(now)).map(({ secret }) => secret);
}

/** Reseals up to `limit` secrets that were sealed with another key. Returns how many were resealed. */
export async function resealWebhooks(
  transaction: Pick<Transaction, 'query'>,
  keys: SealingKeys,
  limit: number,
): Promise<number> {
  const [key] = keys;
  const { rows } = await transaction.query<SealedRow>(
    `select id, account_id as "accountId", sealed, key_id as "keyId" from webhook
     where key_id <> $1 order by id limit $2 for no key update`,
    [key.id, limit],
  );
  for (const row of rows) {
    const context = contextOf(row.accountId, row.id);
    const sealed = seal(key, context, unseal(keyOf(keys, row), context, Buffer.from(row.sealed)));
    await transaction.query('update webhook set sealed = $2, key_id = $3 where id = $1', [row.id, sealed, key.id]);
  }
  return rows.length;
}

/** Returns the key that sealed the secret. Throws action_failed if that key is missing. */
function keyOf(keys: SealingKeys, { keyId }: SealedRow): SealingKey {
  const key = keys.find(({ id }) => id === keyId);
  if (key !== undefined) return key;
  const message = "the webhook's secret can't be opened: the operator's SECRETS_KEY lacks its key";
  throw new DomainError('action_failed', message);
}

/** Sends an empty test event. Throws not_found, or action_failed if the webhook is paused. */
export async function testWebhook(
  deps: Pick<WebhookDeps, 'db' | 'clock' | 'activity'>,
  accountId: string,
  id: string,
): Promise<Webhook> {
  const webhook = await ownWebhook(deps, accountId, id);
  if (webhook.pausedAt !== null) throw new DomainError('action_failed', 'the webhook is paused');
  const now = deps.clock.now();
  await inTransaction(deps.db.pool, async (transaction) => {
    await notifyOne(transaction, { accountId, id, type: 'webhook.test', data: { webhook: id } }, now);
    deps.activity?.writeWith(transaction, now);
  });
  deps.db.notices.publish([DUE_WORK]);
  deps.activity?.committed();
  return webhook;
}

/** Sends an event to this webhook only, ignoring its event filter. */
export async function notifyOne(
  transaction: Pick<Transaction, 'query'>,
  { accountId, id, type, data }: { accountId: string; id: string; type: string; data: object },
  now: Instant,
): Promise<void> {
  const at = formatInstant(now);
  const { rows } = await transaction.query<{ sequence: bigint }>(
    `insert into event (id, account_id, type, subject, at, data, xid)
     values ($1, $2, $3, $4, $5::timestamptz, $6, pg_current_xact_id()::text::bigint) returning sequence`,
    [randomId('evt', 12), accountId, type, ACCOUNT_SUBJECT, at, JSON.stringify(data)],
  );
  await transaction.query(
    'insert into webhook_delivery (webhook_id, sequence, subject, next_at) values ($1, $2, $3, $4::timestamptz)',
    [id, only(rows).sequence, ACCOUNT_SUBJECT, at],
  );
}

/** Resends an event, regardless of its earlier result. Throws not_found, or action_failed if the webhook is paused. */
export async function redeliver(
  deps: Pick<WebhookDeps, 'db' | 'clock' | 'activity'>,
  accountId: string,
  id: string,
  eventId: string,
): Promise<Webhook> {
  const webhook = await ownWebhook(deps, accountId, id);
  if (webhook.pausedAt !== null) throw new DomainError('action_failed', 'the webhook is paused');
  const now = formatInstant(deps.clock.now());
  await inTransaction(deps.db.pool, async (transaction) => {
    const { rowCount } = await transaction.query(
      `update webhook_delivery set is_pending = true, next_at = $3::timestamptz, first_at = null, attempts = 0
       from event where event.sequence = webhook_delivery.sequence and webhook_id = $1 and event.id = $2`,
      [id, EVENT_ID.test(eventId) ? eventId : '', now],
    );
    if (rowCount !== 1) throw new DomainError('not_found', 'no such event for this webhook');
    deps.activity?.writeWith(transaction, deps.clock.now(), [eventId]);
  });
  deps.db.notices.publish([DUE_WORK]);
  deps.activity?.committed();
  return webhook;
}

/** Sets the low-balance threshold in micro-USD. Null disables the notice. */
export async function setBalanceNotice(
  deps: Pick<WebhookDeps, 'db' | 'clock' | 'activity'>,
  accountId: string,
  input: bigint | null,
): Promise<bigint | null> {
  const below = checkOptional('below', webhookFields.balanceBelow, input) ?? null;
  await inTransaction(deps.db.pool, async (transaction) => {
    if (below === null) await transaction.query('delete from balance_notice where account_id = $1', [accountId]);
    else
      await transaction.query(
        `insert into balance_notice (account_id, below_micro) values ($1, $2)
         on conflict (account_id) do update set below_micro = excluded.below_micro`,
        [accountId, String(below)],
      );
    deps.activity?.writeWith(transaction, deps.clock.now());
  });
  deps.activity?.committed();
  return below;
}

export async function balanceNotice(deps: Pick<KernelDeps, 'db'>, accountId: string): Promise<bigint | null> {
  return (await deps.db.prisma.balanceNotice.findUnique({ where: { accountId } }))?.belowMicro ?? null;
}

/** Returns the statement that notifies the account's other webhooks and email addresses of the pause. */
export function pausedEvent(
  { id, accountId, isMail }: { id: string; accountId: string; isMail: boolean },
  at: Instant,
  reason: string,
) {
  const event = { accountId, subject: ACCOUNT_SUBJECT, at };
  if (isMail) return emit([{ ...event, type: 'mail.paused', data: { reason } }]);
  return emit([{ ...event, type: 'webhook.paused', data: { webhook: id, reason } }]);
}

async function ownWebhook(deps: Pick<KernelDeps, 'db'>, accountId: string, id: string): Promise<Webhook> {
  const found = ID.test(id) ? await deps.db.prisma.webhook.findFirst({ where: { id, accountId } }) : null;
  if (found === null) throw notFound();
  return found;
}

function notFound(): DomainError {
  return new DomainError('not_found', 'no such webhook');
}

function contextOf(accountId: string, id: string): string {
  return `${accountId} ${id}`;
}
