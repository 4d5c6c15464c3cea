import type { Deps } from './deps.js';

/** Whether the database answers. */
export function databaseState(deps: Deps): Promise<'ok' | 'away'> {
  return deps.db.pool.query('select 1').then(
    () => 'ok',
    () => 'away',
  );
}
