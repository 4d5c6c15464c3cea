import { DUE_WORK } from '../../database/notices.js';
import { only } from '../../database/only.js';
import { inTransaction } from '../../database/transaction.js';
import { required } from '../../std/required.js';
import { every, type Sweep, whenDue } from '../kernel/background.js';
import type { KernelDeps } from '../kernel/deps.js';
import { formatInstant, type Instant, latest, SECONDS_PER_DAY } from '../kernel/time.js';
import type { WebhookDeps } from './deps.js';
import { addressOf, linkTo } from './mail-address.js';
import { emitTimedEvents } from './notices.js';
import {
  CONFIRM_SECONDS,
  CONFIRMATION,
  CONFIRMATIONS_KEPT_SECONDS,
  confirmationMail,
  mailOfEvent,
} from './rules/mail.js';
import {
  type Attempt,
  isAccepted,
  MAX_QUEUE,
  nextAttemptAt,
  pauseOf,
  retryAfterOf,
  signedHeaders,
} from './rules/webhook.js';
import { pause, pausedEvent, type SealedRow, secretsOf } from './webhooks.js';

const CHECK_EVERY_MS = 500;
const NOTICE_EVERY_MS = 2_000;
const CLEAR_EVERY_MS = 60_000;
/** Maximum number of webhooks that one gateway sends to concurrently. */
const MAX_CONCURRENT = 32;
/**
 * Maximum number of these whose last event failed. They take the longest, so most slots must be left to other webhooks.
 */
const MAX_FAILING = 12;
/** Maximum number of an account's webhooks that all gateways combined send to concurrently. */
const MAX_OF_ACCOUNT = 2;
/** Maximum number of in-flight events per webhook, each about a different subject. */
const MAX_OF_WEBHOOK = 4;
/**
 * Maximum number of mails that one gateway sends concurrently, because all go through one server, which may be slow.
 */
const MAX_CONCURRENT_MAILS = 4;
/**
 * Duration of a gateway's lease on a webhook or address, during which only that gateway sends to it. It is longer than
 * the gateway's attempts can take.
 */
const LEASE_SECONDS = 60n;
/** Maximum number of rounds per lease. Each round takes at most 5 s, or 20 s for mails. */
const MAX_ROUNDS = 4;
const ROUNDS_WITHIN_MS = 10_000;
/** Time to keep events. */
const RETENTION_SECONDS = 30n * SECONDS_PER_DAY;
const DELETE_BATCH = 1_000;

interface Target extends SealedRow {
  url: string;
  isMail: boolean;
  failures: number;
}

interface Delivery {
  sequence: bigint;
  id: string;
  type: string;
  at: Instant;
  data: Record<string, unknown>;
  attempts: number;
  firstAt: Instant | null;
}

/** This gateway's in-flight deliveries, by webhook. */
type InFlight = Map<string, { work: Promise<void>; isFailing: boolean }>;

/** Starts sending waiting events in the background, concurrently with other gateways. */
export function startWebhooks(
  deps: Pick<WebhookDeps, 'db' | 'clock' | 'settings' | 'sealingKeys' | 'sendMail' | 'sendWebhook'>,
  onFault: (error: unknown) => void,
): Sweep {
  const webhooks: InFlight = new Map();
  const mails: InFlight = new Map();
  const startDue = async (inFlight: InFlight, most: number, isMail: boolean) => {
    const now = deps.clock.now();
    if (inFlight.size >= most) return now;
    const sendAt = await nextSendAt(deps, isMail, now);
    if (sendAt === null || sendAt > now) return sendAt;
    const failing = [...inFlight.values()].filter(({ isFailing }) => isFailing).length;
    const room = { all: most - inFlight.size, failing: isMail ? most : MAX_FAILING - failing };
    for (const target of await claim(deps, room, isMail, now)) {
      const work = sendTo(deps, target)
        .catch(onFault)
        .finally(() => inFlight.delete(target.id));
      inFlight.set(target.id, { work, isFailing: target.failures > 0 });
    }
    // There may be more waiting webhooks than were claimed.
    return now;
  };
  const sweeps = [
    whenDue(deps, CHECK_EVERY_MS, () => startDue(webhooks, MAX_CONCURRENT, false), onFault),
    ...(deps.sendMail === null
      ? []
      : [whenDue(deps, CHECK_EVERY_MS, () => startDue(mails, MAX_CONCURRENT_MAILS, true), onFault)]),
    whenDue(deps, NOTICE_EVERY_MS, () => emitTimedEvents(deps), onFault),
    every(CLEAR_EVERY_MS, () => clear(deps), onFault),
  ];
  return {
    stop: async () => {
      await Promise.all(sweeps.map(({ stop }) => stop()));
      await Promise.all([...webhooks.values(), ...mails.values()].map(({ work }) => work));
    },
  };
}

