import { createHash } from 'node:crypto';
import { required } from '../../std/required.js';
import type { LedgerDeps } from '../billing/deps.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { randomId } from '../kernel/random-id.js';
import { formatInstant, type Instant } from '../kernel/time.js';
import { bookPayments, type PaymentEvent } from './book-payments.js';
import type { TopUpDeps } from './deps.js';
import type { PaymentProcessor } from './processor.js';
import { type CallbackHeaders, ProcessorUnavailable } from './processor.js';
import { findTopUpRow } from './top-up-rows.js';

/**
 * Maximum number of quarantined callbacks. Further ones are answered with 503, so that the processor keeps and resends
 * them.
 */
const MAX_QUARANTINED = 1_000;
const MAX_KEPT_CHARACTERS = 4_000;
const ID_BYTES = 6;

export interface QuarantinedCallback {
  id: string;
  processor: string;
  reason: string;
  body: string;
  times: number;
  receivedAt: Instant;
  lastAt: Instant;
}

/**
 * A callback's outcome. `refused` means that it did not come from the processor. `quarantined` means that it did, but
 * was set aside for the operator.
 */
export type CallbackOutcome = { kind: 'refused' | 'quarantined'; reason: string } | { kind: 'accepted' };

/**
 * Handles a callback from its raw bytes. Resolves once everything is committed, because the processor must not receive
 * a response before that. Throws if the callback must be resent because the database or the processor is down.
 */
export async function receiveCallback(
  deps: LedgerDeps & Pick<TopUpDeps, 'payments'>,
  body: Buffer,
  headers: CallbackHeaders,
  onEvent: (event: PaymentEvent) => void,
): Promise<CallbackOutcome> {
  const processor = required(deps.payments, 'payment processor');
  const callback = processor.verify(body, headers, deps.clock.now());
  if (callback.kind === 'refused') return callback;
  if (callback.kind === 'ignored') return { kind: 'accepted' };
  if (callback.kind === 'malformed') return quarantine(deps, body, callback.reason);
  const topUp = await findTopUpRow(deps.db.pool, callback.id);
  if (topUp === null || topUp.processor !== processor.name)
    return quarantine(deps, body, 'it names no top-up of this service');
  const queried = callback.payments === null ? await read(processor, topUp) : undefined;
  const payments = required(callback.payments ?? queried, 'payments');
  for (const event of await bookPayments(deps, topUp, payments, queried)) onEvent(event);
  return callback.unreadable === null ? { kind: 'accepted' } : quarantine(deps, body, callback.unreadable);
}

async function read(processor: PaymentProcessor, topUp: Parameters<PaymentProcessor['read']>[0]) {
  try {
    return await processor.read(topUp);
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error;
    throw new DomainError('unavailable', 'the payment processor is not responding', { retryAfterSeconds: 60 });
  }
}

async function quarantine(
  deps: Pick<TopUpDeps, 'db' | 'clock' | 'payments'>,
  body: Buffer,
  reason: string,
): Promise<CallbackOutcome> {
  const { pool } = deps.db;
  const digest = createHash('sha256').update(body).digest('hex');
  // PostgreSQL can't store NUL characters.
  const text = body.toString('utf8').replaceAll('\0', '\ufffd').slice(0, MAX_KEPT_CHARACTERS);
  const at = formatInstant(deps.clock.now());
  const { name: processor } = required(deps.payments, 'payment processor');
  const { rowCount } = await pool.query(
    `insert into aside_callback (id, processor, digest, reason, body, times, received_at, last_at)
     select $1, $2, $3, $4, $5, 1, $6::timestamptz, $6::timestamptz
     where (select count(*) from aside_callback) < $7
       or exists (select from aside_callback where processor = $2 and digest = $3)
     on conflict (processor, digest) do update set times = aside_callback.times + 1, last_at = excluded.last_at`,
    [randomId('aside', ID_BYTES), processor, digest, reason, text, at, MAX_QUARANTINED],
  );
  if (rowCount === 0) {
    throw new DomainError('unavailable', 'too many quarantined callbacks', { retryAfterSeconds: 600 });
  }
  return { kind: 'quarantined', reason };
}

/** Returns the quarantined callbacks, oldest first. */
export async function listQuarantined(deps: Pick<KernelDeps, 'db'>): Promise<QuarantinedCallback[]> {
  const { rows } = await deps.db.pool.query<QuarantinedCallback>(
    `select id, processor, reason, body, times, received_at as "receivedAt", last_at as "lastAt"
     from aside_callback order by received_at, id`,
  );
  return rows;
}

/** Removes a quarantined callback. Throws not_found. */
export async function removeQuarantined(deps: Pick<KernelDeps, 'db'>, id: string): Promise<void> {
  const { rowCount } = await deps.db.pool.query('delete from aside_callback where id = $1', [id]);
  if (rowCount === 0) throw new DomainError('not_found', `no such quarantined callback: ${id}`);
}
