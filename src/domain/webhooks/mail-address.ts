import type { Prisma, Webhook } from '../../database/generated/client/client.js';
import { DUE_WORK } from '../../database/notices.js';
import { inTransaction, type Transaction } from '../../database/transaction.js';
import { required } from '../../std/required.js';
import { wideNetworkOf } from '../kernel/client-network.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import type { EventType } from '../kernel/events.js';
import { check, checkOptional } from '../kernel/field.js';
import { randomId } from '../kernel/random-id.js';
import { formatInstant, type Instant, SECONDS_PER_DAY } from '../kernel/time.js';
import type { WebhookDeps } from './deps.js';
import { webhookFields } from './fields.js';
import {
  CONFIRM_SECONDS,
  CONFIRMATION,
  CONFIRMATIONS_KEPT_SECONDS,
  type ConfirmationScope,
  isLinkToken,
  type LinkPurpose,
  linkToken,
  MAX_CONFIRMATIONS,
  mailboxOf,
} from './rules/mail.js';
import {
  newSecret,
  notifyOne,
  pause,
  pausedEvent,
  type SealedRow,
  secretsOf,
  waitForEarlierWrites,
} from './webhooks.js';

/*
 * An email address receives events in the same way as a webhook, and its row, deliveries and attempts are stored in the
 * same tables. It must first be confirmed through a link sent to it.
 */

const ID_BYTES = 8;
const ID = /^ma-[0-9a-f]{16}$/;
const SCHEME = 'mailto:';

export type MailAddress = Webhook;

/** The account that makes a request, and the client's IP address. */
interface Requester {
  accountId: string;
  address: string;
}

/** Returns the account's email address, or null if it has none. */
export function findMailAddress(
  deps: Pick<KernelDeps, 'db'>,
  accountId: string,
  query: Pick<Prisma.WebhookFindFirstArgs, 'include' | 'select'> = {},
): Promise<MailAddress | null> {
  return deps.db.prisma.webhook.findFirst({ ...query, where: { accountId, isMail: true } });
}

export function addressOf({ url }: { url: string }): string {
  return url.slice(SCHEME.length);
}

export function linkTo(publicUrl: string, purpose: LinkPurpose, id: string, secret: string): string {
  return `${publicUrl}/mail/${purpose}?id=${id}&token=${linkToken(secret, purpose, id)}`;
}

/**
 * Sets the address that receives notices. It replaces the previous one once it is confirmed. An address that was
 * already confirmed stays confirmed, and is resumed if it was paused. Throws invalid_request, action_failed if this
 * service sends no mail, or rate_limited if too many confirmations were requested.
 */
export async function setMailAddress(
  deps: Pick<WebhookDeps, 'db' | 'clock' | 'sealingKeys' | 'sendMail' | 'activity'>,
  { accountId, address: client }: Requester,
  input: { address: string; events?: readonly EventType[] | null | undefined },
): Promise<MailAddress> {
  const address = check('address', webhookFields.mailAddress, input.address);
  const events = checkOptional('events', webhookFields.webhookEvents, input.events) ?? null;
  if (deps.sendMail === null) throw new DomainError('action_failed', "this service doesn't send email");
  const id = randomId('ma', ID_BYTES);
  const { sealed, keyId } = await newSecret(deps, accountId, id);
  const now = deps.clock.now();
  await inTransaction(deps.db.pool, async (transaction) => {
    await transaction.query('select from account where id = $1 for no key update', [accountId]);
    const url = SCHEME + address;
    const { rowCount: updated } = await transaction.query(
      `update webhook set events = $3::text[], paused_at = null, pause_reason = null, failures = 0, wait_until = null
       where account_id = $1 and is_mail and url = $2 and confirmed_at is not null`,
      [accountId, url, events],
    );
    if (updated === 0) {
      await recordConfirmation(
        transaction,
        { accountId, mailbox: mailboxOf(address), network: wideNetworkOf(client) },
        now,
      );
      await transaction.query('delete from webhook where account_id = $1 and is_mail', [accountId]);
      await transaction.query(
        `insert into webhook (id, account_id, url, is_mail, events, created_at, confirm_by, sealed, key_id)
         values ($1, $2, $3, true, $4::text[], $5::timestamptz, $6::timestamptz, $7, $8)`,
        [id, accountId, url, events, formatInstant(now), formatInstant(now + CONFIRM_SECONDS), sealed, keyId],
      );
      await notifyOne(transaction, { accountId, id, type: CONFIRMATION, data: {} }, now);
    }
    deps.activity?.writeWith(transaction, now);
  });
  deps.activity?.committed();
  return required(await findMailAddress(deps, accountId), 'mail address');
}

/** Records a confirmation request. Throws rate_limited if there were too many. */
async function recordConfirmation(
  transaction: Pick<Transaction, 'query'>,
  { accountId, mailbox, network }: { accountId: string; mailbox: Buffer; network: string },
  now: Instant,
): Promise<void> {
  // Serialized across all accounts and gateways, so that the count stays correct.
  await transaction.query(`select pg_advisory_xact_lock(hashtext('mail questions'))`);
  const { rows } = await transaction.query<{ scope: ConfirmationScope; inDay: number; inMonth: number }>(
    `select scope, count(*) filter (where at > $4::timestamptz)::int as "inDay", count(*)::int as "inMonth"
     from mail_question cross join lateral (values
       ('account', account_id = $1), ('mailbox', mailbox = $2), ('network', network = $3)) as counted (scope, is_same)
     where is_same and at > $5::timestamptz group by scope`,
    [
      accountId,
      mailbox,
      network,
      formatInstant(now - SECONDS_PER_DAY),
      formatInstant(now - CONFIRMATIONS_KEPT_SECONDS),
    ],
  );
  const full = rows.find(({ scope, inDay, inMonth }) => {
    const { day, month } = MAX_CONFIRMATIONS[scope];
    return inDay >= day || inMonth >= month;
  });
  if (full !== undefined)
    throw new DomainError('rate_limited', `too many confirmation emails for this ${full.scope}; try again tomorrow`, {
      retryAfterSeconds: Number(SECONDS_PER_DAY),
    });
  await transaction.query(
    'insert into mail_question (account_id, mailbox, network, at) values ($1, $2, $3, $4::timestamptz)',
    [accountId, mailbox, network, formatInstant(now)],
  );
}