/** Claims due webhooks or email addresses, so that only this gateway sends to them until the lease ends. */
async function claim(
  { db }: Pick<KernelDeps, 'db'>,
  room: { all: number; failing: number },
  isMail: boolean,
  now: Instant,
): Promise<Target[]> {
  const { rows } = await db.pool.query<Target>({
    name: 'claim-webhooks',
    text: CLAIM,
    values: [formatInstant(now), formatInstant(now + LEASE_SECONDS), room.all, isMail, room.failing],
  });
  return rows;
}

/**
 * Returns when the next webhook or address can be claimed, which is now if one is already due. Returns null if none is
 * waiting.
 */
async function nextSendAt({ db }: Pick<KernelDeps, 'db'>, isMail: boolean, now: Instant): Promise<Instant | null> {
  const { rows } = await db.pool.query<{ at: Instant | null }>({
    name: 'next-to-send',
    text: NEXT_SEND,
    values: [formatInstant(now), isMail],
  });
  return only(rows).at;
}

async function sendTo(
  deps: Pick<WebhookDeps, 'db' | 'clock' | 'settings' | 'sealingKeys' | 'sendMail' | 'sendWebhook'>,
  target: Target,
): Promise<void> {
  const begunMs = performance.now();
  let { failures } = target;
  let retryAfter = 0n;
  for (let round = 0; round < MAX_ROUNDS && performance.now() - begunMs < ROUNDS_WITHIN_MS; round += 1) {
    const deliveries = await headsOf(deps, target.id);
    if (deliveries.length === 0) break;
    const secrets = await secretsOf(deps, target, deps.clock.now());
    const outcomes = await Promise.all(deliveries.map((delivery) => attempt(deps, target, delivery, secrets)));
    const isAnyAccepted = outcomes.some(isAccepted);
    failures = isAnyAccepted ? 0 : failures + 1;
    retryAfter = latest(0n, ...outcomes.map((outcome) => retryAfterOf(outcome, deps.clock.now())));
    if (!isAnyAccepted || retryAfter > 0n) break;
  }
  const waitUntil = deps.clock.now() + latest(pauseOf(failures), retryAfter);
  await deps.db.pool.query(
    'update webhook set leased_until = null, failures = $2, wait_until = $3::timestamptz where id = $1',
    [target.id, failures, formatInstant(waitUntil)],
  );
  // Any gateway may now send the events that waited for the lease or must be retried.
  deps.db.notices.publish([DUE_WORK]);
}

/** Reads each subject's first event if it is due. The subject's later events wait for it. */
async function headsOf({ db, clock }: Pick<KernelDeps, 'db' | 'clock'>, webhookId: string): Promise<Delivery[]> {
  const { rows } = await db.pool.query<Delivery>({
    name: 'heads-of-webhook',
    text: HEADS,
    values: [webhookId, formatInstant(clock.now()), MAX_OF_WEBHOOK],
  });
  return rows;
}

