import { createHash } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { only } from '../../database/only.js';
import type { Transaction } from '../../database/transaction.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { formatInstant, type Instant, SECONDS_PER_DAY } from '../kernel/time.js';

/** Number of seconds to keep the response to a request with an idempotency key. */
const IDEMPOTENCY_SECONDS = SECONDS_PER_DAY;
const RETRY_AFTER_SECONDS = 1;
/** Maximum time that a request waits for an earlier one with the same key, and the interval at which it checks. */
const WAIT_MS = 5_000;
const POLL_EVERY_MS = 50;

/**
 * A request that its sender can safely repeat. Repeating it with the same key, operation and input returns the same
 * response.
 */
export interface IdempotentRequest {
  accountId: string;
  key: string;
  fingerprint: string;
}

export function idempotentRequest(
  accountId: string,
  key: string | null | undefined,
  operation: string,
  input: readonly unknown[],
): IdempotentRequest | null {
  if (key === null || key === undefined) return null;
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([operation, ...input], (_name, value) => (typeof value === 'bigint' ? `${value}` : value)))
    .digest('hex');
  return { accountId, key, fingerprint };
}

/** Thrown if another transaction, possibly in another process, is handling a request with the same key. */
class KeyInUse extends Error {}

/**
 * Retries `work` for up to 5 s while its key is in use, without holding any locks between attempts. Then throws
 * idempotency_in_progress.
 */
export async function retryWhileInUse<T>(work: () => Promise<T>): Promise<T> {
  for (const startedAt = performance.now(); ; ) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof KeyInUse)) throw error;
    }
    if (performance.now() - startedAt > WAIT_MS) {
      const message = 'an earlier request with this idempotency key is still in progress';
      throw new DomainError('idempotency_in_progress', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
    }
    await sleep(POLL_EVERY_MS);
  }
}

/**
 * Marks the key as in use and returns the stored response, if any. The mark is a lock held by the transaction, so it is
 * released if the process crashes. Throws idempotency_mismatch, or KeyInUse, on which `retryWhileInUse` tries again.
 */
export async function recall(transaction: Transaction, request: IdempotentRequest, now: Instant): Promise<unknown> {
  const { accountId, key, fingerprint } = request;
  const [marks, responses] = await transaction.run(
    {
      name: 'mark-key-in-use',
      text: 'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as free',
      values: [`${accountId} ${key}`],
    },
    {
      name: 'recall-response',
      text: 'select fingerprint, response from idempotency_key where account_id = $1 and key = $2 and created_at > $3',
      values: [accountId, key, formatInstant(now - IDEMPOTENCY_SECONDS)],
    },
  );
  const { free } = only(marks as { free: boolean }[]);
  if (!free) throw new KeyInUse();
  const [stored] = responses as { fingerprint: string; response: unknown }[];
  if (stored === undefined) return undefined;
  if (stored.fingerprint === fingerprint) return stored.response;
  throw new DomainError('idempotency_mismatch', 'this idempotency key was used with another operation or input');
}

/**
 * Returns the response to an earlier request with the key, or undefined if no such request was carried out. Waits up to
 * 5 s for an in-flight request, then throws idempotency_in_progress.
 */
export function storedResponse(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  accountId: string,
  key: string,
): Promise<unknown> {
  return retryWhileInUse(async () => {
    const marks = await deps.db.pool.query<{ free: boolean }>(
      'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as free',
      [`${accountId} ${key}`],
    );
    if (!only(marks.rows).free) throw new KeyInUse();
    // Read after the key was marked, because any request that was in flight has been committed by then.
    const responses = await deps.db.pool.query<{ response: unknown }>(
      'select response from idempotency_key where account_id = $1 and key = $2 and created_at > $3',
      [accountId, key, formatInstant(deps.clock.now() - IDEMPOTENCY_SECONDS)],
    );
    return responses.rows[0]?.response;
  });
}

/** Stores the response in the same transaction as the request's effect. Replaces a response older than a day. */
export function storeResponse(
  transaction: Transaction,
  request: IdempotentRequest,
  response: unknown,
  at: Instant,
): void {
  transaction.later({
    name: 'store-response',
    text: `insert into idempotency_key (account_id, key, fingerprint, response, created_at) values ($1, $2, $3, $4, $5)
           on conflict (account_id, key) do update set
             fingerprint = excluded.fingerprint, response = excluded.response, created_at = excluded.created_at`,
    values: [request.accountId, request.key, request.fingerprint, JSON.stringify(response), formatInstant(at)],
  });
}

/** Deletes expired responses. Returns the number of deleted responses. */
export async function pruneIdempotencyRecords(deps: Pick<KernelDeps, 'db' | 'clock'>): Promise<number> {
  const { rowCount } = await deps.db.pool.query('delete from idempotency_key where created_at <= $1::timestamptz', [
    formatInstant(deps.clock.now() - IDEMPOTENCY_SECONDS),
  ]);
  return rowCount ?? 0;
}