/** Deletes the address, so that no more mail is sent to it. Throws not_found. */
export async function deleteMailAddress(
  deps: Pick<WebhookDeps, 'db' | 'clock' | 'activity'>,
  accountId: string,
): Promise<MailAddress> {
  const known = await ownAddress(deps, accountId);
  await inTransaction(deps.db.pool, async (transaction) => {
    await transaction.query('delete from webhook where id = $1', [known.id]);
    deps.activity?.writeWith(transaction, deps.clock.now());
  });
  deps.activity?.committed();
  return known;
}

/** Sends a test mail. Throws not_found, rate_limited, or action_failed if the address receives no mail. */
export async function testMailAddress(
  deps: Pick<WebhookDeps, 'db' | 'clock' | 'activity'>,
  accountId: string,
): Promise<MailAddress> {
  const known = await ownAddress(deps, accountId);
  if (known.confirmedAt === null) throw new DomainError('action_failed', 'the address is not confirmed');
  if (known.pausedAt !== null) throw new DomainError('action_failed', 'email to the address is paused');
  const now = deps.clock.now();
  await inTransaction(deps.db.pool, async (transaction) => {
    const { rowCount } = await transaction.query(
      `select from webhook_delivery join event using (sequence)
       where webhook_id = $1 and type = 'mail.test' and at > $2::timestamptz`,
      [known.id, formatInstant(now - MINUTE)],
    );
    if (rowCount !== 0)
      throw new DomainError('rate_limited', 'a test was already sent within the last minute', {
        retryAfterSeconds: 60,
      });
    await notifyOne(transaction, { accountId, id: known.id, type: 'mail.test', data: {} }, now);
    deps.activity?.writeWith(transaction, now);
  });
  deps.db.notices.publish([DUE_WORK]);
  deps.activity?.committed();
  return known;
}
const MINUTE = 60n;

/** The result of opening a link. `unknown` means that the link was never sent or has been replaced. */
export type LinkOutcome = 'done' | 'late' | 'unknown';

/** Confirms the address if the link is opened within a day. Has no effect if it is already confirmed. */
export async function confirmByLink(
  deps: Pick<KernelDeps, 'db' | 'clock' | 'sealingKeys'>,
  id: string,
  token: string,
): Promise<LinkOutcome> {
  const row = await ofLink(deps, 'confirm', id, token);
  if (row === null) return 'unknown';
  if (row.confirmedAt !== null) return 'done';
  const now = formatInstant(deps.clock.now());
  const { rowCount } = await deps.db.pool.query(
    'update webhook set confirmed_at = $2::timestamptz where id = $1 and confirmed_at is null and confirm_by > $2::timestamptz',
    [id, now],
  );
  if (rowCount === 0) return 'late';
  await waitForEarlierWrites(deps, row.accountId);
  return 'done';
}

/** Stops all mail to the address until the account sets it and confirms it again. */
export async function endByLink(
  deps: Pick<KernelDeps, 'db' | 'clock' | 'sealingKeys'>,
  id: string,
  token: string,
): Promise<LinkOutcome> {
  const row = await ofLink(deps, 'end', id, token);
  if (row === null) return 'unknown';
  const now = deps.clock.now();
  await inTransaction(deps.db.pool, async (transaction) => {
    const reason = 'stopped through a link in an email';
    const { rowCount } = await transaction.query(
      'update webhook set confirmed_at = null, confirm_by = null where id = $1 and confirmed_at is not null',
      [id],
    );
    if (rowCount === 0) return;
    await pause(transaction, id, formatInstant(now), reason);
    transaction.later(pausedEvent(row, now, reason));
  });
  return 'done';
}

/** Whether a link is genuine. The link is only checked, not applied. */
export async function isLink(
  deps: Pick<KernelDeps, 'db' | 'clock' | 'sealingKeys'>,
  purpose: LinkPurpose,
  id: string,
  token: string,
): Promise<boolean> {
  return (await ofLink(deps, purpose, id, token)) !== null;
}

type LinkRow = SealedRow & Pick<Webhook, 'isMail' | 'confirmedAt'>;

async function ofLink(
  deps: Pick<KernelDeps, 'db' | 'clock' | 'sealingKeys'>,
  purpose: LinkPurpose,
  id: string,
  token: string,
): Promise<LinkRow | null> {
  const row = ID.test(id) ? await deps.db.prisma.webhook.findUnique({ where: { id } }) : null;
  if (row === null) return null;
  const [secret] = await secretsOf(deps, row, deps.clock.now());
  return secret !== undefined && isLinkToken(token, secret, purpose, id) ? row : null;
}

async function ownAddress(deps: Pick<KernelDeps, 'db'>, accountId: string): Promise<MailAddress> {
  const found = await findMailAddress(deps, accountId);
  if (found === null) throw new DomainError('not_found', 'the account has no email address');
  return found;
}