async function attempt(
  deps: Pick<WebhookDeps, 'db' | 'clock' | 'settings' | 'sendMail' | 'sendWebhook'>,
  target: Target,
  delivery: Delivery,
  secrets: readonly string[],
): Promise<Attempt> {
  const begunMs = performance.now();
  const outcome = await (target.isMail ? mail : post)(deps, target, delivery, secrets);
  await record(deps, target, delivery, outcome, Math.round(performance.now() - begunMs));
  return outcome;
}

function post(
  deps: Pick<WebhookDeps, 'clock' | 'sendWebhook'>,
  { url }: Target,
  { id, type, at, data }: Delivery,
  secrets: readonly string[],
): Promise<Attempt> {
  const body = JSON.stringify({ type, timestamp: formatInstant(at), data });
  return deps.sendWebhook(url, signedHeaders({ id, at: deps.clock.now(), body }, secrets), body);
}

async function mail(
  deps: Pick<WebhookDeps, 'clock' | 'settings' | 'sendMail'>,
  target: Target,
  { id, type, at, data }: Delivery,
  [newest]: readonly string[],
): Promise<Attempt> {
  const { publicUrl } = deps.settings;
  const secret = required(newest, 'secret of a mail address');
  const sendMail = required(deps.sendMail, 'mail server');
  const to = addressOf(target);
  if (type !== CONFIRMATION) {
    const endUrl = linkTo(publicUrl, 'end', target.id, secret);
    return sendMail(mailOfEvent({ id, type, at, data }, to, deps.settings, endUrl));
  }
  if (deps.clock.now() >= at + CONFIRM_SECONDS)
    return { status: null, error: 'its link is no longer valid', isFinal: true };
  return sendMail(confirmationMail(id, to, deps.settings, linkTo(publicUrl, 'confirm', target.id, secret)));
}

async function record(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  target: Target,
  delivery: Delivery,
  outcome: Attempt,
  tookMs: number,
): Promise<void> {
  const now = deps.clock.now();
  const attempts = delivery.attempts + 1;
  const firstAt = delivery.firstAt ?? now;
  const nextAt = isAccepted(outcome) ? null : nextAttemptAt(attempts, firstAt, now, outcome);
  const at = formatInstant(now);
  await inTransaction(deps.db.pool, async (transaction) => {
    await transaction.query(
      `update webhook_delivery set attempts = $3, first_at = $4::timestamptz, is_pending = is_pending and $5,
         next_at = coalesce($6::timestamptz, next_at), delivered_at = $7::timestamptz
       where webhook_id = $1 and sequence = $2`,
      [
        target.id,
        delivery.sequence.toString(),
        attempts,
        formatInstant(firstAt),
        nextAt !== null,
        nextAt && formatInstant(nextAt),
        isAccepted(outcome) ? at : null,
      ],
    );
    await transaction.query(
      `insert into webhook_attempt (webhook_id, sequence, number, at, status, error, took_ms)
       select $1, $2, coalesce(max(number), 0) + 1, $3::timestamptz, $4, $5, $6
       from webhook_attempt where webhook_id = $1 and sequence = $2
       having exists (select from webhook where id = $1)`,
      [target.id, delivery.sequence.toString(), at, outcome.status, outcome.error, tookMs],
    );
    if (nextAt !== null || isAccepted(outcome)) return;
    // An address isn't paused because its confirmation mail could not be sent.
    if (delivery.type === CONFIRMATION && outcome.status === null) return;
    const reason = reasonOf(target, outcome);
    await pause(transaction, target.id, at, reason);
    transaction.later(pausedEvent(target, now, reason));
  });
}

function reasonOf({ isMail }: Target, { status, error, isFinal }: Attempt): string {
  if (isMail && isFinal === true) return `its mail server refused it: ${error}`;
  return status === 410 ? 'its receiver responded with 410 Gone' : 'an event was not accepted for three days';
}

