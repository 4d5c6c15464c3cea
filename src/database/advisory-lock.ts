import type pg from 'pg';
import { only } from './only.js';

/**
 * Runs `work` while holding the lock. Returns null if another process holds it. The lock belongs to the connection, so
 * it is released when the process ends. `signal` is aborted if the connection breaks during `work`.
 */
export async function withAdvisoryLock<T>(
  pool: pg.Pool,
  lock: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | null> {
  const client = await pool.connect();
  const lost = new AbortController();
  let broken: Error | undefined;
  const onError = (error: Error) => {
    broken = error;
    lost.abort(error);
  };
  client.on('error', onError);
  try {
    const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [lock]);
    if (!only(rows).mine) return null;
    try {
      return await work(lost.signal);
    } finally {
      await client.query('select pg_advisory_unlock($1)', [lock]).catch(onError);
    }
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}
