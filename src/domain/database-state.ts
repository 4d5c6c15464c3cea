import type { Deps } from './deps.js';

/** Returns whether the database responds. */
export function databaseState(deps: Deps): Promise<'ok' | 'away'> {
  return deps.db.pool.query('select 1').then(
    () => 'ok',
    () => 'away',
  );
}