/** Pauses webhooks with too many waiting events, and deletes old events. */
async function clear(deps: Pick<KernelDeps, 'db' | 'clock'>): Promise<void> {
  const now = deps.clock.now();
  const { rows } = await deps.db.pool.query<{ id: string; accountId: string; isMail: boolean }>(
    `select webhook.id, account_id as "accountId", is_mail as "isMail" from webhook where paused_at is null
       and (select count(*) from (select from webhook_delivery where webhook_id = webhook.id and is_pending limit $1) waiting) >= $1`,
    [MAX_QUEUE],
  );
  for (const webhook of rows) {
    const reason = `${MAX_QUEUE} events are waiting for it`;
    await inTransaction(deps.db.pool, async (transaction) => {
      await pause(transaction, webhook.id, formatInstant(now), reason);
      transaction.later(pausedEvent(webhook, now, reason));
    });
  }
  await deps.db.pool.query('delete from mail_question where at < $1::timestamptz', [
    formatInstant(now - CONFIRMATIONS_KEPT_SECONDS),
  ]);
  for (;;) {
    const { rowCount } = await deps.db.pool.query(
      `delete from event where sequence in (
         select sequence from event where at < $1::timestamptz order by sequence limit $2 for update skip locked)`,
      [formatInstant(now - RETENTION_SECONDS), DELETE_BATCH],
    );
    if ((rowCount ?? 0) < DELETE_BATCH) return;
  }
}

/**
 * Claims the webhooks that have waited longest, with a limit per account that includes webhooks that other gateways are
 * sending to. Failing webhooks get only some of the slots, so that receivers that never respond can't take them all.
 */
const CLAIM = `
  update webhook set leased_until = $2::timestamptz where id in (
    select id from webhook where id in (
      select id from (
        select id, wait_until, failures, row_number() over (partition by failures > 0 order by wait_until nulls first, id) as lane
        from (
          select id, wait_until, failures, account_id,
            row_number() over (partition by account_id order by wait_until nulls first, id) as place
          from webhook where is_mail = $4 and paused_at is null and coalesce(wait_until <= $1::timestamptz, true)
            and coalesce(leased_until <= $1::timestamptz, true)
            and exists (select from webhook_delivery where webhook_id = webhook.id and is_pending and next_at <= $1::timestamptz)
        ) due where place + (
          select count(*) from webhook held
          where held.account_id = due.account_id and held.is_mail = $4 and held.leased_until > $1::timestamptz
        ) <= ${MAX_OF_ACCOUNT}
      ) fair where failures = 0 or lane <= $5::int order by wait_until nulls first limit $3)
    and coalesce(leased_until <= $1::timestamptz, true) for update skip locked)
  returning id, account_id as "accountId", url, is_mail as "isMail", sealed, key_id as "keyId", failures`;

/** Ignores waiting events whose webhook is leased, or paused after a failure. */
const NEXT_SEND = `
  select min(case when coalesce(ready_at <= $1::timestamptz, true)
    then greatest($1::timestamptz, (select min(next_at) from webhook_delivery where webhook_id = waiting.id and is_pending))
    else ready_at end) as at
  from (
    select id, greatest(wait_until, leased_until) as ready_at from webhook
    where is_mail = $2 and paused_at is null
      and exists (select from webhook_delivery where webhook_id = webhook.id and is_pending)
  ) waiting`;

/**
 * Omits events that may still be preceded by an open transaction's events, which have lower numbers. In a restored
 * backup, transaction ids come from another cluster, so they are ignored after one minute.
 */
const HEADS = `
  select head.sequence, event.id, type, at, data, head.attempts, first_at as "firstAt" from (
    select distinct on (subject) sequence, attempts, first_at, next_at from webhook_delivery
    where webhook_id = $1 and is_pending order by subject, sequence
  ) head join event on event.sequence = head.sequence
  where next_at <= $2::timestamptz
    and (xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint or at < $2::timestamptz - interval '1 minute')
  order by head.sequence limit $3`;
