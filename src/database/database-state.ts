import type pg from 'pg';

/** Returns whether the database responds. */
export function databaseState(pool: pg.Pool): Promise<'ok' | 'away'> {
  return pool.query('select 1').then(
    () => 'ok',
    () => 'away',
  );
}
