import { createHash } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Transaction } from '../../database/transaction.js';
import type { Deps } from '../deps.js';
import { DomainError } from '../rules/errors.js';
import { formatInstant, type Instant, SECONDS_PER_DAY } from '../rules/time.js';

/** Seconds for which the response to a key is stored. */
const IDEMPOTENCY_SECONDS = SECONDS_PER_DAY;
const RETRY_AFTER_SECONDS = 1;
/** Maximum wait of a request for an earlier one with its key, and the polling interval. */
const WAIT_MS = 5_000;
const POLL_EVERY_MS = 50;

/** A request that its sender can repeat: the same key, operation and input get the same response. */
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

/** Another transaction, maybe of another process, is handling a request with the key. */
class KeyInUse extends Error {}

/**
 * Retries `work` while its key is in use, for 5 s, holding nothing in between. Then refuses with
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
 * Marks the key as in use and returns the stored response, if there is one. The mark is a lock of the transaction, so
 * it is released if the process crashes. Refuses with idempotency_mismatch. Throws KeyInUse, for which
 * `retryWhileInUse` waits.
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
  const [mark] = marks as { free: boolean }[];
  if (!mark!.free) throw new KeyInUse();
  const [stored] = responses as { fingerprint: string; response: unknown }[];
  if (stored === undefined) return undefined;
  if (stored.fingerprint === fingerprint) return stored.response;
  throw new DomainError('idempotency_mismatch', 'this idempotency key was used with another operation or input');
}

/**
 * Returns the response to a request with the key; undefined if none was carried out. Waits up to 5 s for a request in
 * progress. Refuses with idempotency_in_progress.
 */
export function storedResponse(deps: Deps, accountId: string, key: string): Promise<unknown> {
  return retryWhileInUse(async () => {
    const marks = await deps.db.pool.query<{ free: boolean }>(
      'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as free',
      [`${accountId} ${key}`],
    );
    if (!marks.rows[0]!.free) throw new KeyInUse();
    // Read after the mark: a request that was in progress has committed by then.
    const responses = await deps.db.pool.query<{ response: unknown }>(
      'select response from idempotency_key where account_id = $1 and key = $2 and created_at > $3',
      [accountId, key, formatInstant(deps.clock.now() - IDEMPOTENCY_SECONDS)],
    );
    return responses.rows[0]?.response;
  });
}

/** Stores the response in the transaction of its effect. A response older than a day is replaced. */
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

/** Deletes expired responses. Returns their number. */
export async function pruneIdempotencyRecords(deps: Deps): Promise<number> {
  const { rowCount } = await deps.db.pool.query('delete from idempotency_key where created_at <= $1::timestamptz', [
    formatInstant(deps.clock.now() - IDEMPOTENCY_SECONDS),
  ]);
  return rowCount ?? 0;
}
