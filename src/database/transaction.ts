import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { isConflict } from './faults.js';

/** Tries of one transaction that meets conflicts. */
const MAX_ATTEMPTS = 6;
const BACKOFF_STEP_MS = 8;

/** A write that lost against another and must be decided again from fresh rows. */
export class StaleReadError extends Error {}

/**
 * Runs `work` in one READ COMMITTED transaction and commits what it returns. Deadlocks, serialization failures, id
 * collisions and StaleReadError are tried again with jitter, at most `maxAttempts` times in all; everything else rolls back and is thrown.
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  maxAttempts: number = MAX_ATTEMPTS,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptOnce(pool, work);
    } catch (error) {
      if (attempt >= maxAttempts || !(error instanceof StaleReadError || isConflict(error))) throw error;
      await sleep(Math.random() * BACKOFF_STEP_MS * 2 ** attempt);
    }
  }
}

async function attemptOnce<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // A connection that ends while it is checked out says so by an event, which unheard would end the process.
  const onError = (error: Error) => {
    broken = error;
  };
  client.on('error', onError);
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((fault: Error) => {
      broken = fault;
    });
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}
