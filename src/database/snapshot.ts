import type pg from 'pg';
import type { Replica } from './replica.js';
import { inTransaction, type Transaction } from './transaction.js';

/** Setting for statements that find their rows by key, which one plan suits for all values. */
export const GENERIC_PLANS = 'set local plan_cache_mode = force_generic_plan';

export interface SnapshotOptions {
  /**
   * Server that may be read. `replica` means the replica if one is configured and has caught up, otherwise the primary.
   * Decisions about money and rentals must use `primary`.
   */
  server: 'primary' | 'replica';
  /** Statements that change settings for the transaction. */
  settings?: string;
  /** Whether the reads may be repeated on the primary after the replica failed. */
  canRepeat?: () => boolean;
}

/**
 * Runs reads on a single snapshot of the database. The snapshot contains everything that was committed before the call,
 * regardless of the server.
 */
export function inSnapshot<T>(
  { pool, replica }: { readonly pool: pg.Pool; readonly replica: Replica | null },
  { server, settings = '', canRepeat = () => true }: SnapshotOptions,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const read = async (transaction: Transaction) => {
    await transaction.query(`set transaction isolation level repeatable read, read only; ${settings}`);
    return work(transaction);
  };
  return server === 'replica' && replica !== null ? replica.read(read, canRepeat) : inTransaction(pool, read);
}
