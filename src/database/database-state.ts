import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';

/** A database that takes longer counts as unreachable. */
const ANSWERS_WITHIN_MS = 2_000;

/** Returns whether the database responds in time. */
export function databaseState(pool: pg.Pool): Promise<'ok' | 'away'> {
  return isInTime(pool.query('select 1')).then((isOk) => (isOk ? 'ok' : 'away'));
}

/** Whether the work succeeds within the time that a database has to respond. */
export function isInTime(work: Promise<unknown>): Promise<boolean> {
  const succeeded = work.then(
    () => true,
    () => false,
  );
  return Promise.race([succeeded, sleep(ANSWERS_WITHIN_MS, false, { ref: false })]);
}
